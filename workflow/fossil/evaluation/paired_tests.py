"""Tests of paired differences, for many comparisons at once: those with equally many pairs are one stack."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from fossil.config.statistics import Statistics

# Differences are counted in units of 1e-12: 0.3 - 0.2 and 0.2 - 0.1 then tie, and so do sums and means that are equal.
UNIT = 1e-12
# Numbers that a step holds at once.
_BATCH = 4_000_000

_Array = NDArray[np.float64]


def analyse_pairs(differences: Sequence[_Array], *, expected: Sequence[int], statistics: Statistics) -> pd.DataFrame:
    """Test each of several sets of paired differences against zero.

    Parameters
    ----------
    differences : sequence of array, shapes (n_1,), (n_2,), ...
        The differences of each comparison; none of them NaN.
    expected : sequence of int
        How many pairs each comparison should have; a note says how many lack.

    Returns
    -------
    DataFrame
        One row per comparison (its position) and test ("wilcoxon", "permutation"), in this order.

        n, n_expected : available and expected pairs.
        estimate, low, high, confidence : mean difference with its BCa bootstrap interval (Efron 1987). Where all
        differences are equal the interval is that point; with fewer than two pairs it is NaN. ``note`` says so.
        exact : whether p comes from the whole null distribution, or from ``statistics.shuffles`` random sign flips.
        p : two-sided; 1 where all differences are zero, NaN without pairs.
        smallest_p : what the test gives at least where m pairs differ: 2/2^m, and not below 2/(shuffles + 1)
            where random flips are drawn.
        effect_size : matched-pairs rank-biserial correlation (Kerby 2014), in [-1, 1], positive where the differences
        are, 0 where all are zero.
    """
    sizes = np.array([len(values) for values in differences])
    parts = []
    for n in np.unique(sizes):
        at = np.flatnonzero(sizes == n)
        units = in_units(np.array([differences[k] for k in at.tolist()]))
        parts.append(_test_stack(units, np.asarray(expected)[at], statistics).assign(comparison=np.tile(at, 2)))
    return pd.concat(parts).sort_values("comparison", kind="stable", ignore_index=True)


def in_units(differences: _Array) -> _Array:
    """Convert differences to integer units of 1e-12, so that values which differ by rounding alone tie."""
    return np.rint(differences / UNIT)


def rank_biserial(differences: _Array) -> _Array:
    """Compute the rank-biserial correlation: positive minus negative share of the rank sum; (k, n) to (k,)."""
    zeros = (differences == 0).sum(axis=-1, keepdims=True)
    # Zeros have the lowest ranks: without them every other rank is lower by their number.
    ranks = np.where(differences == 0, 0, stats.rankdata(np.abs(differences), axis=-1) - zeros)
    return (ranks * np.sign(differences)).sum(axis=-1) / np.maximum(ranks.sum(axis=-1), 1)


def wilcoxon_p(differences: _Array, statistics: Statistics) -> tuple[_Array, NDArray[np.bool_]]:
    """Compute the two-sided p of the signed-rank statistic, without zeros, ties at their mean rank; shape (k, n).

    Returns p, and whether it is exact, both of shape (k,). Without ties it is. With ties the tabulated null
    distribution is wrong, so the signs are flipped as in `flip_p`.
    """
    p, exact = np.ones(len(differences)), np.ones(len(differences), dtype=bool)
    decisive = (differences != 0).sum(axis=-1)
    for m in np.unique(decisive[decisive > 0]):
        rows = np.flatnonzero(decisive == m)
        kept = differences[rows]
        kept = kept[kept != 0].reshape(len(rows), m)
        tied = (np.diff(np.sort(np.abs(kept), axis=-1), axis=-1) == 0).any(axis=-1)
        if not tied.all():
            p[rows[~tied]] = stats.wilcoxon(kept[~tied], method="exact", axis=-1).pvalue
        signed_ranks = np.sign(kept[tied]) * stats.rankdata(np.abs(kept[tied]), axis=-1)
        p[rows[tied]], exact[rows[tied]] = flip_p(signed_ranks, statistics)
    return p, exact


def flip_p(values: _Array, statistics: Statistics) -> tuple[_Array, bool]:
    """Compute the two-sided p of the sums of rows under sign flips; shape (k, n) to (k,).

    Returns p, and whether it is exact: over all 2^n flips where they are at most ``shuffles``, else over that many
    random ones, to which the flips that were observed are added (Phipson and Smyth 2010).
    """
    n = values.shape[-1]
    exact = 2**n <= statistics.shuffles
    if n < 2:
        return np.ones(len(values)), exact
    result = stats.permutation_test(
        (values,),
        np.sum,
        permutation_type="samples",
        vectorized=True,
        axis=-1,
        n_resamples=statistics.shuffles,
        batch=max(1, _BATCH // max(1, values.size)),
        rng=np.random.default_rng(statistics.seed),
    )
    return result.pvalue, exact


def mean_intervals(differences: _Array, statistics: Statistics) -> tuple[_Array, _Array, list[str]]:
    """Compute BCa bootstrap intervals of rows' means, with notes on missing or degenerate ones; shape (k, n)."""
    k, n = differences.shape
    if n < 2:
        return np.full(k, np.nan), np.full(k, np.nan), ["fewer than two pairs: no interval"] * k
    low, high = differences[:, 0].copy(), differences[:, 0].copy()
    varied = np.flatnonzero(np.ptp(differences, axis=-1) > 0)
    for batch in _batches(len(varied), each=statistics.resamples * n):
        rows = varied[batch]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of degenerate resamples, which are handled below
            interval = stats.bootstrap(
                (differences[rows],),
                np.mean,
                method="BCa",
                vectorized=True,
                axis=-1,
                confidence_level=statistics.confidence,
                n_resamples=statistics.resamples,
                rng=np.random.default_rng(statistics.seed),
            ).confidence_interval
        finite = np.isfinite(interval.low) & np.isfinite(interval.high)
        low[rows], high[rows] = np.where(finite, interval.low, np.nan), np.where(finite, interval.high, np.nan)
    notes = np.full(k, "all differences are equal: the interval is that point", dtype=object)
    notes[varied] = np.where(np.isnan(low[varied]), "too few resamples: no interval", "")
    return low, high, notes.tolist()


def holm(p: pd.Series) -> pd.Series:
    """Correct the p that are numbers by Holm's procedure (1979); NaN stays NaN.

    The same as ``multipletests`` of statsmodels, whose import takes longer than all tests of a study.
    """
    ordered = p.dropna().sort_values()
    corrected: pd.Series = np.minimum(1, np.maximum.accumulate(ordered * np.arange(len(ordered), 0, -1)))
    return corrected.reindex(p.index)


def _test_stack(units: _Array, expected: NDArray[np.int64], statistics: Statistics) -> pd.DataFrame:
    """Test rows of shape (k, n), in units; first all rows of one test, then all of the other."""
    n = units.shape[-1]
    decisive = (units != 0).sum(axis=-1)
    low, high, notes = mean_intervals(units, statistics)
    shared = {
        "n": n,
        "n_expected": expected,
        "estimate": units.mean(axis=-1) * UNIT if n else np.nan,
        "low": low * UNIT,
        "high": high * UNIT,
        "confidence": statistics.confidence,
        "effect_size": rank_biserial(units) if n else np.nan,
        "note": [_note(n, *of_row) for of_row in zip(expected, n - decisive, notes, strict=True)],
    }
    results = {"wilcoxon": wilcoxon_p(units, statistics), "permutation": flip_p(units, statistics)}
    tests = [
        pd.DataFrame({**shared, "test": test, "exact": exact, "p": p if n else np.nan})
        for test, (p, exact) in results.items()
    ]
    both = pd.concat(tests)
    least = np.maximum(2.0 ** (1 - np.tile(decisive, 2)), np.where(both["exact"], 0, 2 / (statistics.shuffles + 1)))
    return both.assign(smallest_p=np.minimum(1, least) if n else np.nan)


def _note(n: int, expected: int, zeros: int, of_interval: str) -> str:
    parts = [
        f"{expected - n} of {expected} pairs missing" if n < expected else "",
        f"{zeros} of {n} differences are zero" if zeros else "",
        of_interval,
    ]
    return "; ".join(filter(None, parts))


def _batches(total: int, *, each: int) -> Iterator[slice]:
    """Yield slices of a range so that each has about _BATCH numbers, at ``each`` numbers per item."""
    size = max(1, _BATCH // each)
    yield from (slice(start, start + size) for start in range(0, total, size))
