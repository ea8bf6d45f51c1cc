"""Divide a data set into folds, without dividing patients or identical pictures."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fossil.config.strict import Strict
from fossil.data.folds import make_folds
from fossil.runtime.files import write_parquet


class Settings(Strict):
    """The number of folds and the share of validation."""

    folds: int
    validation_fraction: float
    seed: int


def run(settings: Settings, *, manifest: Path, properties: Path, folds: Path) -> None:
    """Write the role of every image in every fold."""
    table = make_folds(
        pd.read_parquet(manifest),
        pd.read_parquet(properties, columns=["image_id", "duplicate_of"]),
        folds=settings.folds,
        validation_fraction=settings.validation_fraction,
        seed=settings.seed,
    )
    write_parquet(folds, table)
