"""Choose a threshold and a temperature on every run's validation images, and measure them on its test images."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import model_validator

from fossil.config import Block, Strict
from fossil.config.strict import Fraction
from fossil.evaluation.collect import fold_predictions, measure_folds
from fossil.evaluation.operating_point import OPERATING_METRICS, operating_point
from fossil.files import write_parquet


class Settings(Strict):
    """The runs that there should be, and the recall wanted of the threshold."""

    study: str
    dataset: str
    block: Block
    folds: int
    seeds: list[int]
    recall: Fraction

    @model_validator(mode="after")
    def _rows_are_of_the_dataset(self) -> Self:
        others = [row.key for row in self.block.rows if row.scenario != self.dataset]
        if others:
            raise ValueError(f"block {self.block.name}: {', '.join(others)} are not of the data set {self.dataset}")
        return self


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
        dataset=settings.dataset,
        arms=[(row.method, row.variant) for row in settings.block.rows],
        folds=settings.folds,
        seeds=settings.seeds,
    )
    write_parquet(metrics, table)
