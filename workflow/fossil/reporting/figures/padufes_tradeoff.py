"""The image study's runs: regret of the training against performance on the test split."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from fossil.config import METHODS
from fossil.reporting.style import METRIC_LABELS, TEXT_WIDTH, figure_style, figure_title, method_look

REGRET = "dynamic_regret"
PANELS = ("auc", "balanced_accuracy", "f1")

_LEGEND_COLUMNS = 3
_KEY = "Small: one run (a fold and a seed). Large: mean of a method's runs."


def draw(metrics: pd.DataFrame, *, methods: list[str], dataset: str, title: str) -> Figure:
    """Draw dynamic regret against AUC, balanced accuracy and F1: a small point a run, a large one for the mean.

    Only runs whose status is "ok" and which have all four metrics are drawn; the legend counts them. The title names
    the data set, and says so where it is the phantom.
    """
    metrics = metrics[metrics["method"].isin(methods)]
    expected = len(metrics[["fold", "seed"]].drop_duplicates())
    legend_rows = -(-len(methods) // _LEGEND_COLUMNS)
    with figure_style():
        figure = Figure(figsize=(TEXT_WIDTH, 2.85 + 0.18 * legend_rows), layout="constrained")
        figure.get_layout_engine().set(wspace=0.06)
        axes = figure.subplots(1, len(PANELS), sharex=True)
        handles = []
        for method in methods:
            runs = _runs(metrics, method)
            colour, marker = method_look(method)
            scale = 1.7 if marker == "*" else 1.0
            for axis, metric in zip(axes, PANELS, strict=True):
                few = {"color": colour, "marker": marker, "edgecolor": "0.25", "zorder": 2}
                points = axis.scatter(runs[REGRET], runs[metric], s=14 * scale, alpha=0.6, linewidth=0.3, **few)
                points.set_gid(method)
                if len(runs):
                    mean = runs.mean()
                    few |= {"edgecolor": "black", "zorder": 3}
                    axis.scatter([mean[REGRET]], [mean[metric]], s=55 * scale, linewidth=1.0, **few)
            handles.append(_handle(method, len(runs), expected))
        for axis, metric in zip(axes, PANELS, strict=True):
            axis.set_xlabel(METRIC_LABELS[REGRET])
            axis.set_ylabel(METRIC_LABELS[metric])
            axis.xaxis.set_major_locator(MaxNLocator(4))
            axis.yaxis.set_major_locator(MaxNLocator(6))
            axis.margins(0.08)
        figure.legend(handles=handles, loc="outside lower center", ncols=_LEGEND_COLUMNS, title=_KEY)
        figure.suptitle(figure_title(title, dataset))
    return figure


def _runs(metrics: pd.DataFrame, method: str) -> pd.DataFrame:
    ok = metrics[(metrics["method"] == method) & (metrics["status"] == "ok")]
    return (
        ok.pivot(index=["fold", "seed"], columns="metric", values="value").reindex(columns=[REGRET, *PANELS]).dropna()
    )


def _handle(method: str, count: int, expected: int) -> Line2D:
    colour, marker = method_look(method)
    runs = f"{count} runs" if count == expected else f"{count} of {expected} runs"
    return Line2D(
        *([], []),
        linestyle="none",
        color=colour,
        marker=marker,
        markersize=9 if marker == "*" else 6,
        markeredgecolor="black",
        markeredgewidth=0.8,
        label=f"{METHODS[method].label} ({runs})",
    )
