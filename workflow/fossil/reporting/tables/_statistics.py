"""Read what was compared and ranked, and how large effects are."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

_TEXT = (
    *("study", "block", "metric", "scenario", "method", "variant", "reference", "test", "note", "unit"),
    *("scope", "factor", "level", "base"),
)


def read_statistics(path: Path) -> pd.DataFrame:
    """Read comparisons, effects or ranks (CSV): names as they are written, all else as numbers, NaN for an empty field.

    A scenario may be called "9" or "nan", and a level is often a number: pandas would read numbers and NaN.
    """
    numbers = [name for name in pd.read_csv(path, nrows=0).columns if name not in _TEXT]
    return pd.read_csv(
        path, dtype=dict.fromkeys(_TEXT, str), keep_default_na=False, na_values={name: [""] for name in numbers}
    )
