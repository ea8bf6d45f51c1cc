"""Mean ranks of every row of the image study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.config.datasets import DATASETS
from fossil.reporting.entries import FigureEntry
from fossil.reporting.figures._ranks import draw_ranks
from fossil.reporting.figures._runs import ImageOptions
from fossil.reporting.style import figure_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from fossil.reporting.experiment import Experiment

OPTIONS = ImageOptions


def figures(experiment: Experiment) -> Iterator[FigureEntry]:
    """Describe the figure of the image study, where it has three rows that can be ranked."""
    (block,) = experiment.study(experiment.internal)
    if len(block.rows) > 2:
        title = f"mean ranks over {'folds' if experiment.config.image_folds > 1 else 'seeds'}"
        yield FigureEntry(
            name="padufes-ranks",
            study=experiment.internal,
            source="ranks",
            section="Image study",
            place=22,
            title=f"{DATASETS[experiment.config.image_dataset]}: {title}",
            caption="Mean rank of each row of the image study, by Friedman's test; bars join rows that Nemenyi's "
            "critical difference cannot tell apart.",
            options=ImageOptions(block=block, title=title),
        )


def draw(ranks: pd.DataFrame, options: ImageOptions) -> Figure:
    """Draw critical-difference diagrams of AUC, balanced accuracy and G-mean; the title names the data set."""
    return draw_ranks(ranks, options.block, title=figure_title(options.title, options.block.rows[0].scenario))
