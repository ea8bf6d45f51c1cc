"""Models trained on the external data set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.reporting.entries import TableEntry
from fossil.reporting.tables._entries import study_table, which_options

if TYPE_CHECKING:
    from fossil.reporting.experiment import Experiment


def tables(experiment: Experiment) -> Iterator[TableEntry]:
    """Describe the table of models that are trained and tested on the external data set."""
    if (external := experiment.config.external_dataset) and experiment.study(experiment.refit):
        yield study_table(
            experiment,
            name="external-refit",
            study=experiment.refit,
            title=f"{experiment.description(external)}: models trained there, {which_options(experiment.config)}.",
            caption="Models trained and tested on the external data set, in folds.",
            section="External validation",
            place=20,
            columns="images",
            datasets=(external,),
        )
