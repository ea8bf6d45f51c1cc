"""Rank the rows of every block of a study, and test their mean ranks for differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from fossil.config.strict import Strict
from fossil.design.comparisons import Block
from fossil.evaluation.ranks import rank_rows
from fossil.runtime.files import write_csv


class Settings(Strict):
    """The ranked blocks, and the level of the critical difference."""

    study: str
    blocks: list[Block]
    alpha: float
    allow_missing_runs: bool


def run(settings: Settings, *, metrics: Path, ranks: Path) -> dict[str, Any]:
    """Write mean ranks and tests (CSV) of metrics (Parquet); returns the numbers of rows and incomplete rows."""
    ranked = rank_rows(
        pd.read_parquet(metrics),
        study=settings.study,
        blocks=settings.blocks,
        alpha=settings.alpha,
        allow_missing=settings.allow_missing_runs,
    )
    write_csv(ranks, ranked)
    return {"rows": len(ranked), "lacking": int((ranked["n"] < ranked["n_expected"]).sum())}
