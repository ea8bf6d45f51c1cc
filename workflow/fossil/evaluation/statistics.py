"""Tests of the differences between methods, matched by run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

from fossil.config import Statistics

TESTS = ("wilcoxon", "permutation")
COLUMNS = [
    *("study", "metric", "method", "reference", "n", "n_expected", "reference_mean", "method_mean"),
    *("estimate", "low", "high", "confidence", "test", "exact", "p", "p_holm", "smallest_p", "effect_size", "note"),
]

# Differences are counted in units of 1e-12: 0.3 - 0.2 and 0.2 - 0.1 then tie, and sums of them are free of rounding.
_UNIT = 1e-12
_NO_FOLD = -1
_DEPENDENT = "fold-seed pairs are not independent: p is too small, the interval too narrow"


class StatisticsError(ValueError):
    """Methods cannot be compared; the message names the method, fold and seed, and what to do."""


def compare_methods(
    metrics: pd.DataFrame,
    *,
    study: str,
    methods: list[str],
    reference: str,
    statistics: Statistics,
    allow_missing: bool,
) -> pd.DataFrame:
    """Compare every method with the reference, on every metric, over the (fold, seed) runs that both have.

    Parameters
    ----------
    metrics : DataFrame
        Long: study, method, variant, fold (missing in a study without folds), seed, metric, value, status. A value
        counts where its status is "ok" and it is a number.
    methods : list of str
        The reference among them; the others are compared with it, and Holm's correction is over them.
    allow_missing : bool
        Drop a pair of which one run is missing, failed or undefined; then n < n_expected. Otherwise an error.

    Returns
    -------
    DataFrame
        One row per metric, method and test ("wilcoxon", "permutation"), with the columns `COLUMNS`; none where the
        reference is the only method.

        estimate, low, high : mean of reference minus method with its BCa bootstrap interval (Efron 1987). Where all
        differences are equal the interval is that point; with fewer than two pairs it is NaN. ``note`` says so.
        exact : whether p comes from all 2^n sign flips, or from ``statistics.shuffles`` random ones.
        p : two-sided; 1 where all differences are zero, NaN without pairs. p_holm is corrected within metric and test
        over the methods that have a p.
        smallest_p : what the test gives at least where m pairs differ: 2/2^m, and not below 2/(shuffles + 1)
            where random flips are drawn.
        effect_size : matched-pairs rank-biserial correlation (Kerby 2014), in [-1, 1], positive where the reference
        has the higher values, 0 where all differences are zero.

    Raises
    ------
    StatisticsError
        Where the study or the reference is absent, a run is there twice, or a pair is incomplete and may not be.

    Notes
    -----
    Fold-seed pairs of a cross-validation are not independent: folds share training images, and seeds share folds.
    p and interval of such pairs are too small and too narrow. Pairs of a study that draws its data anew with each seed
    are independent.
    """
    rows = metrics[(metrics["study"] == study) & metrics["method"].isin(methods)]
    if reference not in methods or rows.empty:
        found = ", ".join(sorted(metrics["study"].astype(str).unique())) or "none"
        raise StatisticsError(
            f"study {study}, reference {reference}: no rows, or the reference is not among {methods}. "
            f"Studies found: {found}. Give the metrics of that study and put the reference into its methods"
        )
    rows = rows.assign(fold=rows["fold"].astype("Int64").fillna(_NO_FOLD).astype("int64"))
    values = _values(rows, methods)
    if not allow_missing:
        _require_complete(values, rows)
    if list(values.columns) == [reference]:
        return pd.DataFrame(columns=COLUMNS)
    found = pd.DataFrame(list(_comparisons(values, reference, statistics)))
    found["p_holm"] = found.groupby(["metric", "test"])["p"].transform(_holm)
    if (rows["fold"] != _NO_FOLD).any():
        found["note"] = [f"{_DEPENDENT}; {note}" if note else _DEPENDENT for note in found["note"]]
    return found.assign(study=study, reference=reference, confidence=statistics.confidence)[COLUMNS]


def rank_biserial(differences: NDArray[np.float64]) -> float:
    """Share of the rank sum that is positive minus the share that is negative, zeros left out; shape (n,)."""
    differences = differences[differences != 0]
    if not differences.size:
        return 0.0
    ranks = stats.rankdata(np.abs(differences))
    return float((ranks * np.sign(differences)).sum() / ranks.sum())


def wilcoxon_p(differences: NDArray[np.float64], statistics: Statistics) -> tuple[float, bool]:
    """Two-sided p of the signed-rank statistic, zeros left out and ties at their mean rank; shape (n,).

    Returns p, and whether it is exact. Without ties it is. With ties the tabulated null distribution is wrong, so the
    statistic is permuted: over all 2^n sign flips where they are at most ``shuffles``, else over random ones.
    """
    differences = differences[differences != 0]
    if not differences.size:
        return 1.0, True
    if np.unique(np.abs(differences)).size == differences.size:
        return float(stats.wilcoxon(differences, method="exact").pvalue), True
    permuted = stats.PermutationMethod(n_resamples=statistics.shuffles, rng=np.random.default_rng(statistics.seed))
    return float(stats.wilcoxon(differences, method=permuted).pvalue), 2**differences.size <= statistics.shuffles


def permutation_p(differences: NDArray[np.float64], statistics: Statistics) -> float:
    """Two-sided p of the mean difference under sign flips, exact where 2^n is at most ``shuffles``; shape (n,)."""
    if differences.size < 2 or not differences.any():
        return 1.0
    result = stats.permutation_test(
        (differences,),
        np.sum,
        permutation_type="samples",
        vectorized=True,
        n_resamples=statistics.shuffles,
        rng=np.random.default_rng(statistics.seed),
    )
    return float(result.pvalue)


def mean_interval(differences: NDArray[np.float64], statistics: Statistics) -> tuple[float, float, str]:
    """BCa bootstrap interval of the mean, and a note where there is none or it is a point; shape (n,)."""
    if differences.size < 2:
        return np.nan, np.nan, "fewer than two pairs: no interval"
    if np.ptp(differences) == 0:
        return differences[0], differences[0], "all differences are equal: the interval is that point"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of degenerate resamples, which are handled below
        interval = stats.bootstrap(
            (differences,),
            np.mean,
            method="BCa",
            vectorized=True,
            confidence_level=statistics.confidence,
            n_resamples=statistics.resamples,
            rng=np.random.default_rng(statistics.seed),
        ).confidence_interval
    if not np.isfinite([interval.low, interval.high]).all():
        return np.nan, np.nan, "too few resamples: no interval"
    return float(interval.low), float(interval.high), ""


def _values(rows: pd.DataFrame, methods: list[str]) -> pd.DataFrame:
    """Values by (metric, fold, seed) and method, with NaN for what is missing."""
    keys = ["metric", "fold", "seed"]
    rows = rows[rows["metric"].notna()]
    twice = rows[rows.duplicated([*keys, "method"])]
    if len(twice):
        first = twice.iloc[0]
        raise StatisticsError(
            f"{_run(first['method'], first['fold'], first['seed'])}: metric {first['metric']} is there twice. "
            "Collect the metrics again from one directory a run"
        )
    ok = rows[(rows["status"] == "ok") & rows["value"].notna()]
    runs = rows[["fold", "seed"]].drop_duplicates().sort_values(["fold", "seed"])
    grid = [(metric, *run) for metric in rows["metric"].unique() for run in runs.itertuples(index=False, name=None)]
    return (
        ok.pivot(index=keys, columns="method", values="value")
        .reindex(index=pd.MultiIndex.from_tuples(grid, names=keys), columns=methods)
        .astype(np.float64)
    )


def _require_complete(values: pd.DataFrame, rows: pd.DataFrame) -> None:
    holes = values.isna().stack()
    holes = holes[holes]
    if holes.empty:
        return
    metric, fold, seed, method = holes.index[0]
    here = rows[(rows["method"] == method) & (rows["fold"] == fold) & (rows["seed"] == seed)]
    status = next(iter(here["status"][here["metric"] == metric]), next(iter(here["status"]), "missing"))
    what = f"metric {metric} is undefined" if status == "ok" else f"the run is {status} (metric {metric})"
    raise StatisticsError(
        f"{_run(method, fold, seed)}: {what}; {len(holes)} values lack in all. "
        "Run it again, or set allow_missing_runs: true to leave the pair out and have it counted"
    )


def _run(method: str, fold: int, seed: int) -> str:
    return f"method {method}, {'' if fold == _NO_FOLD else f'fold {fold}, '}seed {seed}"


def _comparisons(values: pd.DataFrame, reference: str, statistics: Statistics) -> Iterator[dict[str, Any]]:
    for metric, of_metric in values.groupby(level="metric", sort=False):
        for method in of_metric.columns.drop(reference):
            pairs = of_metric[[reference, method]].dropna()
            for row in _compare(pairs[reference].to_numpy(), pairs[method].to_numpy(), len(of_metric), statistics):
                yield {"metric": metric, "method": method, **row}


def _compare(
    reference: NDArray[np.float64], method: NDArray[np.float64], expected: int, statistics: Statistics
) -> list[dict[str, Any]]:
    """Compare matched values of shape (n,); one row a test."""
    n = len(reference)
    units = np.rint((reference - method) / _UNIT)
    low, high, note = mean_interval(units * _UNIT, statistics)
    zeros = n - np.count_nonzero(units)
    notes = [
        f"{expected - n} of {expected} pairs missing" if n < expected else "",
        f"{zeros} of {n} differences are zero" if zeros else "",
        note,
    ]
    shared = {
        "n": n,
        "n_expected": expected,
        "reference_mean": reference.mean() if n else np.nan,
        "method_mean": method.mean() if n else np.nan,
        "estimate": units.mean() * _UNIT if n else np.nan,
        "low": low,
        "high": high,
        "effect_size": rank_biserial(units) if n else np.nan,
        "note": "; ".join(filter(None, notes)),
    }
    enumerated = 2**n <= statistics.shuffles
    ps = {"wilcoxon": wilcoxon_p(units, statistics), "permutation": (permutation_p(units, statistics), enumerated)}
    return [
        {
            **shared,
            "test": test,
            "exact": exact,
            "p": p if n else np.nan,
            "smallest_p": _smallest_p(n - zeros, exact=exact, statistics=statistics) if n else np.nan,
        }
        for test, (p, exact) in ps.items()
    ]


def _smallest_p(decisive: int, *, exact: bool, statistics: Statistics) -> float:
    """Give the least p of a test in which that many pairs differ."""
    return min(1.0, max(2 / 2**decisive, 0.0 if exact else 2 / (statistics.shuffles + 1)))


def _holm(p: pd.Series) -> pd.Series:
    """Holm's correction of the p that are numbers; NaN stays NaN."""
    numbers = p.dropna()
    if numbers.empty:
        return p
    return pd.Series(multipletests(numbers, method="holm")[1], index=numbers.index).reindex(p.index)
