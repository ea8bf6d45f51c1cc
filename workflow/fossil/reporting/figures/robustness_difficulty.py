"""ERM and FOSSIL with and without augmentation and its penalty: every seed, and the mean with its interval."""

from __future__ import annotations

import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from scipy.special import stdtrit

from fossil.config.strict import Fraction, Strict
from fossil.design.comparisons import Block, Row
from fossil.reporting.figures._runs import expected_runs, mark_notes, marked_label, metric_values
from fossil.reporting.style import SMALL, TEXT_WIDTH, arrow_notes, figure_style, method_look, metric_title

PANELS = ("auc", "balanced_accuracy", "g_mean", "dynamic_regret", "balanced_error")

_DOTS, _MEAN = -0.17, 0.17

# FOSSIL with its penalty and nothing else is ERM with that penalty, and looks like ERM.
_LOOKS = {"penalty-only": "erm"}


class Options(Strict):
    """The rows to draw, the first on top, the level of the intervals, and what stands above."""

    block: Block
    confidence: Fraction = 0.95
    title: str


def draw(metrics: pd.DataFrame, options: Options) -> Figure:
    """Draw AUC, balanced accuracy, G-mean, dynamic regret and balanced error of each row.

    A dot is a run whose status is "ok". Above the dots stands their mean with Student's interval for it, which takes
    two runs. How many there are stands to the right of each row, as "7/8" where the block has more.
    """
    with figure_style():
        figure = Figure(figsize=(TEXT_WIDTH, 1.6 + 0.5 * len(options.block.rows)), layout="constrained")
        figure.get_layout_engine().set(wspace=0.05, hspace=0.06)
        axes = figure.subplots(2, 3, sharey=True).flat
        for axis, metric in zip(axes, PANELS, strict=False):
            _draw_panel(axis, metrics, options, metric=metric)
        _draw_key(axes[-1], options)
        figure.suptitle(options.title)
    return figure


def mean_interval(values: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    """Student's interval for the mean of at least two values, shape (n,)."""
    half = stdtrit(len(values) - 1, (1 + confidence) / 2) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def _draw_panel(axis: Axes, metrics: pd.DataFrame, options: Options, *, metric: str) -> None:
    block = options.block
    rows, expected = block.rows, expected_runs(metrics, block)
    found = metric_values(metrics, block, metric=metric)
    outside = axis.get_yaxis_transform()
    small = {"transform": outside, "va": "center", "fontsize": SMALL, "color": "0.35"}
    for place, row in enumerate(rows):
        values = found[row.key].to_numpy(dtype=np.float64)
        height = len(rows) - 1 - place
        _draw_row(axis, values, row=row, height=height, confidence=options.confidence)
        axis.text(1.02, height, str(len(values)) if len(values) == expected else f"{len(values)}/{expected}", **small)
    axis.text(1.02, len(rows) - 0.45, "$n$", **small)
    axis.set_yticks(range(len(rows)), [marked_label(row.method, row.label) for row in reversed(rows)])
    axis.set_ylim(-0.5, len(rows) - 0.4)
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False, axis="y")
    axis.margins(x=0.06)
    axis.xaxis.set_major_locator(MaxNLocator(4))
    axis.set_title(metric_title(metric))


def _draw_row(axis: Axes, values: NDArray[np.float64], *, row: Row, height: int, confidence: float) -> None:
    if not len(values):
        return
    colour, marker = method_look(_LOOKS.get(row.variant, row.method))
    dots = axis.scatter(values, np.full(len(values), height + _DOTS), s=11, color=colour, alpha=0.7)
    dots.set(edgecolor="0.25", linewidth=0.3, gid=row.key, zorder=2)
    if len(values) > 1:
        axis.plot(mean_interval(values, confidence), [height + _MEAN] * 2, color="black", linewidth=1.2, gid=row.key)
    look = {"color": colour, "marker": marker, "edgecolor": "black", "linewidth": 0.8, "zorder": 3}
    axis.scatter([values.mean()], [height + _MEAN], s=70 if marker == "*" else 34, **look)


def _draw_key(axis: Axes, options: Options) -> None:
    axis.axis("off")
    grey = {"color": "0.75", "marker": "o", "linestyle": "none"}
    interval = f"{100 * options.confidence:g}% interval of the mean\n(Student's t over the runs)"
    handles = [
        Line2D([], [], markersize=3.5, markeredgecolor="0.25", markeredgewidth=0.3, label="One seed", **grey),
        Line2D([], [], color="black", linewidth=1.2, label=interval),
    ]
    notes = [
        *arrow_notes(PANELS),
        *mark_notes(options.block.rows),
        "$n$: runs, of how many if some lack",
        "Large mark: mean",
    ]
    text = "\n".join(textwrap.fill(note, 36) for note in notes)
    axis.legend(handles=handles, loc="center", title=text, borderpad=0, borderaxespad=0)
