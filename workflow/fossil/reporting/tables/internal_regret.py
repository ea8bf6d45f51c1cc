"""Regret and calibration of the image study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.reporting.entries import TableEntry
from fossil.reporting.tables._entries import study_table, which_options

if TYPE_CHECKING:
    from fossil.reporting.experiment import Experiment


def tables(experiment: Experiment) -> Iterator[TableEntry]:
    """Describe the table of regret and calibration of the image study."""
    described = experiment.description(experiment.config.image_dataset)
    if experiment.study(experiment.internal):
        yield study_table(
            experiment,
            name="internal-regret",
            study=experiment.internal,
            title=f"{described}: regret and calibration, {which_options(experiment.config)}.",
            caption="Regret and calibration of every method of the image study.",
            section="Image study",
            place=21,
            columns="regret",
            datasets=(experiment.config.image_dataset,),
            in_paper=False,
        )
