"""Make the table of a data set's difficulty scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from fossil.claims.reported import read_reported_text
from fossil.config.strict import Strict
from fossil.reporting.tables._difficulty import QUANTITIES, TERCILES, difficulty_table
from fossil.runtime.files import read_json, write_csv, write_text


class Settings(Strict):
    """Start of the caption, the table's label, sentences below it, and whether the paper's numbers are comparable."""

    title: str
    label: str
    notes: list[str]
    comparable: bool


def run(
    settings: Settings, *, scores: list[Path], manifest: Path, facts: Path, reported: Path, tex: Path, csv: Path
) -> None:
    """Read each fold's scores, the manifest and its record, and the paper's numbers; write LaTeX and CSV."""
    texts = read_reported_text(reported, place=settings.label) if settings.comparable else {}
    absent = read_json(facts).get("absent_classes", [])
    paper = {name: float(texts[name]) for name in QUANTITIES if name in texts}
    table, latex = difficulty_table(
        {_model(path): pd.read_parquet(path) for path in scores},
        pd.read_parquet(manifest),
        paper,
        title=settings.title,
        label=settings.label,
        notes=[*settings.notes, *([f"Without {', '.join(absent)}."] if absent else []), *_contradictions(texts)],
    )
    write_csv(csv, table)
    write_text(tex, latex)


def _model(path: Path) -> str:
    return f"ERM of fold {path.stem.removeprefix('fold')}"


def _contradictions(reported: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each place where the paper's counts do not add up."""
    if "images" not in reported:
        return
    whole, parts = int(reported["images"]), [int(reported[f"{sign}_images"]) for sign in ("positive", "negative")]
    if sum(parts) != whole:
        yield f"The paper counts {parts[0]} positive and {parts[1]} negative images, and {whole} in all."
    counts = [int(reported[tercile]) for tercile in TERCILES]
    if max(counts) - min(counts) > 1:
        yield (
            f"Thirds by quantile of {whole} scores have {whole // 3} or {whole // 3 + 1} images where no scores tie; "
            f"the paper's have {counts[0]}, {counts[1]} and {counts[2]}."
        )
