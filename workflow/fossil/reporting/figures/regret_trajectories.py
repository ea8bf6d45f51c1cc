"""Regret over the epochs: validation loss, dynamic regret and its running mean, a line a method."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from fossil.config import METHODS, Block, Row, Strict
from fossil.evaluation.regret import dynamic_regret_terms
from fossil.reporting.figures._runs import COUNTS, counted, expected_runs, run_curves
from fossil.reporting.style import TEXT_WIDTH, figure_style, mark_line, method_handle, method_look

PANELS = {
    "validation_loss": ("a  Validation loss $f_t$", "Cross-entropy"),
    "dynamic_regret": ("b  Dynamic regret", "$f_t - \\min_{s \\leq t}\\, f_s$"),
    "running_mean": ("c  Running mean of b", "Mean regret up to $t$"),
}

_LEGEND_COLUMNS = 3
_KEY = "Line: mean of the seeds. Band: their quartiles. The area under c is the area under the regret curve."
_DAGGER = "\N{DOUBLE DAGGER}"
_LEARNS = f"{_DAGGER} learns its weights on the validation split, which flatters its $f_t$."


class Options(Strict):
    """The rows to draw, and what stands above."""

    block: Block
    title: str


def draw(history: pd.DataFrame, options: Options) -> Figure:
    """Draw three panels from the epochs of the runs: f_t, f_t - min_{s <= t} f_s and the running mean of that.

    Runs whose validation loss is not finite throughout are left out; the legend says how many of how many there are
    where some lack. Methods that learn on the validation split are marked.
    """
    block = options.block
    expected = expected_runs(history, block)
    runs = [run_curves(history, row, block, columns=["validation_loss"])[0] for row in block.rows]
    with figure_style():
        legend_rows = -(-len(block.rows) // _LEGEND_COLUMNS)
        figure = Figure(figsize=(TEXT_WIDTH, 3.1 + 0.18 * legend_rows), layout="constrained")
        figure.get_layout_engine().set(wspace=0.06)
        axes = dict(zip(PANELS, figure.subplots(1, len(PANELS)), strict=True))
        for place, (row, losses) in enumerate(zip(block.rows, runs, strict=True)):
            for panel, curves in _curves(losses).items():
                _draw_curves(axes[panel], curves, row=row, place=place, of=len(block.rows))
        for panel, (title, label) in PANELS.items():
            axes[panel].set(title=title, xlabel="Epoch $t$", ylabel=label)
            axes[panel].xaxis.set_major_locator(MaxNLocator(5, integer=True))
            axes[panel].yaxis.set_major_locator(MaxNLocator(5))
        handles = [
            method_handle(row.method, counted(_label(row), len(losses), expected))
            for row, losses in zip(block.rows, runs, strict=True)
        ]
        key = _key(block, lacking=any(len(losses) < expected for losses in runs))
        figure.legend(handles=handles, loc="outside lower center", ncols=_LEGEND_COLUMNS, title=key)
        figure.suptitle(options.title)
    return figure


def _curves(losses: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    regret = dynamic_regret_terms(losses) if losses.size else losses
    running = regret.cumsum(axis=-1) / np.arange(1, losses.shape[-1] + 1)
    return {"validation_loss": losses, "dynamic_regret": regret, "running_mean": running}


def _draw_curves(axis: Axes, curves: NDArray[np.float64], *, row: Row, place: int, of: int) -> None:
    if not len(curves):
        return
    epochs = np.arange(curves.shape[-1])
    low, high = np.quantile(curves, (0.25, 0.75), axis=0)
    axis.fill_between(epochs, low, high, color=method_look(row.method)[0], alpha=0.1, linewidth=0, zorder=1)
    (line,) = axis.plot(epochs, curves.mean(0), gid=row.key)
    mark_line(line, row.method, place=place, of=of)


def _learns_on_validation(row: Row) -> bool:
    return row.method in METHODS and METHODS[row.method].learns_on_validation


def _label(row: Row) -> str:
    return f"{row.label} {_DAGGER}" if _learns_on_validation(row) else row.label


def _key(block: Block, *, lacking: bool) -> str:
    marked = any(map(_learns_on_validation, block.rows))
    return "\n".join([_KEY, *([_LEARNS] if marked else []), *([COUNTS] if lacking else [])])
