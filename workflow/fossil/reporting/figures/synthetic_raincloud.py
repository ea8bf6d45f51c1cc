"""The synthetic study's runs: distribution, quartiles and every seed of each method."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.design.comparisons import Block, Row
from fossil.reporting.entries import FigureEntry
from fossil.reporting.figures._runs import BlockOptions, expected_runs, label_rows, mark_notes, metric_values
from fossil.reporting.style import (
    add_notes,
    arrow_notes,
    figure_style,
    max_ticks,
    method_look,
    metric_title,
    new_figure,
    spread_out,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from fossil.reporting.experiment import Experiment

PANELS = ("auc", "balanced_accuracy", "g_mean", "dynamic_regret")

# Heights within a method's row of height 1: the box on the line, the cloud above it, the rain below it.
_CLOUD_FROM, _CLOUD_HEIGHT = 0.12, 0.40
_BOX_HEIGHT = 0.14
_RAIN_CENTRE, _RAIN_HEIGHT = -0.24, 0.16


OPTIONS = BlockOptions


def figures(experiment: Experiment) -> Iterator[FigureEntry]:
    """Describe the figure of the first synthetic study."""
    for block in experiment.study("synthetic-results")[:1]:
        title = f"Synthetic data, {experiment.scenario}"
        yield FigureEntry(
            name="synthetic-raincloud",
            study="synthetic-results",
            source="metrics",
            section="Synthetic study",
            place=11,
            title=title,
            caption="Every seed of each method, with a half violin and a box of them.",
            options=BlockOptions(block=block, title=title),
        )


def draw(metrics: pd.DataFrame, options: BlockOptions) -> Figure:
    """Draw AUC, balanced accuracy, G-mean and dynamic regret of each row.

    Only runs whose status is "ok" are drawn. How many there are stands to the right of each row, as "7/8" where the
    block has more. The cloud is a kernel density within the range of the runs; it needs three different values.
    Methods that learn on the validation split are marked.
    """
    with figure_style():
        figure = new_figure(1.6 + 0.8 * len(options.block.rows), wspace=0.04, hspace=0.05)
        axes = figure.subplots(2, 2, sharey=True)
        for axis, metric in zip(axes.flat, PANELS, strict=True):
            _draw_panel(axis, metrics, metric=metric, block=options.block)
        add_notes(figure, ["; ".join(arrow_notes(PANELS)), *mark_notes(options.block.rows)])
        figure.suptitle(options.title)
    return figure


def _draw_panel(axis: Axes, metrics: pd.DataFrame, *, metric: str, block: Block) -> None:
    values = [series.to_numpy(dtype="float64") for series in metric_values(metrics, block, metric=metric).values()]
    for place, (row, of_row) in enumerate(zip(block.rows, values, strict=True)):
        if len(of_row):
            _draw_row(axis, of_row, row=row, height=len(values) - 1 - place)
    expected = expected_runs(metrics, block)
    label_rows(axis, block.rows, list(map(len, values)), expected, above=0.3, count_above=0.4)
    max_ticks(axis.xaxis, 5)
    axis.set_title(metric_title(metric))


def _draw_row(axis: Axes, values: NDArray[np.float64], *, row: Row, height: int) -> None:
    colour, marker = method_look(row.method)
    if len(set(values)) > 2:
        cloud = axis.violinplot(
            [values],
            positions=[height + _CLOUD_FROM],
            widths=2 * _CLOUD_HEIGHT,
            orientation="horizontal",
            side="high",
            showextrema=False,
        )
        for body in cloud["bodies"]:
            body.set(facecolor=colour, edgecolor="0.25", linewidth=0.5, alpha=0.6)
    axis.boxplot(
        [values],
        positions=[height],
        widths=_BOX_HEIGHT,
        orientation="horizontal",
        showfliers=False,
        manage_ticks=False,
        patch_artist=True,
        boxprops={"facecolor": "white", "linewidth": 0.7},
        medianprops={"color": "black", "linewidth": 1.4},
        whiskerprops={"linewidth": 0.7},
        capprops={"linewidth": 0.7},
    )
    jitter = spread_out(len(values))
    rain = axis.scatter(
        values,
        height + _RAIN_CENTRE + _RAIN_HEIGHT * jitter,
        s=26 if marker == "*" else 13,
        color=colour,
        marker=marker,
        edgecolor="0.25",
        linewidth=0.4,
        zorder=3,
    )
    rain.set_gid(row.key)
