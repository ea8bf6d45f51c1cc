"""Mean ranks of the methods on the first synthetic scenario, over seeds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.reporting.entries import FigureEntry
from fossil.reporting.figures._ranks import draw_ranks
from fossil.reporting.figures._runs import BlockOptions

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from fossil.reporting.experiment import Experiment

OPTIONS = BlockOptions


def figures(experiment: Experiment) -> Iterator[FigureEntry]:
    """Describe the figure of the first synthetic study, where it has three rows that can be ranked."""
    for block in experiment.study("synthetic-results")[:1]:
        if len(block.rows) > 2:
            title = f"Mean ranks over seeds, synthetic data, {experiment.scenario}"
            yield FigureEntry(
                name="synthetic-ranks",
                study="synthetic-results",
                source="ranks",
                section="Synthetic study",
                place=12,
                title=title,
                caption="Mean rank of each method over seeds, by Friedman's test; bars join methods that Nemenyi's "
                "critical difference cannot tell apart.",
                options=BlockOptions(block=block, title=title),
            )


def draw(ranks: pd.DataFrame, options: BlockOptions) -> Figure:
    """Draw critical-difference diagrams of AUC, balanced accuracy and G-mean."""
    return draw_ranks(ranks, options.block, title=options.title)
