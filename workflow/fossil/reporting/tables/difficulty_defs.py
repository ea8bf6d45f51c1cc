"""Definitions of difficulty."""

from __future__ import annotations

from collections.abc import Iterator

from fossil.reporting.entries import TableEntry
from fossil.reporting.experiment import Experiment
from fossil.reporting.tables._entries import study_table


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
