"""From the files of the runs to one long table of metrics, in which a hole is a row that says so."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fossil.config import BASELINE
from fossil.evaluation.metrics import METRICS, prediction_metrics, training_metrics
from fossil.files import read_json


class CollectError(ValueError):
    """There is nothing to collect; the message names the folder and what to do."""


def collect_stacked(root: Path, *, study: str, methods: Sequence[str], seeds: Sequence[int]) -> pd.DataFrame:
    """Compute the metrics of a synthetic scenario: ``root/{method}/`` holds all seeds of a method."""
    rows: list[dict[str, Any]] = []
    for method in methods:
        folder = root / method
        if not (folder / "run.json").exists():
            rows += [row for seed in seeds for row in _rows(study, method, None, seed, "missing")]
            continue
        failed = read_json(folder / "run.json")["failed_seeds"]
        predictions = pd.read_parquet(folder / "predictions.parquet")
        history = pd.read_parquet(folder / "history.parquet")
        for seed in seeds:
            mine, epochs = predictions[predictions["seed"] == seed], history[history["seed"] == seed]
            status = "failed" if str(seed) in failed else "ok" if len(mine) else "missing"
            rows += _rows(study, method, None, seed, status, mine, epochs)
    return _table(rows, root)


def collect_folds(root: Path, *, study: str, methods: Sequence[str], folds: int, seeds: Sequence[int]) -> pd.DataFrame:
    """Compute the metrics of an image study on its test images: ``root/{method}-{variant}/fold{f}-seed{s}``."""
    rows: list[dict[str, Any]] = []
    for method in methods:
        for fold in range(folds):
            for seed in seeds:
                folder = root / f"{method}-{BASELINE}" / f"fold{fold}-seed{seed}"
                if not (folder / "run.json").exists():
                    rows += _rows(study, method, fold, seed, "missing")
                    continue
                status = read_json(folder / "run.json")["status"]
                predictions = pd.read_parquet(folder / "predictions.parquet")
                test = predictions[predictions["role"] == "test"]
                history = pd.read_parquet(folder / "history.parquet")
                rows += _rows(study, method, fold, seed, status, test, history)
    return _table(rows, root)


def _rows(
    study: str,
    method: str,
    fold: int | None,
    seed: int,
    status: str,
    predictions: pd.DataFrame | None = None,
    history: pd.DataFrame | None = None,
) -> list[dict[str, Any]]:
    values: Mapping[str, float] = {}
    if status == "ok" and predictions is not None and history is not None:
        values = {
            **prediction_metrics(predictions["target"], predictions["probability"]),
            **training_metrics(history["validation_loss"]),
        }
    key = {"study": study, "method": method, "variant": BASELINE, "fold": fold, "seed": seed}
    return [{**key, "metric": metric, "value": values.get(metric, math.nan), "status": status} for metric in METRICS]


def _table(rows: list[dict[str, Any]], root: Path) -> pd.DataFrame:
    table = pd.DataFrame(rows).astype({"fold": "Int64", "seed": "int64", "value": "float64"})
    if (table["status"] == "missing").all():
        raise CollectError(f"{root}: none of the runs is there; set allow_missing_runs: false, so that they are made")
    return table
