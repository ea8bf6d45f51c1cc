"""Make the table of a study."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from fossil.config import Block, Strict
from fossil.files import read_json, write_csv, write_text
from fossil.reporting.tables.printed import read_reported
from fossil.reporting.tables.study import study_table


class Settings(Strict):
    """What the table needs to know: its name, the start of its caption, rows, metrics and sentences below it."""

    table: str
    title: str
    blocks: list[Block]
    columns: list[str]
    notes: list[str]


def run(
    settings: Settings,
    *,
    metrics: Path,
    statistics: Path,
    printed: Path,
    descriptions: list[Path],
    tex: Path,
    csv: Path,
) -> None:
    """Read metrics (Parquet), comparisons and the paper's numbers (CSV), write LaTeX and CSV.

    Descriptions are the JSON records of the data, whose peculiarities are told below the table.
    """
    table, latex = study_table(
        pd.read_parquet(metrics),
        pd.read_csv(statistics),
        read_reported(printed),
        table=settings.table,
        title=settings.title,
        blocks=settings.blocks,
        columns=settings.columns,
        notes=[*settings.notes, *_notes_on_data([read_json(path) for path in descriptions])],
    )
    write_csv(csv, table)
    write_text(tex, latex)


def _notes_on_data(records: list[dict[str, Any]]) -> Iterator[str]:
    for record in records:
        if missing := record.get("missing_images"):
            yield f"{missing} of {record['rows']} rows of the metadata have no image and were left out."
    ratios = [_effective_ratio(record) for record in records if "imbalance_ratio" in record]
    if ratios:
        yield f"Flipped labels move the imbalance ratio: in the training split {'; '.join(ratios)} (mean over seeds)."


def _effective_ratio(record: dict[str, Any]) -> str:
    split = record["splits"]["train"]
    means = [
        fmean(negative / positive for negative, positive in split[key].values())
        for key in ("class_counts", "class_counts_of_rows")
    ]
    text = f"nominal {record['imbalance_ratio']:g}:1 is effectively {means[0]:.2f}:1"
    return f"{text}, and {means[1]:.2f}:1 with augmented copies" if record["augmented"] else text
