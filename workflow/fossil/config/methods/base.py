"""Entries of the registry of methods."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
)

from fossil.config.strict import Strict


class MethodOptions(Strict):
    """Options of a method; ``uses_difficulty`` says whether its weights depend on difficulty."""

    uses_difficulty: ClassVar[bool] = False


class NoOptions(MethodOptions):
    """A method without options."""


class MethodEntry(BaseModel):
    """An entry of the registry.

    Attributes
    ----------
    target : str
        "module:Class".
    order : int
        Place in the default tables, from the smallest.
    label : str
        Name in print.
    options : type
        Model of its options.
    own_loss : bool
        Whether it trains on another loss than cross-entropy.
    uses_validation_split : bool
        Whether it learns its weights on the validation split, so that what is measured there flatters it.
    studies : tuple of str
        Studies that have it unless they are told otherwise.
    """

    model_config = ConfigDict(frozen=True)

    target: str
    order: int
    label: str
    options: type[MethodOptions] = NoOptions
    own_loss: bool = False
    uses_validation_split: bool = False
    studies: tuple[Literal["synthetic", "images"], ...] = ("synthetic", "images")

    @property
    def uses_difficulty(self) -> bool:
        """Return whether its weights depend on difficulty."""
        return self.options.uses_difficulty

    @property
    def module(self) -> str:
        """Return the name of the module of its class."""
        return self.target.partition(":")[0]
