"""The entry of a table of a study, whose rows stand in blocks and are tested against their references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fossil.config.tuning import SEARCHED
from fossil.design.comparisons import Block
from fossil.reporting.entries import Section, TableEntry

if TYPE_CHECKING:
    from fossil.config.root import Config
    from fossil.reporting.experiment import Experiment


def study_table(
    experiment: Experiment,
    *,
    name: str,
    title: str,
    caption: str,
    section: Section,
    place: int,
    columns: str,
    notes: Sequence[str] = (),
    datasets: tuple[str, ...] = (),
    in_paper: bool = True,
    study: str = "",
) -> TableEntry:
    """Describe a table of a study.

    ``columns`` is a key of `fossil.evaluation.metrics.COLUMNS`. A table is called as its study, unless told otherwise.
    Where the paper has no table of this name, the rows stand without its numbers.
    """
    study = study or name
    blocks = experiment.study(study)
    return TableEntry(
        name=name,
        study=study,
        title=title,
        caption=caption,
        section=section,
        place=place,
        command="tabulate_study",
        in_paper=in_paper,
        datasets=datasets,
        settings={
            "table": name,
            "title": title,
            "blocks": blocks if in_paper else [block.without_reported() for block in blocks],
            "columns": columns,
            "notes": notes,
            "alpha": experiment.config.statistics.alpha,
        },
    )


def scenarios(blocks: Sequence[Block]) -> list[str]:
    """Return the synthetic problems or data sets that blocks are about."""
    return list(dict.fromkeys(row.scenario for block in blocks for row in block.rows))


def which_options(config: Config) -> str:
    """Return with which options the methods of the image study run."""
    tuned = any(variant in config.images.variants for variant in (*SEARCHED, "printed"))
    return "every method as configured and tuned" if tuned else "every method as configured"
