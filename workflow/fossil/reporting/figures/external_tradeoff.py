"""Runs on a data set that the models never saw: how far they fall short of their own test against what they reach."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from fossil.reporting.figures._tradeoff import Options, draw_tradeoff

__all__ = ["Options", "draw"]

GAP = "generalization_gap"


def draw(metrics: pd.DataFrame, options: Options) -> Figure:
    """Draw the generalisation gap of each model against its AUC, balanced accuracy and F1 on the external images."""
    return draw_tradeoff(metrics, options, cost=GAP)
