"""What a weighting method is: a batch and the progress of training in, per-sample losses and weights out."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from fossil.config import NoOptions, Strict
from fossil.likelihood import cross_entropy


@dataclass(frozen=True)
class Batch:
    """A batch, for one model or, with leading axes, for a stack of models.

    Attributes
    ----------
    logits : Tensor, shape (..., n, c)
        c = 1 for a binary problem with one logit, else one logit a class.
    targets : Tensor, shape (..., n)
        Class indices.
    difficulty : Tensor, shape (..., n)
        Scores in [0, 1].
    is_augmented : Tensor, shape (..., n)
        Whether a row is an augmented copy (the paper's set A).
    class_priors : Tensor, shape (..., K)
        Shares of the classes among the original training samples.
    """

    logits: Tensor
    targets: Tensor
    difficulty: Tensor
    is_augmented: Tensor
    class_priors: Tensor

    def own_prior(self) -> Tensor:
        """Prior p(y_i) of each sample's class, shape (..., n)."""
        return self.class_priors.gather(-1, self.targets)


@dataclass(frozen=True)
class Progress:
    """Where training is: epoch t, counted from 0, of T epochs."""

    epoch: int
    epochs: int

    @property
    def fraction(self) -> float:
        """t/T."""
        return self.epoch / self.epochs


class Method:
    """A weighting method: cross-entropy with equal weights unless a subclass says otherwise."""

    uses_difficulty: ClassVar[bool] = False
    options_type: ClassVar[type[Strict]] = NoOptions

    def __init__(self, options: Any) -> None:
        self.options = options

    def losses(self, batch: Batch) -> Tensor:
        """Per-sample losses, shape (..., n)."""
        return cross_entropy(batch.logits, batch.targets)

    def weights(self, batch: Batch, progress: Progress) -> Tensor:
        """Per-sample weights, shape (..., n), non-negative and without gradient."""
        return torch.ones_like(batch.difficulty)


def make_method(target: str, options: Mapping[str, Any]) -> Method:
    """Make a method from its place, "module:Class", and its options.

    Raises
    ------
    pydantic.ValidationError
        If an option is unknown, missing in type or out of range.
    """
    module, name = target.split(":")
    cls: type[Method] = getattr(importlib.import_module(module), name)
    return cls(cls.options_type.model_validate(dict(options)))
