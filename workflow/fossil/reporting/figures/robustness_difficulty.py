"""ERM and FOSSIL with and without augmentation and its penalty: every seed, and the mean with its interval."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.config.strict import Fraction
from fossil.design.comparisons import Row
from fossil.reporting.entries import FigureEntry
from fossil.reporting.figures._runs import BlockOptions, expected_runs, label_rows, mark_notes, metric_values
from fossil.reporting.style import (
    arrow_notes,
    figure_style,
    legend_line,
    max_ticks,
    method_look,
    metric_title,
    new_figure,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from fossil.reporting.experiment import Experiment

PANELS = ("auc", "balanced_accuracy", "g_mean", "dynamic_regret", "balanced_error")

_DOTS, _MEAN = -0.17, 0.17

# FOSSIL with its penalty and nothing else is ERM with that penalty, and looks like ERM.
_LOOKS = {"penalty-only": "erm"}


class IntervalOptions(BlockOptions):
    """The rows to draw, the first on top, the level of the intervals, and the title above."""

    confidence: Fraction = 0.95


OPTIONS = IntervalOptions


def figures(experiment: Experiment) -> Iterator[FigureEntry]:
    """Describe the figure of the study of augmentation and penalty."""
    for block in experiment.study("robustness-difficulty")[:1]:
        title = f"Augmentation and penalty, synthetic data, {experiment.ratio}"
        confidence = experiment.config.statistics.confidence
        yield FigureEntry(
            name="robustness-difficulty",
            study="robustness-difficulty",
            source="metrics",
            section="Synthetic study",
            place=30,
            title=title,
            caption="ERM and FOSSIL without augmented copies, with them, and with the penalty on them: every seed, "
            "means and intervals.",
            options=IntervalOptions(block=block, confidence=confidence, title=title),
        )


def draw(metrics: pd.DataFrame, options: IntervalOptions) -> Figure:
    """Draw AUC, balanced accuracy, G-mean, dynamic regret and balanced error of each row.

    A dot is a run whose status is "ok". Above the dots stands their mean with Student's interval for it, which takes
    two runs. How many there are stands to the right of each row, as "7/8" where the block has more.
    """
    with figure_style():
        figure = new_figure(1.6 + 0.5 * len(options.block.rows), wspace=0.05, hspace=0.06)
        axes = figure.subplots(2, 3, sharey=True).flat
        for axis, metric in zip(axes, PANELS, strict=False):
            _draw_panel(axis, metrics, options, metric=metric)
        _draw_key(axes[-1], options)
        figure.suptitle(options.title)
    return figure


def mean_interval(values: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    """Student's interval for the mean of at least two values, shape (n,)."""
    from scipy.special import stdtrit

    half = stdtrit(len(values) - 1, (1 + confidence) / 2) * values.std(ddof=1) / math.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def _draw_panel(axis: Axes, metrics: pd.DataFrame, options: IntervalOptions, *, metric: str) -> None:
    block = options.block
    values = [series.to_numpy(dtype="float64") for series in metric_values(metrics, block, metric=metric).values()]
    for place, (row, of_row) in enumerate(zip(block.rows, values, strict=True)):
        if len(of_row):
            _draw_row(axis, of_row, row=row, height=len(values) - 1 - place, confidence=options.confidence)
    expected = expected_runs(metrics, block)
    label_rows(axis, block.rows, list(map(len, values)), expected, above=0.4, count_above=0.45)
    max_ticks(axis.xaxis, 4)
    axis.set_title(metric_title(metric))


def _draw_row(axis: Axes, values: NDArray[np.float64], *, row: Row, height: int, confidence: float) -> None:
    colour, marker = method_look(_LOOKS.get(row.variant, row.method))
    dots = axis.scatter(values, [height + _DOTS] * len(values), s=11, color=colour, alpha=0.7)
    dots.set(edgecolor="0.25", linewidth=0.3, gid=row.key, zorder=2)
    if len(values) > 1:
        axis.plot(mean_interval(values, confidence), [height + _MEAN] * 2, color="black", linewidth=1.2, gid=row.key)
    look = {"color": colour, "marker": marker, "edgecolor": "black", "linewidth": 0.8, "zorder": 3}
    axis.scatter([values.mean()], [height + _MEAN], s=70 if marker == "*" else 34, **look)


def _draw_key(axis: Axes, options: IntervalOptions) -> None:
    axis.axis("off")
    grey = {"color": "0.75", "marker": "o", "linestyle": "none"}
    interval = f"{100 * options.confidence:g}% interval of the mean\n(Student's t over the runs)"
    handles = [
        legend_line("One seed", markersize=3.5, markeredgecolor="0.25", markeredgewidth=0.3, **grey),
        legend_line(interval, color="black", linewidth=1.2),
    ]
    notes = [
        *arrow_notes(PANELS),
        *mark_notes(options.block.rows),
        "$n$: runs, of how many if some lack",
        "Large mark: mean",
    ]
    text = "\n".join(textwrap.fill(note, 36) for note in notes)
    axis.legend(handles=handles, loc="center", title=text, borderpad=0, borderaxespad=0)
