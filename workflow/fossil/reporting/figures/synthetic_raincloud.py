"""The synthetic study's runs: distribution, quartiles and every seed of each method."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from fossil.config import METHODS
from fossil.reporting.style import LOWER_IS_BETTER, METRIC_LABELS, TEXT_WIDTH, figure_style, method_look

PANELS = ("auc", "balanced_accuracy", "g_mean", "dynamic_regret")

# Heights within a method's row of height 1: the box on the line, the cloud above it, the rain below it.
_CLOUD_FROM, _CLOUD_HEIGHT = 0.12, 0.40
_BOX_HEIGHT = 0.14
_RAIN_CENTRE, _RAIN_HEIGHT = -0.24, 0.16


def draw(metrics: pd.DataFrame, *, methods: list[str], title: str) -> Figure:
    """Draw AUC, balanced accuracy, G-mean and dynamic regret, a row a method, the first on top.

    Only runs whose status is "ok" are drawn. How many there are stands to the right of each row, as "7/8" where the
    study has more. The cloud is a kernel density within the range of the runs; it needs three different values.
    """
    metrics = metrics[metrics["method"].isin(methods)]
    expected = len(metrics[["fold", "seed"]].drop_duplicates())
    with figure_style():
        figure = Figure(figsize=(TEXT_WIDTH, 1.3 + 0.8 * len(methods)), layout="constrained")
        figure.get_layout_engine().set(wspace=0.04, hspace=0.05)
        axes = figure.subplots(2, 2, sharey=True)
        for axis, metric in zip(axes.flat, PANELS, strict=True):
            _draw_panel(axis, metrics, metric=metric, methods=methods, expected=expected)
        figure.suptitle(title)
    return figure


def _draw_panel(axis: Axes, metrics: pd.DataFrame, *, metric: str, methods: list[str], expected: int) -> None:
    ok = metrics[(metrics["metric"] == metric) & (metrics["status"] == "ok") & metrics["value"].notna()]
    ok = ok.sort_values(["fold", "seed"])
    outside = axis.get_yaxis_transform()
    for row, method in enumerate(methods):
        values = ok["value"][ok["method"] == method].to_numpy(dtype=np.float64)
        height = len(methods) - 1 - row
        if len(values):
            _draw_row(axis, values, method=method, height=height)
        count = str(len(values)) if len(values) == expected else f"{len(values)}/{expected}"
        axis.text(1.02, height, count, transform=outside, va="center", fontsize=6.5, color="0.35")
    axis.text(1.02, len(methods) - 0.4, "$n$", transform=outside, va="center", fontsize=6.5, color="0.35")
    axis.set_yticks(range(len(methods)), [METHODS[method].label for method in reversed(methods)])
    axis.set_ylim(-0.5, len(methods) - 0.3)
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False, axis="y")
    axis.margins(x=0.06)
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.set_title(f"{METRIC_LABELS[metric]} ({'lower' if metric in LOWER_IS_BETTER else 'higher'} is better)")


def _draw_row(axis: Axes, values: NDArray[np.float64], *, method: str, height: int) -> None:
    colour, marker = method_look(method)
    if len(np.unique(values)) > 2:
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
    jitter = (np.arange(len(values)) * 0.618034) % 1 - 0.5
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
    rain.set_gid(method)
