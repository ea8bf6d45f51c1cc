"""Make the table of a data set."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fossil.config.strict import Strict
from fossil.data.folds import read_folds
from fossil.reporting.tables._dataset import dataset_table, describe_dataset
from fossil.runtime.files import read_json, write_csv, write_text


class Settings(Strict):
    """The start of the caption, and the table's label."""

    title: str
    label: str


def run(
    settings: Settings, *, manifest: Path, facts: Path, folds: list[Path], properties: Path, tex: Path, csv: Path
) -> None:
    """Read manifest, folds and properties (Parquet) and the record of the manifest (JSON); write LaTeX and CSV."""
    described = describe_dataset(
        pd.read_parquet(manifest), read_folds(folds), pd.read_parquet(properties), read_json(facts)
    )
    write_csv(csv, described)
    write_text(tex, dataset_table(described, title=settings.title, label=settings.label))
