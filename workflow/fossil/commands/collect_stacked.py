"""Compute the metrics of every run of a synthetic study."""

from __future__ import annotations

from pathlib import Path

from fossil.config.strict import Strict
from fossil.design.comparisons import Row
from fossil.evaluation.collect import collect_stacked
from fossil.runtime.files import write_parquet


class Settings(Strict):
    """The expected runs."""

    study: str
    rows: list[Row]
    seeds: list[int]


def run(settings: Settings, *, records: list[Path], metrics: Path) -> None:
    """Write the long table of metrics; the files of a training job's runs are next to its record."""
    table = collect_stacked(records, study=settings.study, rows=settings.rows, seeds=settings.seeds)
    write_parquet(metrics, table)
