"""What the factors of the sensitivity study and their levels are called in print, in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from fossil.design.comparisons import ANY, GRID_FACTORS, Block, Row
from fossil.reporting.tables._latex import TableError, escape

FACTORS = dict(zip(GRID_FACTORS, ("Temperature schedule", "Class term", "Warm-up", "Difficulty source"), strict=True))


def level_name(factor: str, level: str) -> str:
    """Return the name of a level."""
    if factor == "warmup_epochs":
        return f"{escape(level)} epochs"
    return "$1/(K p)$" if level == "inverse_prior" else escape(level.replace("_", " "))


def cells_of(block: Block) -> list[Row]:
    """Return the cells of a grid: the rows that have levels.

    Raises
    ------
    TableError
        Where there are none, or one has not a level of each factor.
    """
    cells = [row for row in block.rows if row.levels]
    wrong = [row.key for row in cells if row.levels.keys() != FACTORS.keys()]
    if wrong or not cells:
        found = f"{', '.join(wrong)} has others" if wrong else "no row has any"
        raise TableError(f"block {block.name}: the cells of a grid have levels of {', '.join(FACTORS)}; {found}")
    return cells


def levels_of(cells: Sequence[Row], factor: str) -> list[str]:
    """Levels of a factor, in the order of the cells; without `ANY` where there are others."""
    found = list(dict.fromkeys(cell.levels[factor] for cell in cells))
    return [level for level in found if level != ANY] or found
