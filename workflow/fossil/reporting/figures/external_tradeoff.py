"""Runs on a data set that the models never saw: how far they fall short of their own test against what they reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.config.datasets import DATASETS
from fossil.reporting.entries import FigureEntry
from fossil.reporting.figures._runs import ImageOptions, one_row_per_method
from fossil.reporting.figures._tradeoff import draw_tradeoff

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from fossil.reporting.experiment import Experiment

OPTIONS = ImageOptions


def figures(experiment: Experiment) -> Iterator[FigureEntry]:
    """Describe the figure of the study of external validation."""
    for block in experiment.study(experiment.transfer):
        title = f"models trained on {experiment.trained_on}"
        yield FigureEntry(
            name="external-tradeoff",
            study=experiment.transfer,
            source="metrics",
            section="External validation",
            place=11,
            title=f"{DATASETS[block.rows[0].scenario]}: {title}",
            caption="The generalisation gap of each model against its AUC, balanced accuracy and F1 on the external "
            "images.",
            options=ImageOptions(block=one_row_per_method(block), title=title),
        )


def draw(metrics: pd.DataFrame, options: ImageOptions) -> Figure:
    """Draw the generalisation gap of each model against its AUC, balanced accuracy and F1 on the external images."""
    return draw_tradeoff(metrics, options, cost="generalization_gap")
