"""Critical-difference diagrams (Demsar 2006): mean ranks of a block's rows, and which of them do not differ."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fossil.design.comparisons import Block, Row, row_key
from fossil.evaluation.p_values import p_equation
from fossil.reporting.style import (
    SMALL,
    TEXT_WIDTH,
    add_notes,
    figure_style,
    method_look,
    metric_label,
    new_figure,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = ("auc", "balanced_accuracy", "g_mean")

_INK = "0.25"
# Heights in inches: of a row's label, of a bar, and of what stands above the axis.
_LINE, _BAR, _HEAD = 0.15, 0.07, 0.62
# Width of a letter of a label in inches.
_LETTER = 0.055
_MOST_TICKS = 16
# Demsar asks for more units than that.
_FEW = 10
_UNITS = {"seed": ("seed", "seeds"), "fold": ("fold (mean over seeds)", "folds (means over seeds)")}


def draw_ranks(ranks: pd.DataFrame, block: Block, *, title: str) -> Figure:
    """Draw the mean ranks by AUC, balanced accuracy and G-mean, a panel each.

    The best row is at the left. A bar joins rows of which no two differ by the critical difference, whose length stands
    above the axis. Each panel says of how many units its ranks are, and what Friedman's test finds. A row that has no
    rank is left out.

    Parameters
    ----------
    ranks : DataFrame
        From `fossil.evaluation.ranks.rank_rows`, of the study that the block is of.
    """
    panels = [_of_panel(ranks, block, metric) for metric in PANELS]
    bars = [joined(panel["mean_rank"].dropna(), panel["critical_difference"].iloc[0]) for panel in panels]
    lines = -(-len(block.rows) // 2)
    heights = [_HEAD + _LINE * lines + _BAR * (len(found) + 1) for found in bars]
    with figure_style():
        figure = new_figure(sum(heights) + 0.95, hspace=0.02)
        axes = figure.subplots(len(PANELS), 1, gridspec_kw={"height_ratios": heights})
        for axis, metric, panel, found, height in zip(axes, PANELS, panels, bars, heights, strict=True):
            _draw_panel(axis, panel, block.rows, found, height=height, metric=metric)
        alpha = panels[0]["alpha"].iloc[0]
        notes = [
            "Mean ranks: 1 is the best, ties share the mean of their ranks. F: Friedman's test in the form of Iman and "
            "Davenport.",
            "A bar joins rows whose mean ranks differ by less than the critical difference (CD) of Nemenyi's test at "
            f"level {alpha:g}.",
        ]
        if min(panel["n"].min() for panel in panels) <= _FEW:
            notes.append("All of these tests are approximations for many units, and here there are few.")
        if (panels[0]["unit"] == "fold").any():
            notes.append("Folds share training images: over them p is too small and the critical difference too short.")
        add_notes(figure, notes)
        figure.suptitle(title)
    return figure


def joined(mean_ranks: Iterable[float], critical_difference: float) -> list[tuple[float, float]]:
    """Find the largest groups of rows of which no two differ by the critical difference: their first and last rank."""
    ordered = sorted(mean_ranks)
    groups: list[tuple[float, float]] = []
    reached = -1
    for first, low in enumerate(ordered):
        last = max([first, *(place for place, high in enumerate(ordered) if high - low < critical_difference)])
        if last > max(first, reached):
            groups.append((low, ordered[last]))
        reached = max(reached, last)
    return groups


def _of_panel(ranks: pd.DataFrame, block: Block, metric: str) -> pd.DataFrame:
    """Select what the ranks have of a block and a metric, in the order of the block's rows."""
    mine = ranks[(ranks["block"] == block.name) & (ranks["metric"] == metric)]
    keyed = mine.set_axis([row_key(*row) for row in mine[["scenario", "method", "variant"]].itertuples(index=False)])
    keys = [row.key for row in block.rows]
    if sorted(keyed.index) != sorted(keys):
        raise ValueError(f"block {block.name}, {metric}: the ranks are not those of its rows. Rank the study again")
    return keyed.loc[keys]


def _draw_panel(
    axis: Axes, panel: pd.DataFrame, rows: list[Row], bars: list[tuple[float, float]], *, height: float, metric: str
) -> None:
    """Draw in inches downwards from the axis of ranks; ranks are placed on it by ``_place``."""
    first = panel.iloc[0]
    # Two ranks make an axis, also of fewer rows.
    k = max(int(first["k"]), 2)
    tests = _tests(panel)
    rows = [row for row, ranked in zip(rows, panel["mean_rank"].notna(), strict=True) if ranked]
    panel = panel.dropna(subset=["mean_rank"])
    labels = [f"{row.label}  {rank:.2f}" for row, rank in zip(rows, panel["mean_rank"], strict=True)]
    margin = min(0.2 + _LETTER * max(map(len, labels), default=0), 2.2)
    low, high = margin + 0.1, TEXT_WIDTH - margin - 0.1
    axis.set(xlim=(0, TEXT_WIDTH), ylim=(height - _HEAD, -_HEAD))
    axis.set_axis_off()

    def place(rank: float) -> float:
        return low + (rank - 1) / (k - 1) * (high - low)

    axis.text(0, -_HEAD, metric_label(metric), va="top", weight="bold", size=8)
    axis.text(TEXT_WIDTH, -_HEAD, tests, va="top", ha="right", size=SMALL + 0.5)
    axis.plot([low, high], [0, 0], color=_INK, linewidth=0.8)
    for rank in range(1, k + 1, -(-k // _MOST_TICKS)):
        axis.plot([place(rank)] * 2, [-0.05, 0], color=_INK, linewidth=0.8)
        axis.text(place(rank), -0.07, str(rank), va="bottom", ha="center", size=SMALL)
    _draw_difference(axis, place(1), place(min(1 + first["critical_difference"], k)), first, k)
    for level, (best, worst) in enumerate(bars, start=1):
        ends = [place(best) - 0.04, place(worst) + 0.04]
        axis.plot(ends, [level * _BAR] * 2, color="black", linewidth=2.2, solid_capstyle="butt", gid="bar")
    order = sorted(range(len(panel)), key=panel["mean_rank"].iloc.__getitem__)
    left = len(order) - len(order) // 2
    below = _BAR * (len(bars) + 1)
    for position, index in enumerate(order):
        at_left = position < left
        depth = below + _LINE * ((position if at_left else len(order) - 1 - position) + 0.5)
        edge = margin if at_left else TEXT_WIDTH - margin
        x = place(panel["mean_rank"].iloc[index])
        axis.plot([x, x, edge], [0, depth, depth], color="0.55", linewidth=0.6, zorder=1)
        colour, marker = method_look(rows[index].method)
        size = 6 if marker == "*" else 4
        axis.plot(edge, depth, color=colour, marker=marker, markersize=size, markeredgecolor=_INK, markeredgewidth=0.4)
        gap, side = (-0.07, "right") if at_left else (0.07, "left")
        axis.text(edge + gap, depth, labels[index], va="center_baseline", ha=side, size=SMALL)


def _draw_difference(axis: Axes, start: float, end: float, first: pd.Series, k: int) -> None:
    """Draw how long the critical difference is, above the axis; one that is longer than this has no right end."""
    difference = first["critical_difference"]
    if math.isnan(difference):
        return
    y, longer = -0.28, difference > k - 1
    axis.plot([start, end], [y, y], color="black", linewidth=1.2)
    for x in [start] if longer else [start, end]:
        axis.plot([x, x], [y - 0.03, y + 0.03], color="black", linewidth=1.2)
    text = f"CD = {difference:.2f}{', longer than the axis' if longer else ''}"
    axis.text(start, y - 0.04, text, va="bottom", ha="left", size=SMALL)


def _tests(panel: pd.DataFrame) -> str:
    first = panel.iloc[0]
    singular, plural = _UNITS[first["unit"]]
    n, expected = first["n"], first["n_expected"]
    count = f"n = {n}" if n == expected else f"n = {n} of {expected}"
    text = f"{count} {singular if expected == 1 else plural}"
    if first["k"] < len(panel):
        text += f", {first['k']} of {len(panel)} rows"
    if math.isnan(first["chi2"]):
        return text
    f = f"{first['f']:.2f}" if math.isfinite(first["f"]) else "\N{INFINITY}"
    friedman = f"Friedman \N{GREEK SMALL LETTER CHI}\N{SUPERSCRIPT TWO} = {first['chi2']:.2f}"
    return f"{text}; {friedman}, {p_equation(first['p_friedman'])}; F = {f}, {p_equation(first['p_iman_davenport'])}"
