"""Regret over the epochs: validation loss, dynamic regret and its running mean, a line a method."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.design.comparisons import Block, Row
from fossil.reporting.entries import FigureEntry
from fossil.reporting.figures._runs import (
    COUNTS,
    BlockOptions,
    counted,
    expected_runs,
    mark_notes,
    marked_label,
    run_curves,
    seed_count,
)
from fossil.reporting.style import figure_style, mark_line, max_ticks, method_handle, method_look, new_figure

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from fossil.reporting.experiment import Experiment

PANELS = {
    "validation_loss": ("a  Validation loss $f_t$", "Cross-entropy"),
    "dynamic_regret": ("b  Dynamic regret", "$f_t - \\min_{s \\leq t}\\, f_s$"),
    "running_mean": ("c  Running mean of b", "Mean regret up to $t$"),
}

_LEGEND_COLUMNS = 3
_WITH_BANDS = frozenset({"validation_loss", "running_mean"})
_AREA = "The area under c, with the epochs scaled to [0, 1], is the area under the regret curve."


OPTIONS = BlockOptions


def figures(experiment: Experiment) -> Iterator[FigureEntry]:
    """Describe the figure of the first synthetic study."""
    for block in experiment.study("synthetic-results")[:1]:
        title = f"Validation loss and regret, synthetic data, {experiment.scenario}"
        yield FigureEntry(
            name="regret-trajectories",
            study="synthetic-results",
            source="histories",
            section="Synthetic study",
            place=60,
            title=title,
            caption="Validation loss by epoch, its distance to the best so far, and the running mean of that distance.",
            options=BlockOptions(block=block, title=title),
        )


def draw(history: pd.DataFrame, options: BlockOptions) -> Figure:
    """Draw three panels from the epochs of the runs: f_t, f_t - min_{s <= t} f_s and the running mean of that.

    Runs whose validation loss is not finite throughout are left out; the legend says how many of how many there are
    where some lack. Methods that learn on the validation split are marked. Bands would hide the lines of b.
    """
    block = options.block
    expected = expected_runs(history, block)
    runs = [run_curves(history, row, block, columns=["validation_loss"])[0] for row in block.rows]
    with figure_style():
        legend_rows = -(-len(block.rows) // _LEGEND_COLUMNS)
        figure = new_figure(3.3 + 0.18 * legend_rows, wspace=0.06)
        axes = dict(zip(PANELS, figure.subplots(1, len(PANELS)), strict=True))
        for place, (row, losses) in enumerate(zip(block.rows, runs, strict=True)):
            for panel, curves in _curves(losses).items():
                if len(curves):
                    _draw_line(axes[panel], curves, row=row, place=place, of=len(block.rows))
                if len(curves) and panel in _WITH_BANDS:
                    _draw_band(axes[panel], curves, row=row)
        for panel, (title, label) in PANELS.items():
            axes[panel].set(title=title, xlabel="Epoch $t$", ylabel=label)
            max_ticks(axes[panel].xaxis, 5, integer=True)
            max_ticks(axes[panel].yaxis, 5)
        handles = [
            method_handle(row.method, counted(marked_label(row.method, row.label), len(losses), expected))
            for row, losses in zip(block.rows, runs, strict=True)
        ]
        key = _key(block, [len(losses) for losses in runs], expected=expected)
        figure.legend(handles=handles, loc="outside lower center", ncols=_LEGEND_COLUMNS, title=key)
        figure.suptitle(options.title)
    return figure


def _curves(losses: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    import numpy as np

    from fossil.evaluation.regret import dynamic_regret_terms

    regret = dynamic_regret_terms(losses) if losses.size else losses
    running = regret.cumsum(axis=-1) / np.arange(1, losses.shape[-1] + 1)
    return {"validation_loss": losses, "dynamic_regret": regret, "running_mean": running}


def _draw_line(axis: Axes, curves: NDArray[np.float64], *, row: Row, place: int, of: int) -> None:
    (line,) = axis.plot(curves.mean(0), gid=row.key)
    mark_line(line, row.method, place=place, of=of)


def _draw_band(axis: Axes, curves: NDArray[np.float64], *, row: Row) -> None:
    import numpy as np

    low, high = np.quantile(curves, (0.25, 0.75), axis=0)
    look = {"color": method_look(row.method)[0], "alpha": 0.1, "linewidth": 0, "zorder": 1}
    axis.fill_between(range(curves.shape[-1]), low, high, **look)


def _key(block: Block, counts: list[int], *, expected: int) -> str:
    lines = f"Line: mean of {seed_count(counts)}. Band (a and c): their quartiles."
    return "\n".join([lines, _AREA, *mark_notes(block.rows), *([COUNTS] if min(counts) < expected else [])])
