"""The image study's runs: regret of the training against performance on the test split."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from fossil.reporting.figures._tradeoff import PANELS, Options, draw_tradeoff

__all__ = ["PANELS", "REGRET", "Options", "draw"]

REGRET = "dynamic_regret"


def draw(metrics: pd.DataFrame, options: Options) -> Figure:
    """Draw dynamic regret against AUC, balanced accuracy and F1, run by run."""
    return draw_tradeoff(metrics, options, cost=REGRET)
