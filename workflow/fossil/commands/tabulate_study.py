"""Make the table of a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from fossil.claims.reported import read_reported
from fossil.config.strict import Strict
from fossil.config.synthetic import AUGMENTED
from fossil.design.comparisons import Block
from fossil.evaluation.metrics import COLUMNS
from fossil.reporting.tables._statistics import read_statistics
from fossil.reporting.tables._study import study_table
from fossil.runtime.files import read_json, write_csv, write_text


class Settings(Strict):
    """The table: its name, the start of its caption, rows, list of metrics, sentences below it, and the level."""

    table: str
    title: str
    blocks: list[Block]
    columns: str
    notes: list[str]
    alpha: float


def run(
    settings: Settings,
    *,
    metrics: Path,
    statistics: Path,
    reported: Path,
    descriptions: list[Path],
    tex: Path,
    csv: Path,
) -> None:
    """Read metrics (Parquet), comparisons and the paper's numbers (CSV), write LaTeX and CSV.

    Descriptions are the JSON records of the data, whose peculiarities stand below the table. The file of a synthetic
    problem is called after the problem.
    """
    table, latex = study_table(
        pd.read_parquet(metrics),
        read_statistics(statistics),
        read_reported(reported),
        table=settings.table,
        title=settings.title,
        blocks=settings.blocks,
        columns=COLUMNS[settings.columns],
        alpha=settings.alpha,
        notes=[*settings.notes, *_notes_on_data({path.stem: read_json(path) for path in descriptions})],
    )
    write_csv(csv, table)
    write_text(tex, latex)


def _notes_on_data(records: Mapping[str, dict[str, Any]]) -> Iterator[str]:
    """Return notes on peculiar data; a record's name is that of its problem or data set."""
    for record in records.values():
        if missing := record.get("missing_images"):
            yield f"{missing} of {record['rows']} rows of the metadata have no image and were left out."
    problems: dict[str, dict[bool, dict[str, Any]]] = {}
    for name, record in records.items():
        if "splits" in record:
            plain = name.removesuffix(AUGMENTED) if record["augmented"] else name
            problems.setdefault(plain, {})[record["augmented"]] = record
    if problems:
        nominal = {name: f"{next(iter(twins.values()))['imbalance_ratio']:g}:1" for name, twins in problems.items()}
        shared = Counter(nominal.values())
        ratios = [
            f"{nominal[name]}{f' ({name})' if shared[nominal[name]] > 1 else ''} is {_effective_ratio(twins)}"
            for name, twins in problems.items()
        ]
        yield f"Flipped labels move the imbalance ratio. In training, mean over seeds: {'; '.join(ratios)}."


def _effective_ratio(twins: Mapping[bool, dict[str, Any]]) -> str:
    """Return the imbalance ratio of a problem's originals, the same with and without augmented copies."""
    splits = {augmented: record["splits"]["train"] for augmented, record in twins.items()}
    text = f"{_mean_ratio(next(iter(splits.values()))['class_counts']):.2f}:1"
    if True not in splits:
        return text
    return f"{text}, with copies {_mean_ratio(splits[True]['class_counts_of_rows']):.2f}:1"


def _mean_ratio(counts: Mapping[str, Sequence[int]]) -> float:
    return fmean(negative / positive for negative, positive in counts.values())
