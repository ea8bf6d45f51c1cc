"""Metrics of models on an external data set, and their gaps to the internal test images."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from fossil.design.comparisons import Row
from fossil.evaluation.fold_runs import long_table
from fossil.evaluation.metrics import PREDICTION_METRICS, prediction_metrics
from fossil.runtime.files import read_json

GAP = "generalization_gap"
CONSTANT_GAP = "generalization_gap_constant"
TRANSFER_METRICS = (*PREDICTION_METRICS, GAP, CONSTANT_GAP)

_RUN = ["method", "variant", "fold", "seed"]


def collect_transfer(
    root: Path,
    internal: pd.DataFrame,
    *,
    study: str,
    rows: Sequence[Row],
    folds: int,
    seeds: Sequence[int],
) -> pd.DataFrame:
    """Compute metrics and generalisation gaps from ``root/{method}-{variant}/predictions.parquet`` and ``run.json``.

    Parameters
    ----------
    internal : DataFrame
        Long table of the metrics of the same models on the test images of their own folds.
    rows : sequence of Row
        Of the data set that was predicted.

    Returns
    -------
    DataFrame
        The columns of `fossil.evaluation.collect.collect_folds`; fold and seed are those of the model.
        generalization_gap is the AUC here minus the AUC of the same model on its test images;
        generalization_gap_constant subtracts the mean of all the row's models, as the paper does, whose deviation is
        then that of the AUC alone.
    """
    auc = internal[(internal["metric"] == "auc") & (internal["status"] == "ok")].set_index(_RUN)["value"]
    run_rows = []
    for row in rows:
        runs = _runs(root / f"{row.method}-{row.variant}")
        same = {run: auc.get((row.method, row.variant, *run), float("nan")) for run in product(range(folds), seeds)}
        mean = pd.Series(same).mean()
        for (fold, seed), internal_auc in same.items():
            run = runs.get((fold, seed), {"status": "missing"})
            if run["status"] == "ok":
                run |= {GAP: run["auc"] - internal_auc, CONSTANT_GAP: run["auc"] - mean}
            key = {"scenario": row.scenario, "method": row.method, "variant": row.variant, "fold": fold, "seed": seed}
            run_rows.append({**key, **run})
    return long_table(pd.DataFrame(run_rows), study, TRANSFER_METRICS)


def _runs(folder: Path) -> dict[tuple[int, int], dict[str, Any]]:
    """Return status and metrics of every run of a method and variant, by fold and seed."""
    if not (folder / "run.json").exists():
        return {}
    failed = read_json(folder / "run.json")["failed"]
    runs: dict[tuple[int, int], dict[str, Any]] = {(run["fold"], run["seed"]): {"status": "failed"} for run in failed}
    predictions = pd.read_parquet(folder / "predictions.parquet")
    for run, predicted in predictions.groupby(["fold", "seed"]):
        runs[run] = {"status": "ok", **prediction_metrics(predicted["target"], predicted["probability"])}
    return runs
