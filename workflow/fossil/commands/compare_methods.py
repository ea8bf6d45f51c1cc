"""Test the differences between every row of a study and its block's reference, on every metric."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from fossil.config.statistics import Statistics
from fossil.config.strict import Strict
from fossil.design.comparisons import Block
from fossil.evaluation.statistics import compare
from fossil.runtime.files import write_csv


class Settings(Strict):
    """The comparisons and their tests; test_train_ratio is that of the folds in which the models were trained."""

    study: str
    blocks: list[Block]
    statistics: Statistics
    allow_missing_runs: bool
    test_train_ratio: float | None = None


def run(settings: Settings, *, metrics: Path, statistics: Path) -> dict[str, Any]:
    """Write the comparisons (CSV) of metrics (Parquet); returns the numbers of comparisons and missing pairs."""
    compared = compare(
        pd.read_parquet(metrics),
        study=settings.study,
        blocks=settings.blocks,
        statistics=settings.statistics,
        allow_missing=settings.allow_missing_runs,
        test_train_ratio=settings.test_train_ratio,
    )
    write_csv(statistics, compared)
    of_pairs = compared[compared["test"] != "fold_means"]
    return {"comparisons": len(compared), "missing_pairs": int((of_pairs["n_expected"] - of_pairs["n"]).sum())}
