"""Long tables of measurements of trainings in folds; a missing run is a row with its status."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from fossil.design.comparisons import Row
from fossil.runtime.files import read_json

Role = Literal["validation", "test"]

_KEYS = ["study", "scenario", "method", "variant", "fold", "seed"]


class CollectError(ValueError):
    """There is nothing to collect, or files contradict each other; the message names them and what to do."""


def measure_folds(
    root: Path,
    measure: Callable[[Path], Mapping[str, Any]],
    *,
    names: Sequence[str],
    study: str,
    rows: Sequence[Row],
    folds: int,
    seeds: Sequence[int],
) -> pd.DataFrame:
    """Measure every training in folds: ``root/{method}-{variant}/fold{f}-seed{s}``.

    Parameters
    ----------
    measure : callable
        From the folder of a run that ended well to its metrics, by name.
    names : sequence of str
        The metrics, in the order of the table.

    Returns
    -------
    DataFrame
        The columns are those of `collect_stacked`; the scenario is the data set's name.

    Raises
    ------
    CollectError
        Where every run is missing, or one cannot be measured.
    """
    runs = [
        {
            **{"scenario": row.scenario, "method": row.method, "variant": row.variant, "fold": fold, "seed": seed},
            **_fold_run(root / f"{row.method}-{row.variant}" / f"fold{fold}-seed{seed}", measure),
        }
        for row, fold, seed in product(rows, range(folds), seeds)
    ]
    return long_table(pd.DataFrame(runs), study, names)


def fold_predictions(folder: Path, role: Role) -> pd.DataFrame:
    """Read target and probability of a run's images of one role ("validation", "test")."""
    predictions = pd.read_parquet(folder / "predictions.parquet", columns=["role", "target", "probability"])
    return predictions[predictions["role"] == role]


def long_table(runs: pd.DataFrame, study: str, names: Sequence[str]) -> pd.DataFrame:
    """Reshape one row per run to one row per run and metric.

    Parameters
    ----------
    runs : DataFrame
        scenario, method, variant, fold, seed, status, and a column a metric; one that lacks is NaN throughout.

    Raises
    ------
    CollectError
        Where every run is missing.
    """
    if (runs["status"] == "missing").all():
        raise CollectError(
            f"study {study}: none of its runs is there; set allow_missing_runs: false, so that they are made"
        )
    values = runs.reindex(columns=names).to_numpy(dtype=np.float64)
    keys = runs.assign(study=study)[[*_KEYS, "status"]]
    table = keys.loc[keys.index.repeat(len(names))].assign(metric=np.tile(names, len(runs)), value=values.ravel())
    table = table.astype({"fold": "Int64", "seed": "int64", "status": "str"})
    return table[[*_KEYS, "metric", "value", "status"]].reset_index(drop=True)


def _fold_run(folder: Path, measure: Callable[[Path], Mapping[str, Any]]) -> dict[str, Any]:
    """Return the status of a run and, where it is ok, its metrics."""
    if not (folder / "run.json").exists():
        return {"status": "missing"}
    status = read_json(folder / "run.json")["status"]
    if status != "ok":
        return {"status": status}
    try:
        return {"status": status, **measure(folder)}
    except ValueError as error:
        raise CollectError(f"{folder}: {error}") from error
