"""Make the table of a data set's difficulty scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from fossil.claims.reported import read_reported_text
from fossil.config.strict import Strict
from fossil.reporting.tables._difficulty import QUANTITIES, STAGES, difficulty_table
from fossil.runtime.files import read_json, write_csv, write_text


class Settings(Strict):
    """Start of the caption, the table's label, sentences below it, and whether the paper's numbers are comparable."""

    title: str
    label: str
    notes: list[str]
    comparable: bool


def run(
    settings: Settings, *, scores: list[Path], manifest: Path, facts: Path, printed: Path, tex: Path, csv: Path
) -> None:
    """Read each fold's scores, the manifest and its record, and the paper's numbers; write LaTeX and CSV."""
    mine = read_reported_text(printed, place=settings.label) if settings.comparable else {}
    absent = read_json(facts).get("absent_classes", [])
    paper = {name: float(mine[name]) for name in QUANTITIES if name in mine}
    table, latex = difficulty_table(
        {_model(path): pd.read_parquet(path) for path in scores},
        pd.read_parquet(manifest),
        paper,
        title=settings.title,
        label=settings.label,
        notes=[*settings.notes, *([f"Without {', '.join(absent)}."] if absent else []), *_contradictions(mine)],
    )
    write_csv(csv, table)
    write_text(tex, latex)


def _model(path: Path) -> str:
    return f"ERM of fold {path.stem.removeprefix('fold')}"


def _contradictions(printed: Mapping[str, str]) -> Iterator[str]:
    """Say where the paper's counts do not add up."""
    if "images" not in printed:
        return
    whole, parts = int(printed["images"]), [int(printed[f"{sign}_images"]) for sign in ("positive", "negative")]
    if sum(parts) != whole:
        yield f"The paper counts {parts[0]} positive and {parts[1]} negative images, and {whole} in all."
    stages = [int(printed[stage]) for stage in STAGES]
    if max(stages) - min(stages) > 1:
        shown = f"{stages[0]}, {stages[1]} and {stages[2]}"
        yield (
            f"Thirds by quantile of {whole} scores have {whole // 3} or {whole // 3 + 1} images where no scores tie; "
            f"the paper's have {shown}."
        )
