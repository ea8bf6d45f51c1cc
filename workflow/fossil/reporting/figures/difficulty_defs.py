"""Definitions of difficulty, side by side: mean, standard deviation and every seed."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.design.comparisons import Block, Row
from fossil.reporting.entries import FigureEntry
from fossil.reporting.figures._runs import (
    COUNTS,
    BlocksOptions,
    expected_runs,
    mark_notes,
    marked_label,
    metric_values,
    seed_count,
)
from fossil.reporting.style import (
    SMALL,
    arrow_notes,
    figure_style,
    legend_line,
    max_ticks,
    method_look,
    metric_title,
    new_figure,
    spread_out,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fossil.reporting.experiment import Experiment

PANELS = ("auc", "balanced_accuracy", "g_mean", "dynamic_regret", "balanced_error")

CHANCE = {"auc": 0.5, "balanced_accuracy": 0.5, "balanced_error": 0.5}
"""What a decision by chance gets."""

_FROM_CHANCE = frozenset({"auc", "balanced_accuracy"})
_GROUP = 0.84
_LIGHTER = (0.0, 0.45, 0.75, 0.9)
_HATCHES = ("", "////", "....", "xxxx")
# Means further apart than this have a logarithmic axis.
_LINEAR_UP_TO = 20


OPTIONS = BlocksOptions


def figures(experiment: Experiment) -> Iterator[FigureEntry]:
    """Describe the figure of the definitions of difficulty: a block is a group of bars, a row is a bar."""
    if blocks := [block for block in experiment.study("difficulty-defs") if block.seeds is None]:
        title = f"Definitions of difficulty, FOSSIL, synthetic data, {experiment.ratio}"
        yield FigureEntry(
            name="difficulty-defs",
            study="difficulty-defs",
            source="metrics",
            section="Synthetic study",
            place=40,
            title=title,
            caption="FOSSIL by what makes a sample difficult: means over seeds as bars, with deviations.",
            options=BlocksOptions(blocks=blocks, title=title),
        )


def draw(metrics: pd.DataFrame, options: BlocksOptions) -> Figure:
    """Draw AUC, balanced accuracy, G-mean, dynamic regret and balanced error.

    A bar is the mean of the runs whose status is "ok", its whisker their standard deviation. Bars of AUC and of
    balanced accuracy start at chance, 0.5, the others at 0, but for a panel whose means differ by more than a factor of
    20, which is logarithmic and says so. Where runs lack, a bar says at its foot how many of how many it has.
    """
    labels = _labels(options)
    with figure_style():
        figure = new_figure(4.4, wspace=0.06, hspace=0.06)
        *axes, key = figure.subplots(2, 3).flat
        for axis, metric in zip(axes, PANELS, strict=True):
            for group, block in enumerate(options.blocks):
                _draw_group(axis, metrics, block, metric=metric, group=group, labels=labels)
            _finish(axis, options, metric=metric)
        _draw_key(key, metrics, options)
        figure.suptitle(options.title)
    return figure


def _labels(options: BlocksOptions) -> list[str]:
    return list(dict.fromkeys(row.label for block in options.blocks for row in block.rows))


def _draw_group(axis: Axes, metrics: pd.DataFrame, block: Block, *, metric: str, group: int, labels: list[str]) -> None:
    expected, width = expected_runs(metrics, block), _GROUP / len(labels)
    found = metric_values(metrics, block, metric=metric)
    foot = CHANCE[metric] if metric in _FROM_CHANCE else 0.0
    for row in block.rows:
        place = labels.index(row.label)
        centre = group + _GROUP * ((place + 0.5) / len(labels) - 0.5)
        values = found[row.key].to_numpy(dtype="float64")
        if len(values) < expected:
            note = {"ha": "center", "va": "bottom", "fontsize": SMALL, "zorder": 5}
            axis.annotate(f"{len(values)}/{expected}", (centre, foot), (0, 2), textcoords="offset points", **note).set(
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5}
            )
        if len(values):
            axis.bar(centre, values.mean() - foot, 0.92 * width, bottom=foot, gid=row.key, **_look(row, place))
            _draw_spread(axis, values, centre=centre, width=width)


def _draw_spread(axis: Axes, values: np.ndarray, *, centre: float, width: float) -> None:
    if len(values) > 1:
        axis.errorbar(centre, values.mean(), yerr=values.std(ddof=1), color="black", capsize=2, elinewidth=0.9)
    axis.scatter(
        centre + 0.55 * width * spread_out(len(values)),
        values,
        s=7,
        color="white",
        edgecolor="0.2",
        linewidth=0.5,
        zorder=3,
    )


def _look(row: Row, place: int) -> dict[str, object]:
    """Bars of one method differ in lightness and hatching."""
    from matplotlib.colors import to_rgb

    share = _LIGHTER[place % len(_LIGHTER)]
    colour = tuple(1 - (1 - part) * (1 - share) for part in to_rgb(method_look(row.method)[0]))
    return {"facecolor": colour, "hatch": _HATCHES[place % len(_HATCHES)], "edgecolor": "0.3", "linewidth": 0.6}


def _finish(axis: Axes, options: BlocksOptions, *, metric: str) -> None:
    groups = len(options.blocks)
    titles = [textwrap.fill(block.title, max(8, 28 // groups)) for block in options.blocks]
    axis.set_xticks(range(groups), titles)
    axis.set_xlim(-0.5, groups - 0.5)
    axis.tick_params(axis="x", length=0)
    axis.grid(visible=False, axis="x")
    means = [bar.get_height() for bar in axis.patches if bar.get_height() > 0]
    if metric not in CHANCE and means and max(means) > _LINEAR_UP_TO * min(means):
        axis.set_yscale("log")
        axis.set_title(f"{metric_title(metric)} (logarithmic)")
    else:
        max_ticks(axis.yaxis, 6, steps=[1, 2, 5, 10])
        axis.set_title(metric_title(metric))
    if metric in CHANCE:
        axis.axhline(CHANCE[metric], color="black", linestyle="--", linewidth=0.9, zorder=2)
    if metric in _FROM_CHANCE:
        axis.set_ylim(bottom=min(axis.dataLim.y0, CHANCE[metric]) - 0.03)


def _draw_key(axis: Axes, metrics: pd.DataFrame, options: BlocksOptions) -> None:
    from matplotlib.patches import Patch

    axis.axis("off")
    rows = [row for block in options.blocks for row in block.rows]
    found = [(block, metric_values(metrics, block, metric=PANELS[0]).values()) for block in options.blocks]
    lacking = any(len(values) < expected_runs(metrics, block) for block, of_block in found for values in of_block)
    seeds = seed_count(len(values) for _, of_block in found for values in of_block)
    first = {row.label: row for row in reversed(rows)}
    handles: list[Artist] = [
        Patch(label=marked_label(first[label].method, label), **_look(first[label], place))
        for place, label in enumerate(_labels(options))
    ]
    dot = {"marker": "o", "markersize": 3.5, "color": "white", "markeredgecolor": "0.2", "linestyle": "none"}
    handles += [
        legend_line("One seed", **dot),
        legend_line(f"Mean of {seeds}\n$\\pm$ standard deviation", color="black"),
        legend_line("Chance (AUC, balanced\naccuracy start there)", color="black", linestyle="--", linewidth=0.9),
    ]
    notes = [*arrow_notes(PANELS), *mark_notes(rows), *([COUNTS] if lacking else [])]
    text = "\n".join(textwrap.fill(note, 36) for note in notes)
    axis.legend(handles=handles, loc="center", title=text, borderpad=0, borderaxespad=0)
