"""Every method of the image study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.reporting.entries import TableEntry
from fossil.reporting.tables._entries import study_table, which_options

if TYPE_CHECKING:
    from fossil.reporting.experiment import Experiment


def tables(experiment: Experiment) -> Iterator[TableEntry]:
    """Describe the table of the image study."""
    if experiment.study(experiment.internal):
        yield study_table(
            experiment,
            name="final-tuning",
            study=experiment.internal,
            title=f"{experiment.description(experiment.config.image_dataset)}: {which_options(experiment.config)}.",
            caption="Every method of the image study over folds and seeds, tested against FOSSIL.",
            section="Image study",
            place=20,
            columns="images",
            datasets=(experiment.config.image_dataset,),
        )
