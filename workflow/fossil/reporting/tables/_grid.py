"""The grid of the sensitivity study: a mean for each combination of levels."""

from __future__ import annotations

from itertools import product

import pandas as pd

from fossil.config.strict import BASELINE
from fossil.design.comparisons import ANY, GRID_FACTORS, Block, Row
from fossil.evaluation.metrics import METRICS
from fossil.reporting.tables._factors import FACTORS, cells_of, level_name, levels_of
from fossil.reporting.tables._latex import (
    NOTHING,
    deviation_cell,
    escape,
    groups_over,
    mean_cells,
    number,
    row,
    spanning,
    tabular,
)

CONFIGURED = r"\rlap{$^\ast$}"
"""Sign at the mean of the cell that has the configured options."""

_HEIGHT, *_WIDTHS = GRID_FACTORS


def grid_lines(summary: pd.DataFrame, block: Block, *, metric: str, decimals: int) -> list[str]:
    """Format the grid as a tabular environment: a line for each schedule, columns for all other factors.

    A cell whose difficulty source is "any" spans the columns of all sources. Rows without levels stand below the grid.
    The best mean of all is bold.

    Parameters
    ----------
    summary : DataFrame
        From `fossil.reporting.tables._summary.summarise`, for this block only.
    """
    cells = cells_of(block)
    levels = {factor: levels_of(cells, factor) for factor in FACTORS}
    printed = _printed_cells(summary, block, metric=metric, decimals=decimals)
    columns = list(product(*(levels[factor] for factor in _WIDTHS)))
    lines = [*_head(levels), r"\midrule"]
    lines += [row([spanning(len(columns) + 1, FACTORS[_HEIGHT], align="@{}l@{}")], below="1pt")]
    for schedule in levels[_HEIGHT]:
        name = rf"\quad {level_name(_HEIGHT, schedule)}"
        of_schedule = {
            tuple(cell.levels[factor] for factor in _WIDTHS): printed[cell.key]
            for cell in cells
            if cell.levels[_HEIGHT] == schedule
        }
        lines += _grid_row(name, of_schedule, columns, sources=len(levels["difficulty_source"]))
    for other in (entry for entry in block.rows if not entry.levels):
        mean, deviation = printed[other.key]
        lines += [r"\midrule", row([escape(other.label), spanning(len(columns), f"{mean} {deviation}")])]
    return tabular(rf"@{{}}l{'c' * len(columns)}@{{}}", lines)


def is_configured(cell: Row) -> bool:
    """Check whether a cell has the configured options."""
    return bool(cell.levels) and cell.variant == BASELINE


def _head(levels: dict[str, list[str]]) -> list[str]:
    """Return three rows of headings, a factor each; the innermost has a column for each level."""
    lines = []
    outer, inner = 1, len(levels["warmup_epochs"]) * len(levels["difficulty_source"])
    for factor in _WIDTHS[:-1]:
        names = [level_name(factor, level) for level in levels[factor]] * outer
        lines += groups_over([(inner, name) for name in names], name=FACTORS[factor])
        outer *= len(levels[factor])
        inner = len(levels["difficulty_source"])
    names = [level_name("difficulty_source", level) for level in levels["difficulty_source"]] * outer
    return [*lines, row([FACTORS["difficulty_source"], *names])]


def _printed_cells(summary: pd.DataFrame, block: Block, *, metric: str, decimals: int) -> dict[str, tuple[str, str]]:
    """Return mean and deviation of each row by its key; next to the deviation n where runs are missing."""
    means = mean_cells(summary[f"{metric}_mean"], decimals=decimals, best=METRICS[metric].best)
    formatted = {}
    for entry, mean, values in zip(block.rows, means, summary.itertuples(), strict=True):
        deviation = deviation_cell(number(getattr(values, f"{metric}_std"), decimals))
        if values.n < values.n_expected:
            deviation += rf"{{\tiny\ ({values.n})}}"
        formatted[entry.key] = (mean + CONFIGURED if is_configured(entry) else mean, deviation)
    return formatted


def _grid_row(
    name: str, of_schedule: dict[tuple[str, ...], tuple[str, str]], columns: list[tuple[str, ...]], *, sources: int
) -> list[str]:
    """Return two lines: means, and below them deviations."""
    upper, lower = [name], [""]
    position = 0
    while position < len(columns):
        levels = columns[position]
        anywhere = of_schedule.get((*levels[:-1], ANY))
        width = sources if anywhere else 1
        mean, deviation = anywhere or of_schedule.get(levels, (NOTHING, ""))
        upper.append(spanning(width, mean) if width > 1 else mean)
        lower.append(spanning(width, deviation) if width > 1 else deviation)
        position += width
    return [row(upper), row(lower, below="1.5pt")]
