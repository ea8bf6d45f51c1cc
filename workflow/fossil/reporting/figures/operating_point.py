"""The image study's operating points: recall against specificity at two thresholds, calibration at two temperatures."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.config.datasets import DATASETS
from fossil.config.strict import Fraction
from fossil.design.comparisons import Row
from fossil.reporting.entries import FigureEntry
from fossil.reporting.figures._runs import (
    COUNTS,
    ImageOptions,
    counted,
    expected_runs,
    mark_notes,
    marked_label,
    ok_runs,
    one_row_per_method,
    runs_of,
)
from fossil.reporting.style import (
    figure_style,
    figure_title,
    legend_line,
    max_ticks,
    method_look,
    metric_label,
    new_figure,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from numpy.typing import NDArray

    from fossil.reporting.experiment import Experiment

AXES = ("specificity", "recall")
ERROR = "expected_calibration_error"

_DRAWN = [*AXES, *(f"{name}_chosen" for name in AXES), ERROR, f"{ERROR}_scaled"]
_KEY = "On the test images. Small: one run (a fold and a seed). Large: mean of a method's runs."
_COLUMNS = 3
_LETTERS = 20
_APART = 0.17


class OperatingPointOptions(ImageOptions):
    """The rows to draw, the title, and the wanted recall."""

    recall: Fraction


OPTIONS = OperatingPointOptions


def figures(experiment: Experiment) -> Iterator[FigureEntry]:
    """Describe the figure of the image study."""
    title = "operating points"
    yield FigureEntry(
        name="operating-point",
        study=experiment.operating_points,
        source="metrics",
        section="Image study",
        place=40,
        title=f"{DATASETS[experiment.config.image_dataset]}: {title}",
        caption="Recall and specificity of each run at the threshold one half and at the one chosen on validation "
        "images, and calibration error before and after temperature scaling.",
        options=OperatingPointOptions(
            block=one_row_per_method(experiment.study(experiment.internal)[0]),
            recall=experiment.config.images.operating_recall,
            title=title,
        ),
    )


def draw(metrics: pd.DataFrame, options: OperatingPointOptions) -> Figure:
    """Draw recall against specificity at .5 and at the chosen threshold, and calibration error before and after T.

    Recall and specificity have a small panel a row. Hollow marks are the runs as they are, filled ones those with what
    was chosen on their validation images; small marks are runs, large ones means, each pair joined by a line. Only runs
    whose status is "ok" are drawn; a label counts them where some lack.
    """
    block = options.block
    metrics_of_block = runs_of(metrics, block)
    runs_by_row = [ok_runs(metrics_of_block, row, columns=_DRAWN) for row in block.rows]
    with figure_style():
        figure, small, right = _panels(block.rows)
        for place, (axis, row, runs) in enumerate(zip(small, block.rows, runs_by_row, strict=True)):
            _draw_decisions(axis, runs, row)
            axis.axhline(options.recall, color="black", linestyle="--", linewidth=0.8, zorder=1.5)
            _draw_calibration(right, runs, row, place)
        right.set_xlim(left=0)
        counts = [len(runs) for runs in runs_by_row]
        notes = _annotate(right, block.rows, counts, expected_runs(metrics, block))
        handles = _handles(options.recall)
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), title="\n".join(notes))
        figure.suptitle(figure_title(options.title, block.rows[0].scenario))
    return figure


def _panels(rows: list[Row]) -> tuple[Figure, list[Axes], Axes]:
    """Lay out a small panel for each row and, to their right, one with a line for each."""
    lines = -(-len(rows) // _COLUMNS)
    columns = -(-len(rows) // lines)
    figure = new_figure(max(1.3 * lines, 0.36 * len(rows)) + 1.25)
    grid = figure.add_gridspec(lines, columns + 1, width_ratios=[*[1] * columns, 0.5 + 0.55 * columns])
    small: list[Axes] = []
    for place, row in enumerate(rows):
        line, column = divmod(place, columns)
        axis = figure.add_subplot(grid[line, column])
        lowest = place + columns >= len(rows)
        axis.set(xlim=(-0.06, 1.06), ylim=(-0.06, 1.06), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
        axis.set_title(textwrap.fill(row.label, _LETTERS), fontsize=7)
        axis.tick_params(labelbottom=lowest, labelleft=column == 0)
        axis.set_xlabel(metric_label("specificity") if lowest else "")
        axis.set_ylabel(metric_label("recall") if column == 0 else "")
        small.append(axis)
    return figure, small, figure.add_subplot(grid[:, -1])


def _annotate(right: Axes, rows: list[Row], counts: list[int], expected: int) -> list[str]:
    """Write the labels of the right panel, and return the notes that the labels need."""
    labels = [counted(marked_label(row.method, row.label), n, expected) for row, n in zip(rows, counts, strict=True)]
    right.set_yticks(range(len(rows)), [textwrap.fill(label, _LETTERS) for label in labels])
    right.set_ylim(len(rows) - 0.5, -0.5)
    right.set_xlabel(metric_label(ERROR))
    max_ticks(right.xaxis, 4, steps=[1, 2, 5, 10])
    right.grid(visible=False, axis="y")
    right.tick_params(axis="y", length=0)
    lacking = [COUNTS] if min(counts) < expected else []
    return [_KEY, *mark_notes(rows, reason="which chooses its threshold and temperature too"), *lacking]


def _draw_decisions(axis: Axes, runs: pd.DataFrame, row: Row) -> None:
    before, after = (runs[[f"{name}{ending}" for name in AXES]].to_numpy() for ending in ("", "_chosen"))
    _draw_pairs(axis, before, after, row)


def _draw_calibration(axis: Axes, runs: pd.DataFrame, row: Row, place: int) -> None:
    import numpy as np

    before, after = (
        np.column_stack([runs[f"{ERROR}{ending}"], np.full(len(runs), height)])
        for ending, height in (("", place - _APART), ("_scaled", place + _APART))
    )
    _draw_pairs(axis, before, after, row)


def _draw_pairs(axis: Axes, before: NDArray[np.float64], after: NDArray[np.float64], row: Row) -> None:
    """Draw each run before (hollow) and after (filled), and their means; before and after : shape (runs, 2)."""
    import numpy as np
    from matplotlib.collections import LineCollection

    if not len(before):
        return
    colour, marker = method_look(row.method)
    scale = 1.7 if marker == "*" else 1.0
    axis.add_collection(LineCollection(np.stack([before, after], axis=1), colors=colour, alpha=0.25, linewidths=0.5))
    for points, filled in ((before, False), (after, True)):
        few = axis.scatter(*points.T, s=9 * scale, marker=marker, alpha=0.45, linewidth=0.5, zorder=2)
        few.set(facecolor=colour if filled else "none", edgecolor=colour, gid=row.key)
    means = before.mean(0), after.mean(0)
    axis.plot(*np.transpose(means), color="black", linewidth=0.8, zorder=3)
    for (x, y), filled in zip(means, (False, True), strict=True):
        large = axis.scatter([x], [y], s=45 * scale, marker=marker, linewidth=0.9, zorder=4)
        large.set(facecolor=colour if filled else "white", edgecolor="black")


def _handles(recall: float) -> list[Line2D]:
    grey = {"color": "0.5", "marker": "o", "linestyle": "none"}
    return [
        legend_line("as trained (threshold .5)", fillstyle="none", markersize=5, **grey),
        legend_line("with what validation images choose", markersize=5, **grey),
        legend_line(f"wanted recall ({recall:g})", color="black", linestyle="--", linewidth=0.8),
    ]
