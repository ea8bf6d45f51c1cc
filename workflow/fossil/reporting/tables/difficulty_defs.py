"""Definitions of difficulty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.reporting.entries import TableEntry
from fossil.reporting.tables._entries import study_table

if TYPE_CHECKING:
    from fossil.reporting.experiment import Experiment


def tables(experiment: Experiment) -> Iterator[TableEntry]:
    """Describe the table of FOSSIL by what makes a sample difficult."""
    if experiment.study("difficulty-defs"):
        yield study_table(
            experiment,
            name="difficulty-defs",
            title=f"Definitions of difficulty, FOSSIL, synthetic data, {experiment.ratio}.",
            caption="FOSSIL by what makes a sample difficult.",
            section="Synthetic study",
            place=40,
            columns="synthetic_short",
        )
