"""Weights over the epochs by class and difficulty, a panel a method."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.design.comparisons import Block, Row
from fossil.reporting.entries import FigureEntry
from fossil.reporting.figures._runs import (
    COUNTS,
    BlockOptions,
    counted,
    expected_runs,
    run_curves,
    seed_count,
    weighs_within_loss,
)
from fossil.reporting.style import figure_style, legend_line, max_ticks, new_figure

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from fossil.reporting.experiment import Experiment

CLASSES = {"0": "Majority", "1": "Minority"}
THIRDS = {"1": "easiest third", "2": "middle third", "3": "hardest third"}

_STYLES = {"0": (0, (3, 1.2)), "1": "-"}
_MARKERS = {"1": "o", "2": "s", "3": "^"}
_COLOURS = {
    "0": {"1": "#8FD0C0", "2": "#2A9D8F", "3": "#0B4F48"},
    "1": {"1": "#F3AFC6", "2": "#D6437D", "3": "#7A1043"},
}
_COLUMNS = 4


OPTIONS = BlockOptions


def figures(experiment: Experiment) -> Iterator[FigureEntry]:
    """Describe the figure of the first synthetic study."""
    for block in experiment.study("synthetic-results")[:1]:
        title = f"Weights by class and difficulty, synthetic data, {experiment.scenario}"
        yield FigureEntry(
            name="weight-trajectories",
            study="synthetic-results",
            source="histories",
            section="Synthetic study",
            place=61,
            title=title,
            caption="Mean weight by epoch, class and third of difficulty.",
            options=BlockOptions(block=block, title=title),
        )


def draw(history: pd.DataFrame, options: BlockOptions) -> Figure:
    """Draw the mean weight of each class, by thirds of the class's difficulty where the method looks at difficulty.

    Rows whose weights are 1 throughout have no panel, those without runs an empty one. Runs whose validation loss is
    not finite throughout are left out; a label says how many of how many there are where some lack. A mean of 0 has no
    place on the logarithmic axis.
    """
    block = options.block
    expected = expected_runs(history, block)
    lines = {row.key: weight_lines(history, row, block) for row in block.rows}
    counts = {row.key: min(map(len, lines[row.key].values())) for row in block.rows}
    labels = {row.key: counted(row.label, counts[row.key], expected) for row in block.rows}
    shown = [row for row in block.rows if not _all_one(lines[row.key])]
    columns = min(_COLUMNS, len(shown) + 1)
    height = max(1, -(-len(shown) // columns))
    with figure_style():
        figure = new_figure(0.6 + 1.95 * height, wspace=0.03, hspace=0.06)
        axes = list(figure.subplots(height, columns, sharex=True, sharey=True, squeeze=False).flat)
        for place, (axis, row) in enumerate(zip(axes, shown, strict=False)):
            _draw_panel(axis, lines[row.key])
            axis.set(title=labels[row.key], xlabel="Epoch")
            axis.set_ylabel("" if place % columns else "Mean weight")
        _finish(axes[0])
        ones = {labels[row.key]: row.method for row in block.rows if row not in shown}
        text = _key(ones, list(counts.values()), expected=expected)
        names = dict.fromkeys(name for row in shown for name in lines[row.key])
        _draw_key(figure, axes[len(shown) :], names=list(names), text=text)
        figure.suptitle(options.title)
    return figure


def weight_lines(history: pd.DataFrame, row: Row, block: Block) -> dict[str, NDArray[np.float64]]:
    """Find the mean weights of a row as arrays of shape (runs, epochs), by column of the table.

    The columns are those of class and difficulty, or those of class alone where the former are absent or empty.
    """
    import numpy as np

    fine = [f"weight_class{label}_difficulty{third}" for label in CLASSES for third in THIRDS]
    coarse = [f"weight_mean_class{label}" for label in CLASSES]
    if set(fine) <= set(history):
        found = run_curves(history, row, block, columns=fine)
        if not any(np.isnan(line).all() for line in found):
            return dict(zip(fine, found, strict=True))
    return dict(zip(coarse, run_curves(history, row, block, columns=coarse), strict=True))


def _all_one(lines: dict[str, NDArray[np.float64]]) -> bool:
    import numpy as np

    return all(line.size and np.allclose(line, 1) for line in lines.values())


def _look(name: str) -> dict[str, object]:
    """Look of a column's line: colour and line style by class, shade and marker by difficulty.

    Broken lines lie on whole ones, so that both show where they coincide.
    """
    label, _, third = name.partition("class")[2].partition("_difficulty")
    return {
        "color": _COLOURS[label][third or "2"],
        "linestyle": _STYLES[label],
        "marker": _MARKERS[third] if third else None,
        "markersize": 3.5,
        "markeredgewidth": 0,
        "zorder": 3 - int(label),
    }


def _draw_panel(axis: Axes, lines: dict[str, NDArray[np.float64]]) -> None:
    """Draw the means over the runs, if there are any."""
    axis.tick_params(labelbottom=True)
    for name, line in lines.items():
        if not len(line):
            continue
        every = max(1, line.shape[-1] // 5)
        first = list(THIRDS).index(name[-1]) * every // len(THIRDS) if "difficulty" in name else 0
        mean = line.mean(0)
        axis.plot([one if one > 0 else math.nan for one in mean], gid=name, markevery=(first, every), **_look(name))


def _finish(axis: Axes) -> None:
    """Set the scales that all panels share."""
    from matplotlib.ticker import LogLocator, NullLocator

    axis.set_yscale("log")
    low, high = axis.get_ylim()
    axis.yaxis.set_major_locator(LogLocator(numticks=6, subs=(1,) if high > 1000 * low else (1, 2, 5)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_locator(NullLocator())
    max_ticks(axis.xaxis, 4, integer=True)


def _draw_key(figure: Figure, spare: list[Axes], *, names: list[str], text: str) -> None:
    """Put the legend into the last panel without a row, or else below all."""
    for axis in spare:
        axis.axis("off")
    handles = [legend_line(_label(name), **_look(name)) for name in sorted(names, key=len, reverse=True)]
    if spare:
        spare[-1].legend(handles=handles, loc="center", title=text, borderpad=0, borderaxespad=0)
    else:
        figure.legend(handles=handles, loc="outside lower center", ncols=3, title=text)


def _label(name: str) -> str:
    label, _, third = name.partition("class")[2].partition("_difficulty")
    return f"{CLASSES[label]}, {THIRDS[third] if third else 'all'}"


def _key(ones: dict[str, str], counts: list[int], *, expected: int) -> str:
    """Say what the lines are, and which labels (each with its method) have no panel."""
    within = " (which weighs within its loss)"
    names = [label + within if weighs_within_loss(method) else label for label, method in ones.items()]
    note = [textwrap.fill(f"Weights all 1: {', '.join(names)}", 30)] if ones else []
    return "\n".join([f"Mean of {seed_count(counts)}", *note, *([COUNTS] if min(counts) < expected else [])])
