"""Compute the metrics of models on an external data set."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fossil.config.strict import Strict
from fossil.design.comparisons import Row
from fossil.evaluation.external import collect_transfer
from fossil.runtime.files import write_parquet


class Settings(Strict):
    """The expected models, by rows, folds and seeds."""

    study: str
    rows: list[Row]
    folds: int
    seeds: list[int]


def run(settings: Settings, *, runs: Path, internal: Path, metrics: Path) -> None:
    """Write the long table of metrics; ``internal`` has the same models' metrics on internal test images."""
    table = collect_transfer(
        runs,
        pd.read_parquet(internal),
        study=settings.study,
        rows=settings.rows,
        folds=settings.folds,
        seeds=settings.seeds,
    )
    write_parquet(metrics, table)
