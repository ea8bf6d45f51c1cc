"""Test the differences between every method and the reference, on every metric."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from fossil.config import Statistics, Strict
from fossil.evaluation.statistics import compare_methods
from fossil.files import write_csv


class Settings(Strict):
    """What the comparison needs to know."""

    study: str
    methods: list[str]
    reference: str
    statistics: Statistics
    allow_missing_runs: bool


def run(settings: Settings, *, metrics: Path, statistics: Path) -> dict[str, Any]:
    """Read the metrics (Parquet), write the comparisons (CSV); returns how many and how many pairs they lack."""
    compared = compare_methods(
        pd.read_parquet(metrics),
        study=settings.study,
        methods=settings.methods,
        reference=settings.reference,
        statistics=settings.statistics,
        allow_missing=settings.allow_missing_runs,
    )
    write_csv(statistics, compared)
    return {"comparisons": len(compared), "missing_pairs": int((compared["n_expected"] - compared["n"]).sum())}
