"""Comparisons: rows of a table, in blocks that each have a reference."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from fossil.config.strict import Name, Seed, Strict, Variant

GRID_FACTORS = ("schedule", "class_term", "warmup_epochs", "difficulty_source")
"""Factors of the grid of FOSSIL's options."""

ANY = "any"
"""Level of a factor that plays no role in a cell: the cell stands for every level of the factor."""


class Row(Strict):
    """Runs of a method with one set of options on a scenario or data set, and their names in tables.

    ``reported`` is the method's name in the paper's table, and null where that has no such row; ``reported_variant`` is
    what the table calls the variant. ``levels`` are those of a grid's factors, by factor.
    """

    scenario: Name
    method: Name
    variant: Variant
    label: str
    reported: str | None = None
    reported_variant: str = ""
    levels: dict[str, str] = Field({})

    @property
    def key(self) -> str:
        """Return scenario/method-variant, which is unique within a block."""
        return row_key(self.scenario, self.method, self.variant)


class Block(Strict):
    """Rows that are compared with one of them.

    Attributes
    ----------
    reference : str
        Key of the row that the others are compared with.
    seeds : list of int or None
        The seeds that count; None for all.
    reported_ratio : str
        Imbalance ratio under which the paper's table has these rows; "" where it names none.
    """

    name: Variant
    title: str
    rows: Annotated[list[Row], Field(min_length=1)]
    reference: str
    seeds: list[Seed] | None = None
    reported_ratio: str = ""

    @model_validator(mode="after")
    def _has_its_reference_and_no_row_twice(self) -> Self:
        keys = [row.key for row in self.rows]
        if len(set(keys)) < len(keys):
            raise ValueError(f"block {self.name} has a row twice: {keys}")
        if self.reference not in keys:
            raise ValueError(f"block {self.name}: the reference {self.reference} is not among {keys}")
        return self

    def without_reported(self) -> Self:
        """Return the block without the paper's names, and so without its numbers."""
        rows = [row.model_copy(update={"reported": None}) for row in self.rows]
        return self.model_copy(update={"rows": rows, "reported_ratio": ""})


def row_key(scenario: str, method: str, variant: str) -> str:
    """Return the key of a method with one set of options on a scenario or data set."""
    return f"{scenario}/{method}-{variant}"
