"""Compute the metrics of every run of an image study."""

from __future__ import annotations

from pathlib import Path

from fossil.config import Strict
from fossil.evaluation.collect import collect_folds
from fossil.files import write_parquet


class Settings(Strict):
    """The runs that there should be."""

    study: str
    dataset: str
    methods: list[str]
    folds: int
    seeds: list[int]


def run(settings: Settings, *, runs: Path, metrics: Path) -> None:
    """Write the long table of metrics."""
    table = collect_folds(
        runs,
        study=settings.study,
        dataset=settings.dataset,
        methods=settings.methods,
        folds=settings.folds,
        seeds=settings.seeds,
    )
    write_parquet(metrics, table)
