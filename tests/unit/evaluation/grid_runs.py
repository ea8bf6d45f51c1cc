"""A small grid, its metrics and its effects, for tests of effects."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd

from fossil.config.statistics import Statistics
from fossil.design.comparisons import Block, Row
from fossil.evaluation.effects import grid_effects
from fossil.evaluation.metrics import GRID_METRICS

QUICK = Statistics(resamples=300)
BASE = {"schedule": "decay", "class_term": "yes", "source": "online"}
SEEDS = range(6)

Cell = tuple[str, str, str]

# Without temperature, difficulty and so its source play no role.
CELLS: list[Cell] = [
    *itertools.product(("decay", "growth"), ("yes", "no"), ("online", "frozen")),
    *(("infinite", class_term, "any") for class_term in ("yes", "no")),
]


def grid(cells: list[Cell] = CELLS, *, seeds: list[int] | None = None) -> Block:
    rows = [
        Row(
            scenario="ir9",
            method="fossil",
            variant="-".join(cell),
            label="cell",
            levels=dict(zip(BASE, cell, strict=True)),
        )
        for cell in cells
    ]
    erm = Row(scenario="ir9", method="erm", variant="baseline", label="ERM")
    return Block(name="grid", title="", rows=[erm, *rows], reference=erm.key, seeds=seeds)


def table(values: dict[Cell, list[float]], metrics: tuple[str, ...] = GRID_METRICS) -> pd.DataFrame:
    """Metrics of the cells by seed, the same for every metric."""
    rows = [
        ("sensitivity", "ir9", "fossil", "-".join(cell), None, seed, metric, value, "ok")
        for cell, of_cell in values.items()
        for seed, value in enumerate(of_cell)
        for metric in metrics
    ]
    columns = ["study", "scenario", "method", "variant", "fold", "seed", "metric", "value", "status"]
    return pd.DataFrame(rows, columns=columns).astype({"fold": "Int64", "seed": "int64"})


def effects(metrics: pd.DataFrame, **changes: Any) -> pd.DataFrame:
    options = {"blocks": [grid()], "base": BASE, "statistics": QUICK, "allow_missing": False}
    return grid_effects(metrics, **(options | changes))


def auc_of(found: pd.DataFrame, scope: str = "average") -> pd.DataFrame:
    """Effects of a scope on AUC by factor and level, once."""
    rows = found[(found["metric"] == "auc") & (found["test"] == "wilcoxon") & (found["scope"] == scope)]
    return rows.set_index(["factor", "level"])


def noise(seed: int = 0) -> dict[Cell, list[float]]:
    rng = np.random.default_rng(seed)
    return {cell: rng.normal(0.7, 0.1, len(SEEDS)).tolist() for cell in CELLS}
