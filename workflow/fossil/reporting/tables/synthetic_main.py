"""Every method on every synthetic scenario."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.design.comparisons import Block
from fossil.reporting.entries import TableEntry
from fossil.reporting.tables._entries import study_table

if TYPE_CHECKING:
    from fossil.reporting.experiment import Experiment

_STATIC = "The paper's static row stands next to both readings of it."


def tables(experiment: Experiment) -> Iterator[TableEntry]:
    """Describe the table by imbalance ratio."""
    if blocks := experiment.study("synthetic-main"):
        yield study_table(
            experiment,
            name="synthetic-main",
            title="Synthetic data by imbalance ratio.",
            caption="Every method on every synthetic scenario, one block each, tested against FOSSIL.",
            section="Synthetic study",
            place=20,
            columns="synthetic",
            notes=[_STATIC] if _has_both_readings(blocks) else [],
        )


def _has_both_readings(blocks: list[Block]) -> bool:
    return {"static", "static_inverted"} <= {row.method for block in blocks for row in block.rows if row.reported}
