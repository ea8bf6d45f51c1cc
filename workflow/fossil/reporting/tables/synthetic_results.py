"""Every method on the headline scenario, in three pairings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.design.comparisons import Block
from fossil.reporting.entries import TableEntry
from fossil.reporting.tables._entries import study_table

if TYPE_CHECKING:
    from fossil.reporting.experiment import Experiment

_PAIRING = (
    "The last block pairs rows as the paper's table seems to: FOSSIL with augmentation and penalty, ERM without, "
    "static weights that follow the class frequency, and a rising curriculum temperature."
)


def tables(experiment: Experiment) -> Iterator[TableEntry]:
    """Describe the table of the paper's main synthetic results."""
    if blocks := experiment.study("synthetic-results"):
        yield study_table(
            experiment,
            name="synthetic-results",
            title=f"Synthetic data, {experiment.scenario}.",
            caption="Every method on the first synthetic scenario, in three pairings, tested against FOSSIL.",
            section="Synthetic study",
            place=10,
            columns="synthetic",
            notes=[_PAIRING] if _pairs_as_the_paper(blocks) else [],
        )


def _pairs_as_the_paper(blocks: list[Block]) -> bool:
    last = blocks[-1]
    return last.name == "paper-pairing" and any(row.reported for row in last.rows)
