"""Effective sample size over the epochs, a panel an imbalance ratio, a line a method."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.design.comparisons import Block
from fossil.reporting.entries import FigureEntry
from fossil.reporting.figures._runs import (
    COUNTS,
    BlocksOptions,
    counted,
    expected_runs,
    line_labels,
    run_curves,
    seed_count,
    weighs_within_loss,
)
from fossil.reporting.style import figure_style, mark_line, max_ticks, method_handle, new_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fossil.reporting.experiment import Experiment

_LEGEND_COLUMNS = 3
_KISH = "$N$ samples train, of which the weights leave $N_{\\mathrm{eff}}$ effective (Kish)."
_WITHIN = "Not in $N_{\\mathrm{eff}}$: weighing within the loss"


OPTIONS = BlocksOptions


def figures(experiment: Experiment) -> Iterator[FigureEntry]:
    """Describe the figure of all synthetic scenarios."""
    if blocks := experiment.study("synthetic-main"):
        title = "Effective sample size in training, synthetic data"
        yield FigureEntry(
            name="effective-sample-size",
            study="synthetic-main",
            source="histories",
            section="Synthetic study",
            place=62,
            title=title,
            caption="Share of the training samples that is effective, by epoch and imbalance ratio.",
            options=BlocksOptions(blocks=blocks, title=title),
        )


def draw(history: pd.DataFrame, options: BlocksOptions) -> Figure:
    """Draw N_eff / N by epoch, the mean of the runs.

    Runs whose validation loss is not finite throughout are left out; the legend says how many of how many there are,
    over all panels, where some lack. Methods that weigh within their loss are named below.
    """
    labels = line_labels(options.blocks)
    counts: dict[tuple[str, str], list[int]] = {line: [] for line in labels}
    with figure_style():
        legend_rows = -(-len(labels) // _LEGEND_COLUMNS)
        figure = new_figure(2.95 + 0.18 * legend_rows, wspace=0.04)
        axes = figure.subplots(1, len(options.blocks), sharey=True, squeeze=False)[0]
        for axis, block in zip(axes, options.blocks, strict=True):
            for line, count in _draw_panel(axis, history, block, lines=list(labels)).items():
                counts[line].append(count)
        axes[0].set_ylabel("$N_{\\mathrm{eff}}\\,/\\,N$")
        expected = sum(expected_runs(history, block) for block in options.blocks)
        handles = [
            method_handle(line[0], counted(label, sum(counts[line]), expected)) for line, label in labels.items()
        ]
        key = _key(labels, counts, lacking=min(map(sum, counts.values())) < expected)
        figure.legend(handles=handles, loc="outside lower center", ncols=_LEGEND_COLUMNS, title=key)
        figure.suptitle(options.title)
    return figure


def _draw_panel(
    axis: Axes, history: pd.DataFrame, block: Block, *, lines: list[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    counts = {}
    for row in block.rows:
        (shares,) = run_curves(history, row, block, columns=["n_eff_share"])
        counts[row.method, row.variant] = len(shares)
        if len(shares):
            (line,) = axis.plot(shares.mean(0), gid=row.key)
            mark_line(line, row.method, place=lines.index((row.method, row.variant)), of=len(lines))
    axis.set(title=block.title, xlabel="Epoch")
    axis.set_ylim(0, 1.06)
    max_ticks(axis.xaxis, 5, integer=True)
    return counts


def _key(labels: dict[tuple[str, str], str], counts: dict[tuple[str, str], list[int]], *, lacking: bool) -> str:
    seeds = seed_count(count for of_line in counts.values() for count in of_line)
    within = [label for (method, _), label in labels.items() if weighs_within_loss(method)]
    notes = [f"{_WITHIN} ({', '.join(within)})."] if within else []
    return "\n".join([f"Mean of {seeds}; {_KISH}", *notes, *([COUNTS] if lacking else [])])
