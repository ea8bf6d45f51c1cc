"""The synthetic study's metrics against the imbalance ratio, a line a method."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from pydantic import PositiveFloat, model_validator

from fossil.design.comparisons import Block
from fossil.reporting.entries import FigureEntry
from fossil.reporting.figures._runs import (
    COUNTS,
    BlocksOptions,
    counted,
    expected_runs,
    line_labels,
    mark_notes,
    marked_label,
    metric_values,
    seed_count,
)
from fossil.reporting.style import (
    add_notes,
    arrow_notes,
    figure_style,
    max_ticks,
    method_handle,
    method_look,
    metric_title,
    new_figure,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fossil.reporting.experiment import Experiment

PANELS = ("auc", "balanced_accuracy", "recall", "g_mean", "dynamic_regret")

# Share of the distance between two ratios over which the methods stand side by side.
_SPREAD = 0.72


class RatioOptions(BlocksOptions):
    """A block for each imbalance ratio, these ratios, and the title above."""

    ratios: list[PositiveFloat]

    @model_validator(mode="after")
    def _a_block_for_each_ratio(self) -> Self:
        if len(self.blocks) != len(self.ratios):
            raise ValueError(f"{len(self.blocks)} blocks, but {len(self.ratios)} ratios")
        return self


OPTIONS = RatioOptions


def figures(experiment: Experiment) -> Iterator[FigureEntry]:
    """Describe the figure of all synthetic scenarios."""
    if blocks := experiment.study("synthetic-main"):
        scenarios = experiment.config.synthetic.scenarios
        title = "Synthetic data by imbalance ratio"
        ratios = [scenarios[block.rows[0].scenario].imbalance_ratio for block in blocks]
        yield FigureEntry(
            name="imbalance-ratios",
            study="synthetic-main",
            source="metrics",
            section="Synthetic study",
            place=21,
            title=title,
            caption="Five metrics of each method by imbalance ratio, means over seeds.",
            options=RatioOptions(blocks=blocks, ratios=ratios, title=title),
        )


def draw(metrics: pd.DataFrame, options: RatioOptions) -> Figure:
    """Draw AUC, balanced accuracy, recall, G-mean and dynamic regret: mean over the runs and standard deviation.

    At each ratio the methods stand side by side. Only runs whose status is "ok" count; the legend says how many of how
    many there are where some lack. Methods that learn on the validation split are marked.
    """
    labels = line_labels(options.blocks)
    with figure_style():
        figure = new_figure(5.1, wspace=0.06, hspace=0.06)
        *axes, key = figure.subplots(2, 3).flat
        for axis, metric in zip(axes, PANELS, strict=True):
            found = _values(metrics, options.blocks, metric=metric)
            for place, line in enumerate(labels):
                values = [of_block.get(line) for of_block in found]
                _draw_line(axis, values, line=line, shift=_shift(place, len(labels)))
            _finish(axis, options.ratios)
            axis.set_title(metric_title(metric))
        add_notes(figure, _draw_key(key, metrics, options.blocks, labels=labels))
        figure.suptitle(options.title)
    return figure


def _values(metrics: pd.DataFrame, blocks: list[Block], *, metric: str) -> list[dict[tuple[str, str], pd.Series]]:
    """Find what each block has of a metric, by method and variant."""
    found = [metric_values(metrics, block, metric=metric) for block in blocks]
    return [
        {(row.method, row.variant): values[row.key] for row in block.rows}
        for block, values in zip(blocks, found, strict=True)
    ]


def _shift(place: int, of: int) -> float:
    return _SPREAD * ((place + 0.5) / of - 0.5)


def _draw_line(axis: Axes, values: list[pd.Series | None], *, line: tuple[str, str], shift: float) -> None:
    colour, marker = method_look(line[0])
    artist = axis.errorbar(
        [place + shift for place in range(len(values))],
        [math.nan if value is None else value.mean() for value in values],
        yerr=[math.nan if value is None else value.std() for value in values],
        color=colour,
        marker=marker,
        markersize=6 if marker == "*" else 4,
        markeredgecolor="0.25",
        markeredgewidth=0.3,
        linewidth=0.6,
        elinewidth=0.8,
        zorder=3,
    )
    artist.lines[0].set_gid("/".join(line))


def _finish(axis: Axes, ratios: list[float]) -> None:
    places = range(len(ratios))
    axis.set_xticks(places, [f"{ratio:g}:1" for ratio in ratios])
    axis.set_xlim(-0.5, len(ratios) - 0.5)
    axis.tick_params(axis="x", length=0)
    axis.grid(visible=False, axis="x")
    for place in places[1::2]:
        axis.axvspan(place - 0.5, place + 0.5, color="0.96", linewidth=0, zorder=0)
    max_ticks(axis.yaxis, 5)
    axis.set_xlabel("Nominal imbalance ratio")


def _draw_key(
    axis: Axes, metrics: pd.DataFrame, blocks: list[Block], *, labels: dict[tuple[str, str], str]
) -> list[str]:
    """Draw the legend; returns what else a reader must know."""
    axis.axis("off")
    expected = sum(expected_runs(metrics, block) for block in blocks)
    found = _values(metrics, blocks, metric=PANELS[0])
    counts = {line: [len(of_block.get(line, ())) for of_block in found] for line in labels}
    handles = [
        method_handle(line[0], counted(marked_label(line[0], label), sum(counts[line]), expected))
        for line, label in labels.items()
    ]
    axis.legend(handles=handles, loc="center", borderpad=0, borderaxespad=0)
    seeds = seed_count(count for of_line in counts.values() for count in of_line)
    return [
        f"Mean of {seeds}, bar: standard deviation",
        "; ".join(arrow_notes(PANELS)),
        *mark_notes(row for block in blocks for row in block.rows),
        *([COUNTS] if min(map(sum, counts.values())) < expected else []),
    ]
