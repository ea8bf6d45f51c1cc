"""The image study's runs: regret of the training against performance on the test split."""

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
    """Describe the figure of the image study."""
    title = "regret in training against performance in the test"
    yield FigureEntry(
        name="padufes-tradeoff",
        study=experiment.internal,
        source="metrics",
        section="Image study",
        place=21,
        title=f"{DATASETS[experiment.config.image_dataset]}: {title}",
        caption="Dynamic regret in training against AUC, balanced accuracy and F1 of the test images; a point is a "
        "run.",
        options=ImageOptions(block=one_row_per_method(experiment.study(experiment.internal)[0]), title=title),
    )


def draw(metrics: pd.DataFrame, options: ImageOptions) -> Figure:
    """Draw dynamic regret against AUC, balanced accuracy and F1, run by run."""
    return draw_tradeoff(metrics, options, cost="dynamic_regret")
