"""Choose a threshold and a temperature on every run's validation images, and measure them on its test images."""

from __future__ import annotations

from pathlib import Path

from fossil.config.strict import Fraction, Strict
from fossil.design.comparisons import Row
from fossil.evaluation.fold_runs import fold_predictions, measure_folds
from fossil.evaluation.operating_point import OPERATING_METRICS, operating_point
from fossil.runtime.files import write_parquet


class Settings(Strict):
    """The expected runs, and the recall that the threshold must reach."""

    study: str
    rows: list[Row]
    folds: int
    seeds: list[int]
    recall: Fraction


def run(settings: Settings, *, runs: Path, metrics: Path) -> None:
    """Write the long table of metrics."""

    def measure(folder: Path) -> dict[str, float]:
        validation, test = (fold_predictions(folder, role) for role in ("validation", "test"))
        return operating_point(validation, test, recall=settings.recall)

    table = measure_folds(
        runs,
        measure,
        names=OPERATING_METRICS,
        study=settings.study,
        rows=settings.rows,
        folds=settings.folds,
        seeds=settings.seeds,
    )
    write_parquet(metrics, table)
