"""The image study's runs: regret of the training against performance on the test split."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
<<<<<<< HEAD

from fossil.reporting.figures._tradeoff import PANELS, Options, draw_tradeoff

__all__ = ["PANELS", "REGRET", "Options", "draw"]

REGRET = "dynamic_regret"
=======
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from fossil.config import Row
from fossil.reporting.figures._runs import ImageOptions, expected_runs, mark_notes, marked_label, runs_of
from fossil.reporting.style import METRIC_LABELS, TEXT_WIDTH, figure_style, figure_title, method_look

REGRET = "dynamic_regret"
PANELS = ("auc", "balanced_accuracy", "f1")

_LEGEND_COLUMNS = 3
_KEY = "Small: one run (a fold and a seed). Large: mean of a method's runs."


class Options(ImageOptions):
    """The rows to draw, and what stands above."""
>>>>>>> point


def draw(metrics: pd.DataFrame, options: Options) -> Figure:
    """Draw dynamic regret against AUC, balanced accuracy and F1, run by run."""
    return draw_tradeoff(metrics, options, cost=REGRET)
