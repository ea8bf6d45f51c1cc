"""The image data sets: classes, patients, folds, images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.reporting.entries import TableEntry

if TYPE_CHECKING:
    from fossil.reporting.experiment import Experiment


def tables(experiment: Experiment) -> Iterator[TableEntry]:
    """Describe a table of each image data set of the run."""
    for dataset in experiment.datasets:
        name, title = f"dataset-{dataset.replace('_', '-')}", experiment.description(dataset)
        yield TableEntry(
            name=name,
            study=dataset,
            command="tabulate_dataset",
            title=title,
            caption="A data set: classes, patients, folds, image sizes and images with equal pixels.",
            section="Data",
            place=10,
            datasets=(dataset,),
            settings={"title": title, "label": name},
        )
