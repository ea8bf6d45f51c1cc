"""Augmented copies, and the penalty on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.reporting.entries import TableEntry
from fossil.reporting.tables._entries import study_table

if TYPE_CHECKING:
    from fossil.reporting.experiment import Experiment


def tables(experiment: Experiment) -> Iterator[TableEntry]:
    """Describe the table of ERM and FOSSIL by augmentation."""
    if experiment.study("robustness-difficulty"):
        yield study_table(
            experiment,
            name="robustness-difficulty",
            title=f"Augmentation and penalty, synthetic data, {experiment.ratio}.",
            caption="ERM and FOSSIL without augmented copies, with them, and with the penalty on them.",
            section="Synthetic study",
            place=30,
            columns="synthetic_short",
        )
