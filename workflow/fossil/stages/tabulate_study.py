"""Make the table of a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from fossil.claims.reported import read_reported
from fossil.config import Strict
from fossil.config.studies import AUGMENTED
from fossil.design.comparisons import Block
from fossil.reporting.tables.statistics import read_statistics
from fossil.reporting.tables.study import study_table
from fossil.runtime.files import read_json, write_csv, write_text


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

    Descriptions are the JSON records of the data, whose peculiarities are told below the table. The file of a synthetic
    problem is called after the problem.
    """
    table, latex = study_table(
        pd.read_parquet(metrics),
        read_statistics(statistics),
        read_reported(printed),
        table=settings.table,
        title=settings.title,
        blocks=settings.blocks,
        columns=settings.columns,
        notes=[*settings.notes, *_notes_on_data({path.stem: read_json(path) for path in descriptions})],
    )
    write_csv(csv, table)
    write_text(tex, latex)


def _notes_on_data(records: Mapping[str, dict[str, Any]]) -> Iterator[str]:
    """Say what is peculiar about the data; a record's name is that of its problem or data set."""
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
            f"nominal {nominal[name]}{f' ({name})' if shared[nominal[name]] > 1 else ''} is {_effective_ratio(twins)}"
            for name, twins in problems.items()
        ]
        yield f"Flipped labels move the imbalance ratio: in the training split (mean over seeds) {'; '.join(ratios)}."


def _effective_ratio(twins: Mapping[bool, dict[str, Any]]) -> str:
    """Say the ratio of a problem with augmented copies, without, or both, whose originals are alike."""
    splits = {augmented: record["splits"]["train"] for augmented, record in twins.items()}
    text = f"effectively {_mean_ratio(next(iter(splits.values()))['class_counts']):.2f}:1"
    if True not in splits:
        return text
    originals, rows = splits[True]["class_counts"], splits[True]["class_counts_of_rows"]
    copied = [label for label in (0, 1) if any(rows[seed][label] > originals[seed][label] for seed in originals)]
    labels = copied or [0, 1]
    copies = _range(sum(rows[seed]) - sum(originals[seed]) for seed in originals)
    of = _range(sum(counts[label] for label in labels) for counts in originals.values())
    whose = f" of class {labels[0]}" if len(labels) == 1 else ""
    return f"{text}, and {_mean_ratio(rows):.2f}:1 with augmented copies ({copies} copies of {of} originals{whose})"


def _mean_ratio(counts: Mapping[str, Sequence[int]]) -> float:
    return fmean(negative / positive for negative, positive in counts.values())


def _range(numbers: Iterable[int]) -> str:
    found = sorted(numbers)
    return f"{found[0]}" if found[0] == found[-1] else f"{found[0]} to {found[-1]}"
