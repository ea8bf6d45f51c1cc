"""t-tests of paired differences between methods in folds, whose pairs are dependent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from fossil.config.statistics import Statistics
from fossil.evaluation.paired_tests import UNIT, in_units, rank_biserial

FOLD_TESTS = ("corrected_t", "fold_means")
"""Tests that there are in addition where models were trained in several folds."""

_SHARED = {
    "corrected_t": "seeds of one fold count as divisions of their own",
    "fold_means": "folds share training images",
}

_Array = NDArray[np.float64]


def analyse_folds(
    differences: Sequence[_Array],
    folds: Sequence[NDArray[np.int64]],
    *,
    expected: Sequence[int],
    folds_expected: Sequence[int],
    test_train_ratio: float,
    statistics: Statistics,
) -> pd.DataFrame:
    """Test each of several sets of paired differences against zero, corrected for training images that folds share.

    corrected_t : the corrected resampled t-test of Nadeau and Bengio (2003, Machine Learning 52:239-281, eq. 8) over
        the n fold-seed differences: their mean over the root of (1/n + test_train_ratio) times their variance, with
        n - 1 degrees of freedom. The correction is that of divisions drawn at random and independently; here seeds
        share folds, which it does not count.
    fold_means : the one-sample t-test of the k means over seeds of the differences within a fold, with k - 1 degrees of
        freedom. It counts no seed twice, but does not correct for training images that folds share.

    Parameters
    ----------
    differences, folds : sequence of array, shapes (n_1,), (n_2,), ...
        The differences of each comparison, none of them NaN, and the fold that each is of.
    expected, folds_expected : sequence of int
        How many pairs, and how many folds, each comparison should have; a note says how many lack.
    test_train_ratio : float
        Images that test in a fold over images that train there; 0 makes corrected_t the ordinary t-test.

    Returns
    -------
    DataFrame
        One row per comparison (its position) and test (`FOLD_TESTS`), in this order, with the columns of
        `fossil.evaluation.paired_tests.analyse_pairs`.

        n, n_expected : pairs in corrected_t, folds in fold_means.
        low, high : the t-interval of the mean difference, of the test's own standard error.
        exact : False; both take differences for normal.
        p : two-sided; 1 where all differences are zero. NaN with fewer than two, and where all are equal and not zero:
            without variance there is no t, as the note says.
        smallest_p : NaN, since a t can be as large as it likes.
        effect_size : matched-pairs rank-biserial correlation, in fold_means of the means.
    """
    rows = []
    sets = zip(differences, folds, expected, folds_expected, strict=True)
    for comparison, (values, of_folds, pairs, divisions) in enumerate(sets):
        units = in_units(values)
        missing = f"{pairs - len(units)} of {pairs} pairs missing" if len(units) < pairs else ""
        means = np.array([units[of_folds == fold].mean() for fold in np.unique(of_folds)])
        shared = {"comparison": comparison, "confidence": statistics.confidence, "missing": missing}
        rows += [
            {**shared, "test": "corrected_t", "n_expected": pairs, **t_test(units, test_train_ratio, statistics)},
            {**shared, "test": "fold_means", "n_expected": divisions, **t_test(means, 0, statistics)},
        ]
    table = pd.DataFrame(rows).assign(exact=False, smallest_p=np.nan)
    table["note"] = ["; ".join(_notes(row)) for row in table.to_dict("records")]
    return table.drop(columns=["missing", "found"])


def t_test(units: _Array, ratio: float, statistics: Statistics) -> dict[str, Any]:
    """Test one set of differences against zero by t, with its interval; 0 for ratio is the one-sample t-test.

    Parameters
    ----------
    units : array, shape (n,)
        The differences, as `fossil.evaluation.paired_tests.in_units` counts them.
    ratio : float
        What the variance of their mean has more than 1/n, as in `analyse_folds`.

    Returns
    -------
    dict
        n, estimate, low, high, p and effect_size as in `analyse_folds`; found says where there is no test.
    """
    n = len(units)
    mean = float(units.mean()) if n else np.nan
    summary = {"n": n, "estimate": mean * UNIT, "effect_size": float(rank_biserial(units[None])[0]) if n else np.nan}
    if n < 2:
        return {**summary, "low": np.nan, "high": np.nan, "p": np.nan, "found": "fewer than two: no test"}
    if np.ptp(units) == 0:
        equal = "all differences are equal: the interval is that point"
        p, note = (1.0, equal) if mean == 0 else (np.nan, f"{equal}, and there is no test")
        return {**summary, "low": mean * UNIT, "high": mean * UNIT, "p": p, "found": note}
    error = float(np.sqrt((1 / n + ratio) * units.var(ddof=1)))
    reach = float(stats.t.ppf((1 + statistics.confidence) / 2, n - 1)) * error
    p = float(2 * stats.t.sf(abs(mean) / error, n - 1))
    return {**summary, "low": (mean - reach) * UNIT, "high": (mean + reach) * UNIT, "p": p, "found": ""}


def _notes(row: dict[str, Any]) -> Iterator[str]:
    yield _SHARED[row["test"]]
    if row["n"] < row["n_expected"] and row["test"] == "fold_means":
        yield f"{row['n_expected'] - row['n']} of {row['n_expected']} folds missing"
    if row["missing"]:
        means = row["test"] == "fold_means" and row["n"]
        yield f"{row['missing']}{': means of the available seeds' if means else ''}"
    if row["found"]:
        yield row["found"]
