"""Mean ranks of every row of the image study."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from fossil.reporting.figures._ranks import PANELS, draw_ranks
from fossil.reporting.figures._runs import ImageOptions
from fossil.reporting.style import figure_title

__all__ = ["PANELS", "Options", "draw"]


class Options(ImageOptions):
    """The rows to draw, and what stands above, behind the data set's name."""


def draw(ranks: pd.DataFrame, options: Options) -> Figure:
    """Draw critical-difference diagrams of AUC, balanced accuracy and G-mean; the title names the data set."""
    return draw_ranks(ranks, options.block, title=figure_title(options.title, options.block.rows[0].scenario))
