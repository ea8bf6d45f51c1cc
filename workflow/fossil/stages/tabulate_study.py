"""Make the table of a study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    by_ratio: dict[float, list[dict[str, Any]]] = {}
    for record in records:
        if "imbalance_ratio" in record:
            by_ratio.setdefault(record["imbalance_ratio"], []).append(record)
    if by_ratio:
        ratios = [_effective_ratio(ratio, of_ratio) for ratio, of_ratio in by_ratio.items()]
        yield f"Flipped labels move the imbalance ratio: in the training split (mean over seeds) {'; '.join(ratios)}."


def _effective_ratio(nominal: float, records: Sequence[dict[str, Any]]) -> str:
    """Say the ratio of the problems of one nominal ratio, whose originals are alike; copies are of class 1 only."""
    splits = {record["augmented"]: record["splits"]["train"] for record in records}
    text = f"nominal {nominal:g}:1 is effectively {_mean_ratio(next(iter(splits.values()))['class_counts']):.2f}:1"
    if True not in splits:
        return text
    originals, rows = splits[True]["class_counts"], splits[True]["class_counts_of_rows"]
    copies = _range(rows[seed][1] - originals[seed][1] for seed in originals)
    of = _range(positive for _, positive in originals.values())
    return f"{text}, and {_mean_ratio(rows):.2f}:1 with augmented copies ({copies} copies of {of} originals of class 1)"


def _mean_ratio(counts: Mapping[str, Sequence[int]]) -> float:
    return fmean(negative / positive for negative, positive in counts.values())


def _range(numbers: Iterable[int]) -> str:
    found = sorted(numbers)
    return f"{found[0]}" if found[0] == found[-1] else f"{found[0]} to {found[-1]}"
