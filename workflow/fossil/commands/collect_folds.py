"""Compute the metrics of trainings in folds."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from fossil.config.strict import Strict
from fossil.design.comparisons import Row
from fossil.evaluation.collect import collect_folds
from fossil.runtime.files import write_parquet


class Settings(Strict):
    """The expected runs, and the role of the images that are measured."""

    study: str
    rows: list[Row]
    folds: int
    seeds: list[int]
    role: Literal["validation", "test"] = "test"


def run(settings: Settings, *, runs: Path, metrics: Path) -> None:
    """Write the long table of metrics."""
    table = collect_folds(
        runs,
        study=settings.study,
        rows=settings.rows,
        folds=settings.folds,
        seeds=settings.seeds,
        role=settings.role,
    )
    write_parquet(metrics, table)
