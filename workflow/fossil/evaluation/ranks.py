"""Mean ranks of the rows of a block, with the tests of Friedman and Nemenyi."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, lgamma
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from fossil.design.comparisons import Block
from fossil.evaluation.metrics import METRICS, RANKED
from fossil.evaluation.run_values import StatisticsError, run_values

COLUMNS = [
    *("study", "block", "metric", "scenario", "method", "variant", "mean_rank", "n", "n_expected", "k"),
    *("chi2", "p_friedman", "f", "p_iman_davenport", "critical_difference", "alpha", "unit"),
]

# Values that are equal but for rounding tie.
_DECIMALS = 12
# The test needs three rows: two are compared by the signed ranks of their differences.
_FEWEST = 3
# One unit alone says nothing of the next.
_FEWEST_UNITS = 2

_Array = NDArray[np.float64]


@dataclass(frozen=True)
class Friedman:
    """Statistics and p of Friedman's test and of Iman and Davenport's form of it; NaN where undefined."""

    chi2: float
    p_chi2: float
    f: float
    p_f: float


def unit_ranks(values: _Array, *, lower_is_better: bool) -> _Array:
    """Rank the k rows within each of n units, from 1 for the best, ties at their mean rank; shape (n, k)."""
    rounded = np.round(values, _DECIMALS)
    return stats.rankdata(rounded if lower_is_better else -rounded, axis=-1)


def friedman(ranks: _Array) -> Friedman:
    """Test whether k rows have the same rank in expectation.

    Friedman's chi2 with k - 1 degrees of freedom, corrected for ties, and from it Iman and Davenport's
    F = (n - 1) chi2 / (n (k - 1) - chi2) with k - 1 and (k - 1)(n - 1), which is less conservative (Demsar 2006, JMLR
    7:1-30, section 3.2.2). Both distributions are approximations for many units: Demsar asks for more than 10, of more
    than 5 rows. With few units they give less than any p of the test's own distribution, over the k! orders of the rows
    in each unit: the smallest is (k!)^-(n - 1), that of units which all agree, and neither p is below that.

    Parameters
    ----------
    ranks : array, shape (n, k)
        Of each unit.

    Returns
    -------
    Friedman
        All NaN with fewer than two units or three rows. Where all rows tie in every unit chi2 and F are 0 and p is 1;
        where all units agree F is infinite.
    """
    n, k = ranks.shape
    if n < _FEWEST_UNITS or k < _FEWEST:
        return Friedman(np.nan, np.nan, np.nan, np.nan)
    if (np.ptp(ranks, axis=-1) == 0).all():
        return Friedman(0.0, 1.0, 0.0, 1.0)
    chi2, p_chi2 = map(float, stats.friedmanchisquare(*ranks.T))
    left = n * (k - 1) - chi2
    f = (n - 1) * chi2 / left if left > _tolerance(n, k) else np.inf
    p_f = float(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))
    smallest = exp(-(n - 1) * lgamma(k + 1))
    return Friedman(chi2, max(p_chi2, smallest), f, max(p_f, smallest))


def critical_difference(*, rows: int, units: int, alpha: float) -> float:
    """Compute Nemenyi's critical difference of mean ranks at level alpha, over all pairs of rows at once.

    Nemenyi's test: q sqrt(k (k + 1) / (6 n)), q being the studentized range of k rows and infinitely many degrees of
    freedom over the root of 2 (Demsar 2006, section 3.2.2); NaN with fewer than two units or three rows.
    """
    if units < _FEWEST_UNITS or rows < _FEWEST:
        return np.nan
    q = float(stats.studentized_range.ppf(1 - alpha, rows, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(rows * (rows + 1) / (6 * units)))


def rank_rows(
    metrics: pd.DataFrame, *, study: str, blocks: Sequence[Block], alpha: float, allow_missing: bool
) -> pd.DataFrame:
    """Rank the rows of every block of three rows or more, by each of the metrics `RANKED` that they have.

    The units are the seeds, or, where there are several folds, these: a row then has its means over seeds, since
    fold-seed pairs are not independent. Nor are folds, which share training images: over them p is too small and the
    critical difference too short.

    Parameters
    ----------
    metrics : DataFrame
        Long: study, scenario, method, variant, fold (missing in a study without folds), seed, metric, value, status.
    alpha : float
        Level of the critical difference.
    allow_missing : bool
        Leave out first a row without any value, and then a seed in which one of the others is missing, failed or
        undefined, in its fold if there are several; then a fold without any seed is left out, and n < n_expected.
        Otherwise an error.

    Returns
    -------
    DataFrame
        One row per block, metric and row, with the columns `COLUMNS`: the mean rank over n units (1 is the best; NaN
        without units, and of a row without any value), and of the k rows that have values together what `friedman` and
        `critical_difference` give.

    Raises
    ------
    StatisticsError
        Where the study is absent, a run is repeated, or missing and may not be.
    """
    of_study = metrics[metrics["study"] == study]
    if of_study.empty:
        raise StatisticsError(f"study {study}: no rows. Give the metrics of that study")
    names = [name for name in RANKED if (of_study["metric"] == name).any()]
    rows: list[dict[str, Any]] = []
    for block in blocks:
        if len(block.rows) < _FEWEST:
            continue
        keys = [row.key for row in block.rows]
        values = run_values(of_study, keys=keys, seeds=block.seeds, names=names, allow_missing=allow_missing)
        for metric in names:
            rows += _of_metric(values.loc[metric], block, metric, alpha)
    return pd.DataFrame(rows, columns=COLUMNS[1:]).assign(study=study)[COLUMNS]


def _of_metric(values: pd.DataFrame, block: Block, metric: str, alpha: float) -> Iterator[dict[str, Any]]:
    unit = "fold" if len(values.index.unique("fold")) > 1 else "seed"
    present = values.columns[values.notna().any()]
    complete = values[present].dropna().groupby(unit).mean().to_numpy()
    n, k = complete.shape
    ranks = unit_ranks(complete, lower_is_better=METRICS[metric].lower_is_better)
    test = friedman(ranks)
    shared = {
        **{"n": n, "n_expected": len(values.index.unique(unit)), "k": k},
        **{"chi2": test.chi2, "p_friedman": test.p_chi2, "f": test.f, "p_iman_davenport": test.p_f},
        "critical_difference": critical_difference(rows=k, units=n, alpha=alpha),
        **{"alpha": alpha, "unit": unit},
    }
    means = dict(zip(present, ranks.mean(axis=0).tolist(), strict=True)) if n else {}
    for row in block.rows:
        key = {"scenario": row.scenario, "method": row.method, "variant": row.variant}
        yield {"block": block.name, "metric": metric, **key, "mean_rank": means.get(row.key, np.nan), **shared}


def _tolerance(n: int, k: int) -> float:
    """Return how far a chi2 of perfect agreement, n (k - 1), may be off by rounding."""
    return 1e-9 * n * k
