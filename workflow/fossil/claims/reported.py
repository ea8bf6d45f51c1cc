"""The numbers that the paper prints, as text and as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

Who = tuple[str, str]
"""A row of a table of the paper: what it calls the method, and the variant, "" where it names none."""


@dataclass(frozen=True)
class Printed:
    """A printed mean with its deviation, NaN where there is none, the value of its last digit, and the line."""

    mean: float
    std: float
    unit: float
    line: int


def read_reported(path: Path) -> pd.DataFrame:
    """Read the paper's numbers as the text that it prints; "" for what it leaves out."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def read_reported_text(path: Path, *, place: str) -> dict[str, str]:
    """Read what the paper prints at one place outside its tables of results: by quantity, as text."""
    reported = read_reported(path)
    mine = reported[reported["place"] == place]
    return dict(zip(mine["quantity"], mine["value"], strict=True))


def printed_number(text: str) -> float:
    """Turn a printed number into one; "<0.001" is its bound, and "" NaN."""
    return float(text.lstrip("<")) if text else float("nan")


def printed_unit(text: str) -> float:
    """Give the value of the last digit of a printed number."""
    return 10.0 ** -len(text.partition(".")[2])


class Paper:
    """The paper's tables of means.

    Parameters
    ----------
    reported : DataFrame
        From `read_reported`: table, line, imbalance_ratio, method, variant, metric, mean, std.
    """

    def __init__(self, reported: pd.DataFrame) -> None:
        self.reported = reported
        columns = [reported[name] for name in ("table", "imbalance_ratio", "metric", "method", "variant")]
        self._cells = {
            key: Printed(printed_number(mean), printed_number(std), printed_unit(mean), int(line))
            for *key_parts, mean, std, line in zip(
                *columns, reported["mean"], reported["std"], reported["line"], strict=True
            )
            for key in [tuple(key_parts)]
        }

    def rows(self, table: str, ratio: str, metric: str) -> dict[Who, Printed]:
        """Find every row of a table that prints a metric, in the order of the paper."""
        return {key[3:]: cell for key, cell in self._cells.items() if key[:3] == (table, ratio, metric)}

    def cell(self, table: str, ratio: str, metric: str, who: Who) -> Printed | None:
        """Find one cell; None where the paper leaves it out."""
        return self._cells.get((table, ratio, metric, *who))

    def is_bound(self, table: str, metric: str, who: Who) -> bool:
        """Tell whether a number is printed as an upper bound, such as "<0.001"."""
        mine = self.reported[(self.reported["table"] == table) & (self.reported["metric"] == metric)]
        mine = mine[(mine["method"] == who[0]) & (mine["variant"] == who[1])]
        return bool(mine["mean"].str.startswith("<").any())
