"""FOSSIL's options, in a full factorial."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.reporting.entries import TableEntry

if TYPE_CHECKING:
    from fossil.reporting.experiment import Experiment


def tables(experiment: Experiment) -> Iterator[TableEntry]:
    """Describe the table of FOSSIL's options."""
    if blocks := experiment.study("sensitivity"):
        title = f"FOSSIL's options, synthetic data, {experiment.ratio}."
        yield TableEntry(
            name="sensitivity",
            study="sensitivity",
            command="tabulate_sensitivity",
            title=title,
            caption="What each of FOSSIL's options does, in a full factorial of them.",
            section="Synthetic study",
            place=50,
            settings={"title": title, "blocks": blocks, "alpha": experiment.config.statistics.alpha},
        )
