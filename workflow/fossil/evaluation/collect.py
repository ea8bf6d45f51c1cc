"""Long tables of metrics from the files of the runs; a missing run is a row with its status."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fossil.design.comparisons import Row
from fossil.evaluation.fold_runs import CollectError, Role, fold_predictions, long_table, measure_folds
from fossil.evaluation.metrics import RUN_METRICS, prediction_metrics, training_metrics
from fossil.runtime.files import read_json

_RUN = ["scenario", "method", "variant", "seed"]
_Metrics = Callable[[NDArray[np.float64], NDArray[np.float64]], Mapping[str, NDArray[np.float64]]]


def collect_stacked(records: Sequence[Path], *, study: str, rows: Sequence[Row], seeds: Sequence[int]) -> pd.DataFrame:
    """Compute the metrics of every run of a synthetic study.

    Parameters
    ----------
    records : sequence of Path
        ``run.json`` of each training job; ``predictions.parquet`` and ``history.parquet`` are next to it.
    rows : sequence of Row
        The expected rows. A repeated row counts once.

    Returns
    -------
    DataFrame
        Long, in the order of rows, seeds and metrics: study, scenario, method, variant, fold (missing), seed, metric,
        value, status ("ok", "failed" where a record says so, "missing" where no job has the run).

    Raises
    ------
    CollectError
        Where every run is missing, two jobs have the same run, or a run has predictions without epochs.
    """
    places = dict.fromkeys((row.scenario, row.method, row.variant) for row in rows)
    wanted = pd.MultiIndex.from_tuples([(*place, seed) for place, seed in product(places, seeds)], names=_RUN)
    jobs = {record.parent: _job(record, wanted) for record in sorted(records)}
    runs_found = pd.concat([pd.DataFrame(columns=["status", *RUN_METRICS], index=wanted[:0]), *jobs.values()])
    twice = runs_found.index[runs_found.index.duplicated()]
    if len(twice):
        folders = " and ".join(str(folder) for folder, job in jobs.items() if twice[0] in job.index)
        raise CollectError(f"{_name(twice[0])} is in {folders}; delete all but one of these folders")
    runs = runs_found.reindex(wanted)
    return long_table(runs.assign(status=runs["status"].fillna("missing"), fold=None).reset_index(), study, RUN_METRICS)


def collect_folds(
    root: Path, *, study: str, rows: Sequence[Row], folds: int, seeds: Sequence[int], role: Role = "test"
) -> pd.DataFrame:
    """Compute the metrics of trainings in folds: ``root/{method}-{variant}/fold{f}-seed{s}``.

    The columns are those of `collect_stacked`. The images measured are those of a role.
    """

    def measure(folder: Path) -> dict[str, Any]:
        predictions = fold_predictions(folder, role)
        history = pd.read_parquet(folder / "history.parquet", columns=["epoch", "validation_loss", "n_eff"])
        history = history.sort_values("epoch")
        return {
            **prediction_metrics(predictions["target"], predictions["probability"]),
            **training_metrics(history["validation_loss"], history["n_eff"]),
        }

    return measure_folds(root, measure, names=RUN_METRICS, study=study, rows=rows, folds=folds, seeds=seeds)


def _job(record: Path, wanted: pd.MultiIndex) -> pd.DataFrame:
    """Return status and metrics, one row per run, of the wanted runs of a training job."""
    failed = wanted.intersection([tuple(run[key] for key in _RUN) for run in read_json(record)["failed"]])
    folder, sound = record.parent, wanted.difference(failed, sort=False)
    predicted = _measure(folder / "predictions.parquet", "sample", ["target", "probability"], prediction_metrics, sound)
    trained = _measure(folder / "history.parquet", "epoch", ["validation_loss", "n_eff"], training_metrics, sound)
    apart = predicted.index.symmetric_difference(trained.index)
    if len(apart):
        raise CollectError(
            f"{_name(apart[0])} is in one of predictions.parquet and history.parquet of {folder} only; "
            "delete the folder, so that its runs are made again"
        )
    measured = predicted.join(trained).assign(status="ok")
    return pd.concat([measured, pd.DataFrame({"status": "failed"}, index=failed)])


def _measure(
    path: Path, position: str, columns: Collection[str], metrics: _Metrics, wanted: pd.MultiIndex
) -> pd.DataFrame:
    """Compute metrics of two columns of a file, one row per run; runs of equal length are computed together."""
    frame = pd.read_parquet(path, columns=[*_RUN, position, *columns])
    groups = frame.groupby(_RUN, sort=False)
    lengths = groups.size()
    runs, starts = lengths.index, (lengths.cumsum() - lengths).to_numpy()
    order = np.lexsort((frame[position], groups.ngroup()))
    lengths = lengths.where(runs.isin(wanted), 0).to_numpy()
    parts = [pd.DataFrame(index=runs[:0])]
    for length in np.unique(lengths[lengths > 0]):
        which = np.flatnonzero(lengths == length)
        rows = order[starts[which][:, None] + np.arange(length)]
        first, second = (frame[column].to_numpy()[rows] for column in columns)
        parts.append(pd.DataFrame(metrics(first, second), index=runs[which]))
    return pd.concat(parts)


def _name(run: tuple[str, str, str, int]) -> str:
    scenario, method, variant, seed = run
    return f"run {scenario}/{method}-{variant}, seed {seed}"
