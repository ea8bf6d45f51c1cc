"""The numbers that the paper reports, as text and as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fossil.evaluation.metrics import METRICS

RowName = tuple[str, str]
"""A row of a table of the paper: what it calls the method, and the variant, "" where it names none."""

PAPER_LEVEL = 0.05
"""The level at which the paper calls a difference significant."""


def row_name(named: Sequence[str]) -> RowName:
    """Return the name of a row, given as method, or as method and variant."""
    method, *variant = named
    return method, variant[0] if variant else ""


@dataclass(frozen=True)
class ReportedMean:
    """A reported mean and its deviation (NaN if missing), the value of its last digit, and the line of the paper.

    ``is_bound`` tells whether the paper prints an upper bound, such as "<0.001".
    """

    mean: float
    std: float
    unit: float
    line: int
    is_bound: bool = False


def read_reported(path: Path) -> pd.DataFrame:
    """Read the paper's numbers as text; "" for what it leaves out."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def read_reported_text(path: Path, *, place: str) -> dict[str, str]:
    """Read the numbers that the paper reports at one place outside its tables of results, as text by quantity."""
    reported = read_reported(path)
    at_place = reported[reported["place"] == place]
    return dict(zip(at_place["quantity"], at_place["value"], strict=True))


def reported_number(text: str) -> float:
    """Convert a reported number to a float; "<0.001" becomes its bound, and "" NaN."""
    return float(text.lstrip("<")) if text else float("nan")


class Paper:
    """The paper's tables of means.

    Parameters
    ----------
    reported : DataFrame
        From `read_reported`: table, line, imbalance_ratio, method, variant, metric, mean, std.

    Attributes
    ----------
    cells : dict
        Reported means by table, imbalance ratio, metric, method and variant, in the order of the paper.
    """

    def __init__(self, reported: pd.DataFrame) -> None:
        self.cells: dict[tuple[str, ...], ReportedMean] = {
            (one["table"], one["imbalance_ratio"], one["metric"], one["method"], one["variant"]): ReportedMean(
                mean=reported_number(one["mean"]),
                std=reported_number(one["std"]),
                unit=10.0 ** -len(one["mean"].partition(".")[2]),
                line=int(one["line"]),
                is_bound=one["mean"].startswith("<"),
            )
            for one in reported.to_dict("records")
        }

    def rows(self, table: str, ratio: str, metric: str) -> dict[RowName, ReportedMean]:
        """Return every row of a table that reports a metric, in the paper's order."""
        return {(key[3], key[4]): cell for key, cell in self.cells.items() if key[:3] == (table, ratio, metric)}

    def cell(self, table: str, ratio: str, metric: str, row: RowName) -> ReportedMean | None:
        """Return one cell; None where the paper leaves it out."""
        return self.cells.get((table, ratio, metric, *row))

    def best(self, table: str, ratio: str, metric: str) -> float:
        """Return the best mean of a column; NaN where the table has no such column."""
        means = [cell.mean for cell in self.rows(table, ratio, metric).values()]
        return (min if METRICS[metric].lower_is_better else max)(means, default=float("nan"))

    def line_of(self, row: Sequence[str]) -> int:
        """Return the line of a row: its table, imbalance ratio, method and variant."""
        table, ratio, *name = row
        return next(cell.line for (t, r, _, *n), cell in self.cells.items() if [t, r, *n] == [table, ratio, *name])
