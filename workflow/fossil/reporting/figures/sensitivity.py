"""A heat map of FOSSIL's options: what each ingredient earns against the reference."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from pydantic import model_validator

from fossil.config.strict import BASELINE
from fossil.design.comparisons import ANY, GRID_FACTORS, Row, row_key
from fossil.reporting.entries import FigureEntry
from fossil.reporting.figures._runs import COUNTS, BlockOptions, counted, expected_runs, metric_values, seed_count
from fossil.reporting.style import SMALL, figure_style, metric_label, new_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

    from fossil.reporting.experiment import Experiment

HEIGHT = GRID_FACTORS[0]
WIDTHS = dict(zip(GRID_FACTORS[1:], ("Class term", "Warm-up epochs", "Difficulty"), strict=True))
"""Factors of the columns, from the outermost to the innermost."""

_NAMES = {"inverse_prior": "$1\\,/\\,(K\\,p)$"}

# Distance in points between the lines of the head.
_HEAD = 15


class GridOptions(BlockOptions):
    """The grid's rows and its reference, the row that is configured, the metric in the cells, and the title above.

    The configured row need not be a cell.
    """

    configured: str
    metric: str

    @model_validator(mode="after")
    def _a_grid(self) -> Self:
        factors = set(GRID_FACTORS)
        for row in self.cells:
            if set(row.levels) != factors:
                raise ValueError(f"{row.key} has levels of {sorted(row.levels)}, but a cell has {sorted(factors)}")
            if ANY in [row.levels[factor] for factor in GRID_FACTORS][:-1]:
                raise ValueError(f"{row.key}: only the difficulty's source can be {ANY!r}")
        return self

    @property
    def cells(self) -> list[Row]:
        """Every row but the reference."""
        return [row for row in self.block.rows if row.key != self.block.reference]

    def levels(self, factor: str) -> list[str]:
        """Levels of a factor in the order of the rows."""
        found = dict.fromkeys(row.levels[factor] for row in self.cells)
        return [level for level in found if level != ANY] or list(found)


OPTIONS = GridOptions


def figures(experiment: Experiment) -> Iterator[FigureEntry]:
    """Describe the figure of the grid of FOSSIL's options."""
    for block in experiment.study("sensitivity")[:1]:
        title = f"FOSSIL's options, synthetic data, {experiment.scenario}"
        yield FigureEntry(
            name="sensitivity",
            study="sensitivity",
            source="metrics",
            section="Synthetic study",
            place=50,
            title=title,
            caption="Balanced accuracy of every combination of FOSSIL's options, mean over seeds, as a heat map.",
            options=GridOptions(
                block=block,
                configured=row_key(experiment.config.synthetic.headline, "fossil", BASELINE),
                metric="balanced_accuracy",
                title=title,
            ),
        )


def draw(metrics: pd.DataFrame, options: GridOptions) -> Figure:
    """Draw a cell for each row but the reference: the mean of its runs whose status is "ok", as a number.

    The colour is the mean difference to the reference over the seeds that both have. Where runs lack, the cell says how
    many of how many it has; a cell without such a difference is hatched.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    found = metric_values(metrics, options.block, metric=options.metric)
    differences = {row.key: (found[row.key] - found[options.block.reference]).mean() for row in options.cells}
    limit = max([1e-3, *(abs(value) for value in differences.values() if math.isfinite(value))])
    norm = Normalize(-limit, limit)
    colours = _colours(options.metric)
    expected = expected_runs(metrics, options.block)
    with figure_style():
        figure = new_figure(1.75 + 0.34 * len(options.levels(HEIGHT)))
        axis = figure.subplots()
        for row in options.cells:
            colour = colours(norm(differences[row.key])) if math.isfinite(differences[row.key]) else None
            _draw_cell(axis, found[row.key], _place(row, options), colour=colour, expected=expected)
        _finish(axis, options)
        _draw_bar(figure, axis, ScalarMappable(norm, colours), label=_bar_label(options, found, expected))
        figure.suptitle(options.title)
    return figure


def _colours(metric: str) -> Colormap:
    """Blue for better and red for worse, or violet for more and orange for less where neither is better."""
    import matplotlib

    from fossil.evaluation.metrics import METRICS

    if not METRICS[metric].marks_best:
        return matplotlib.colormaps["PuOr"]
    return matplotlib.colormaps["RdBu_r" if METRICS[metric].lower_is_better else "RdBu"]


def _place(row: Row, options: GridOptions) -> tuple[int, int, int]:
    """Column, line and width of a cell."""
    column, width = 0, 1
    for factor in WIDTHS:
        levels = options.levels(factor)
        column *= len(levels)
        if row.levels[factor] in levels:
            column += levels.index(row.levels[factor])
        else:
            width = len(levels)
    return column, options.levels(HEIGHT).index(row.levels[HEIGHT]), width


def _draw_cell(
    axis: Axes,
    values: pd.Series,
    place: tuple[int, int, int],
    *,
    colour: tuple[float, float, float, float] | None,
    expected: int,
) -> None:
    from matplotlib.patches import Rectangle

    column, line, width = place
    look = {"facecolor": colour} if colour else {"facecolor": "white", "hatch": "////"}
    axis.add_patch(Rectangle((column, line), width, 1, edgecolor="white" if colour else "0.8", linewidth=0.8, **look))
    if not len(values):
        return
    text = {"ha": "center", "va": "center", "fontsize": SMALL, "color": _ink(colour)}
    number, count = f"{values.mean():.3f}", f"{len(values)}/{expected}"
    axis.text(column + width / 2, line + 0.5, number if len(values) == expected else f"{number}\n{count}", **text)


def _ink(colour: tuple[float, float, float, float] | None) -> str:
    """Black or white, whichever stands out more (relative luminance, WCAG 2)."""
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (colour or (1, 1, 1))[:3]
    ]
    luminance = sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "black" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "white"


def _finish(axis: Axes, options: GridOptions) -> None:
    """Outline the configured cell, where there is one, and name the levels of all factors."""
    from matplotlib.patches import Rectangle

    for configured in (row for row in options.cells if row.key == options.configured):
        column, line, width = _place(configured, options)
        axis.add_patch(
            Rectangle((column, line), width, 1, fill=False, edgecolor="black", linewidth=1.8, zorder=3, clip_on=False)
        )
    rows = options.levels(HEIGHT)
    axis.set_yticks([place + 0.5 for place in range(len(rows))], [row.replace("_", " ") for row in rows])
    axis.set_ylabel("Temperature schedule")
    axis.set_xticks([])
    groups = 1
    for depth, (factor, name) in enumerate(WIDTHS.items(), start=1):
        groups *= len(options.levels(factor))
        _draw_head(axis, options, factor=factor, name=name, height=_HEAD * (len(WIDTHS) - depth + 0.6), groups=groups)
    axis.set(xlim=(0, groups), ylim=(len(rows), 0))
    axis.tick_params(length=0)
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)


def _draw_head(axis: Axes, options: GridOptions, *, factor: str, name: str, height: float, groups: int) -> None:
    """Name each group of columns, with a line below where it has several."""
    from matplotlib.transforms import ScaledTranslation

    levels = options.levels(factor)
    columns = math.prod(len(options.levels(each)) for each in WIDTHS)
    width = columns // groups
    above, line = (
        axis.get_xaxis_transform() + ScaledTranslation(0, points / 72, axis.figure.dpi_scale_trans)
        for points in (height, height - 0.5 * _HEAD)
    )
    text = {"va": "center", "fontsize": SMALL, "transform": above}
    axis.text(-0.12, 1, name, ha="right", **text)
    for group in range(groups):
        level = levels[group % len(levels)]
        axis.text((group + 0.5) * width, 1, _NAMES.get(level, level.replace("_", " ")), ha="center", **text)
        if width > 1:
            ends = [group * width + 0.1, (group + 1) * width - 0.1]
            axis.plot(ends, [1, 1], color="0.4", linewidth=0.6, clip_on=False, transform=line)


def _draw_bar(figure: Figure, axis: Axes, scale: ScalarMappable, *, label: str) -> None:
    bar = figure.colorbar(scale, ax=axis, orientation="horizontal", aspect=45, shrink=0.9)
    bar.outline.set_linewidth(0.6)
    bar.set_label(label, fontsize=7)


def _bar_label(options: GridOptions, found: dict[str, pd.Series], expected: int) -> str:
    reference = next(row for row in options.block.rows if row.key == options.block.reference)
    values = found[reference.key]
    notes = ["Outlined: as configured."] if options.configured in {row.key for row in options.cells} else []
    if min(map(len, found.values())) < expected:
        notes.append(f"{COUNTS}; hatched: no difference.")
    name = counted(reference.label, len(values), expected)
    what = f"{values.mean():.3f}" if len(values) else "no run"
    seeds = seed_count(map(len, found.values()))
    return (
        f"{metric_label(options.metric)}: mean of {seeds} (number), and its difference to {name}, "
        f"which has {what} (colour).\n{' '.join(notes)}"
    )
