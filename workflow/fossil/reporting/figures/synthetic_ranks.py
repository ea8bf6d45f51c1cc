"""Mean ranks of the methods on the first synthetic scenario, over seeds."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from fossil.config.strict import Strict
from fossil.design.comparisons import Block
from fossil.reporting.figures._ranks import PANELS, draw_ranks

__all__ = ["PANELS", "Options", "draw"]


class Options(Strict):
    """The rows to draw, and what stands above."""

    block: Block
    title: str


def draw(ranks: pd.DataFrame, options: Options) -> Figure:
    """Draw critical-difference diagrams of AUC, balanced accuracy and G-mean."""
    return draw_ranks(ranks, options.block, title=options.title)
