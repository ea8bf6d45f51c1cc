"""The trained models on images of another data set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.reporting.entries import TableEntry
from fossil.reporting.tables._entries import study_table, which_options

if TYPE_CHECKING:
    from fossil.reporting.experiment import Experiment


def tables(experiment: Experiment) -> Iterator[TableEntry]:
    """Describe the table of the same models on the external data set."""
    if (external := experiment.config.external_dataset) and experiment.study(experiment.transfer):
        yield study_table(
            experiment,
            name="external-validation",
            study=experiment.transfer,
            title=f"{experiment.description(external)}: models trained on {experiment.trained_on}, "
            f"{which_options(experiment.config)}.",
            caption="The trained models on images of another data set, with their generalisation gap.",
            section="External validation",
            place=10,
            columns="external",
            datasets=(external, experiment.config.image_dataset),
        )
