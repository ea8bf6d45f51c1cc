"""Make the table of the image study."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from fossil.config import Strict
from fossil.files import read_json, write_csv, write_text
from fossil.reporting.tables.final_tuning import final_tuning


class Settings(Strict):
    """What the table needs to know."""

    methods: list[str]
    reference: str
    dataset: str
    augmented_copies: int
    class_priors: Literal["originals", "rows"]


def run(settings: Settings, *, metrics: Path, statistics: Path, dataset_record: Path, tex: Path, csv: Path) -> None:
    """Read the metrics (Parquet), comparisons (CSV) and the data set's record; write the table as LaTeX and CSV."""
    table, latex = final_tuning(
        pd.read_parquet(metrics),
        pd.read_csv(statistics),
        methods=settings.methods,
        reference=settings.reference,
        dataset=settings.dataset,
        note=" ".join(filter(None, [_copies(settings), _missing_images(read_json(dataset_record))])),
    )
    write_csv(csv, table)
    write_text(tex, latex)


def _copies(settings: Settings) -> str:
    if not settings.augmented_copies:
        return ""
    counted = "the originals only, so that class weights act on top of the copies"
    if settings.class_priors == "rows":
        counted = "all rows, copies included"
    return (
        f"For every method each minority training image has {settings.augmented_copies} augmented copies; class priors "
        f"count {counted}."
    )


def _missing_images(record: Mapping[str, Any]) -> str:
    missing = record.get("missing_images", 0)
    if not missing:
        return ""
    return f"{missing} of {record['rows']} rows of the metadata have no image and were left out."
