"""The machines that trained the models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.reporting.entries import TableEntry

if TYPE_CHECKING:
    from fossil.reporting.experiment import Experiment


def tables(experiment: Experiment) -> Iterator[TableEntry]:
    """Describe the table of machines."""
    yield TableEntry(
        name="env",
        study="",
        command="tabulate_environment",
        title="Computational environment",
        caption="The machines that trained the models, next to the one that the paper names.",
        section="Provenance",
        place=10,
    )
