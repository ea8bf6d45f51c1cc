"""Values of runs, matched by fold and seed, and messages about missing ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fossil.design.comparisons import row_key

NO_FOLD = -1

_INDEX = ["metric", "fold", "seed"]


class StatisticsError(ValueError):
    """Runs cannot be compared; the message names the row, fold and seed, and what to do."""


def run_values(
    metrics: pd.DataFrame,
    *,
    keys: Sequence[str],
    seeds: Sequence[int] | None,
    names: Sequence[str] | None,
    allow_missing: bool,
) -> pd.DataFrame:
    """Return values by (metric, fold, seed) and row; NaN for missing ones.

    Parameters
    ----------
    metrics : DataFrame
        Long: scenario, method, variant, fold (missing in a study without folds), seed, metric, value, status. A value
        counts where its status is "ok" and it is a number.
    keys : sequence of str
        The rows, as scenario/method-variant, which become the columns.
    seeds : sequence of int or None
        The seeds that count; None for those that any of the rows has.
    names : sequence of str or None
        The metrics that count; None for those that any of the rows has.
    allow_missing : bool
        Whether a value may be missing.

    Returns
    -------
    DataFrame
        Index (metric, fold, seed), the fold `NO_FOLD` without folds. Every metric has the same runs.

    Raises
    ------
    StatisticsError
        Where no row has runs, a run is repeated, or a value is missing and may not be.
    """
    table = metrics.assign(
        key=list(map(row_key, metrics["scenario"], metrics["method"], metrics["variant"])),
        fold=metrics["fold"].astype("Int64").fillna(NO_FOLD).astype("int64"),
    )
    table = table[table["key"].isin(keys)]
    if table.empty:
        raise StatisticsError(f"none of the rows {', '.join(keys)} has runs in the metrics; collect them again")
    runs = _runs(table, seeds)
    measured = table[table["metric"].notna()]
    names = list(measured["metric"].unique()) if names is None else names
    _refuse_twins(measured)
    values = (
        measured[measured["status"] == "ok"]
        .pivot(index=_INDEX, columns="key", values="value")
        .reindex(index=pd.MultiIndex.from_tuples([(name, *run) for name in names for run in runs], names=_INDEX))
        .reindex(columns=keys)
        .astype(np.float64)
    )
    if not allow_missing:
        _require_complete(values, table)
    return values


def _runs(table: pd.DataFrame, seeds: Sequence[int] | None) -> list[tuple[int, int]]:
    """Return sorted pairs of fold and seed; a wanted seed without any run is expected in every fold."""
    runs = set(table[["fold", "seed"]].drop_duplicates().itertuples(index=False, name=None))
    if seeds is None:
        return sorted(runs)
    absent = set(seeds) - {seed for _, seed in runs}
    folds = {fold for fold, _ in runs}
    return sorted({run for run in runs if run[1] in seeds} | {(fold, seed) for fold in folds for seed in absent})


def _refuse_twins(table: pd.DataFrame) -> None:
    twins = table[table.duplicated(["key", *_INDEX])]
    if len(twins):
        first = twins.iloc[0]
        raise StatisticsError(
            f"{_run(first['key'], first['fold'], first['seed'])}: metric {first['metric']} is there twice. "
            "Collect the metrics again from one run each"
        )


def _require_complete(values: pd.DataFrame, table: pd.DataFrame) -> None:
    holes = values.isna().stack()
    holes = holes[holes]
    if holes.empty:
        return
    metric, fold, seed, key = holes.index[0]
    here = table[(table["key"] == key) & (table["fold"] == fold) & (table["seed"] == seed)]
    status = next(iter(here["status"][here["metric"] == metric]), next(iter(here["status"]), "missing"))
    what = f"metric {metric} is undefined" if status == "ok" else f"the run is {status} (metric {metric})"
    raise StatisticsError(
        f"{_run(key, fold, seed)}: {what}; {len(holes)} values lack in all. "
        "Run it again, or set allow_missing_runs: true to leave the pair out and have it counted"
    )


def _run(key: str, fold: int, seed: int) -> str:
    return f"{key}, {'' if fold == NO_FOLD else f'fold {fold}, '}seed {seed}"
