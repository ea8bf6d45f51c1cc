"""Decisions at a chosen threshold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.reporting.entries import TableEntry

if TYPE_CHECKING:
    from fossil.reporting.experiment import Experiment


def tables(experiment: Experiment) -> Iterator[TableEntry]:
    """Describe the table of operating points of the image study."""
    config, name = experiment.config, "operating-point"
    title = f"{experiment.description(config.image_dataset)}: operating points"
    block = experiment.study(experiment.internal)[0]
    yield TableEntry(
        name=name,
        study=experiment.operating_points,
        command="tabulate_operating_point",
        title=title,
        caption="Every method at the threshold one half and at one that reaches a wanted recall, and calibration.",
        section="Image study",
        place=40,
        datasets=(config.image_dataset,),
        settings={"table": name, "title": title, "block": block, "recall": config.images.operating_recall},
    )
