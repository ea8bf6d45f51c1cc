"""Compute the metrics of every run of a synthetic scenario."""

from __future__ import annotations

from pathlib import Path

from fossil.config import Strict
from fossil.evaluation.collect import collect_stacked
from fossil.files import write_parquet


class Settings(Strict):
    """The runs that there should be."""

    study: str
    methods: list[str]
    seeds: list[int]


def run(settings: Settings, *, runs: Path, metrics: Path) -> None:
    """Write the long table of metrics."""
    table = collect_stacked(runs, study=settings.study, methods=settings.methods, seeds=settings.seeds)
    write_parquet(metrics, table)
