"""Runs of a study on images: what a method costs against what it reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fossil.design.comparisons import Row
from fossil.reporting.figures._runs import ImageOptions, expected_runs, mark_notes, marked_label, ok_runs, runs_of
from fossil.reporting.style import (
    figure_style,
    figure_title,
    legend_line,
    max_ticks,
    method_look,
    metric_label,
    new_figure,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

PANELS = ("auc", "balanced_accuracy", "f1")

_LEGEND_COLUMNS = 3
_KEY = "Small: one run (a fold and a seed). Large: mean of a method's runs."


def draw_tradeoff(metrics: pd.DataFrame, options: ImageOptions, *, cost: str) -> Figure:
    """Draw a metric ``cost`` against AUC, balanced accuracy and F1: a small point a run, a large one for the mean.

    Only runs whose status is "ok" and which have all four metrics are drawn; the legend counts them, and marks the
    methods that learn on the validation split. The title names the data set, and says so where it is drawn.
    """
    from fossil.evaluation.metrics import REGRETS

    block = options.block
    expected = expected_runs(metrics, block)
    legend_rows = -(-len(block.rows) // _LEGEND_COLUMNS)
    with figure_style():
        figure = new_figure(2.85 + 0.18 * legend_rows, wspace=0.06)
        axes = figure.subplots(1, len(PANELS), sharex=True)
        handles = []
        metrics_of_block = runs_of(metrics, block)
        for row in block.rows:
            runs = ok_runs(metrics_of_block, row, columns=[cost, *PANELS])
            for axis, metric in zip(axes, PANELS, strict=True):
                _draw_runs(axis, runs, cost=cost, metric=metric, row=row)
            handles.append(_handle(row, len(runs), expected))
        for axis, metric in zip(axes, PANELS, strict=True):
            axis.set_xlabel(metric_label(cost))
            axis.set_ylabel(metric_label(metric))
            max_ticks(axis.xaxis, 4)
            max_ticks(axis.yaxis, 6)
            axis.margins(0.08)
        reason = "where regret is measured" if cost in REGRETS else "of the data set that it was trained on"
        key = "\n".join([_KEY, *mark_notes(block.rows, reason=reason)])
        figure.legend(handles=handles, loc="outside lower center", ncols=_LEGEND_COLUMNS, title=key)
        figure.suptitle(figure_title(options.title, block.rows[0].scenario))
    return figure


def _draw_runs(axis: Axes, runs: pd.DataFrame, *, cost: str, metric: str, row: Row) -> None:
    colour, marker = method_look(row.method)
    scale = 1.7 if marker == "*" else 1.0
    few = {"color": colour, "marker": marker, "edgecolor": "0.25", "zorder": 2}
    points = axis.scatter(runs[cost], runs[metric], s=14 * scale, alpha=0.6, linewidth=0.3, **few)
    points.set_gid(row.key)
    if len(runs):
        mean = runs.mean()
        few |= {"edgecolor": "black", "zorder": 3}
        axis.scatter([mean[cost]], [mean[metric]], s=55 * scale, linewidth=1.0, **few)


def _handle(row: Row, count: int, expected: int) -> Line2D:
    colour, marker = method_look(row.method)
    runs = f"{count} runs" if count == expected else f"{count} of {expected} runs"
    return legend_line(
        f"{marked_label(row.method, row.label)} ({runs})",
        linestyle="none",
        color=colour,
        marker=marker,
        markersize=9 if marker == "*" else 6,
        markeredgecolor="black",
        markeredgewidth=0.8,
    )
