"""Measure the effects of the factors of a grid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from fossil.config.statistics import Statistics
from fossil.config.strict import Strict
from fossil.design.comparisons import Block
from fossil.evaluation.effects import grid_effects
from fossil.runtime.files import write_csv


class Settings(Strict):
    """The grid, the base level of each of its factors, and the tests."""

    blocks: list[Block]
    base: dict[str, str]
    statistics: Statistics
    allow_missing_runs: bool


def run(settings: Settings, *, metrics: Path, effects: Path) -> dict[str, Any]:
    """Write the effects (CSV) of metrics (Parquet); returns the numbers of effects and missing seeds."""
    measured = grid_effects(
        pd.read_parquet(metrics),
        blocks=settings.blocks,
        base=settings.base,
        statistics=settings.statistics,
        allow_missing=settings.allow_missing_runs,
    )
    write_csv(effects, measured)
    return {"effects": len(measured), "missing_seeds": int((measured["n_expected"] - measured["n"]).sum())}
