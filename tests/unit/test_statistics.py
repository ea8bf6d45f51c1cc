"""Tests of differences between methods, against hand calculation and brute force."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fossil.config import Statistics
from fossil.evaluation.statistics import (
    COLUMNS,
    StatisticsError,
    compare_methods,
    mean_interval,
    permutation_p,
    rank_biserial,
    wilcoxon_p,
)

QUICK = Statistics(resamples=500)

small_integers = st.lists(st.integers(-6, 6), min_size=2, max_size=9).map(lambda v: np.array(v, dtype=np.float64))


def long_table(values: dict[str, list[float]], *, folds: list[int] | None = None, metric: str = "auc") -> pd.DataFrame:
    """Rows of one study: per method one value a run, seeds 0, 1, ..."""
    rows = []
    for method, numbers in values.items():
        for seed, value in enumerate(numbers):
            fold = folds[seed] if folds else None
            rows.append(("study", method, "baseline", fold, seed, metric, value, "ok"))
    frame = pd.DataFrame(rows, columns=["study", "method", "variant", "fold", "seed", "metric", "value", "status"])
    return frame.astype({"fold": "Int64", "seed": "int64"})


def compare(metrics: pd.DataFrame, **changes: Any) -> pd.DataFrame:
    """Compare with "r" over the methods of the table."""
    options = {"study": "study", "methods": list(dict.fromkeys(metrics["method"])), "reference": "r"}
    options |= {"statistics": QUICK, "allow_missing": False}
    return compare_methods(metrics, **(options | changes))


def all_sign_flips(differences: np.ndarray) -> np.ndarray:
    """Every sign flip of the absolute differences, shape (2^n, n)."""
    return np.array(list(itertools.product([-1, 1], repeat=len(differences)))) * np.abs(differences)


def two_sided(null: np.ndarray, observed: float) -> float:
    """Doubled smaller tail of an enumerated null distribution."""
    return min(1.0, 2 * min((null <= observed + 1e-9).mean(), (null >= observed - 1e-9).mean()))


# Two-sided p of a positive rank sum W with n pairs, from published tables of the exact null distribution.
@pytest.mark.parametrize(
    ("n", "negative_ranks", "p"),
    [
        (5, [], 0.0625),
        (6, [], 0.03125),
        (6, [1], 0.0625),
        (7, [2], 0.046875),
        (8, [], 0.0078125),
        (8, [1], 0.015625),
        (8, [3], 0.0390625),
        (8, [4], 0.0546875),
        (10, [8], 0.048828125),
    ],
)
def test_wilcoxon_gives_the_p_of_published_tables(n: int, negative_ranks: list[int], p: float) -> None:
    differences = np.arange(1.0, n + 1)
    for rank in negative_ranks:
        differences[rank - 1] *= -1
    assert wilcoxon_p(differences, QUICK) == (pytest.approx(p, abs=1e-12), True)


@given(small_integers)
@settings(deadline=None, max_examples=60)
def test_wilcoxon_with_ties_and_zeros_equals_the_enumeration_of_all_sign_flips(differences: np.ndarray) -> None:
    kept = differences[differences != 0]
    ranks = stats.rankdata(np.abs(kept))
    null = (all_sign_flips(kept) > 0) @ ranks
    expected = two_sided(null, ranks[kept > 0].sum())
    assert wilcoxon_p(differences, QUICK) == (pytest.approx(expected, abs=1e-12), True)


@given(small_integers)
@settings(deadline=None, max_examples=60)
def test_permutation_equals_the_enumeration_of_all_sign_flips(differences: np.ndarray) -> None:
    null = all_sign_flips(differences).sum(axis=1)
    assert permutation_p(differences, QUICK) == pytest.approx(two_sided(null, differences.sum()), abs=1e-12)


@given(small_integers)
@settings(deadline=None, max_examples=40)
def test_p_is_the_same_when_reference_and_method_swap(differences: np.ndarray) -> None:
    assert wilcoxon_p(-differences, QUICK)[0] == pytest.approx(wilcoxon_p(differences, QUICK)[0], abs=1e-12)
    assert permutation_p(-differences, QUICK) == pytest.approx(permutation_p(differences, QUICK), abs=1e-12)
    assert rank_biserial(-differences) == pytest.approx(-rank_biserial(differences), abs=1e-12)


def test_rank_biserial_is_the_difference_of_the_rank_shares() -> None:
    # Ranks of |d| = 1, 2, 3, 4: positive 1 + 3 + 4 = 8, negative 2, of 10.
    assert rank_biserial(np.array([0.0, 1, -2, 3, 4])) == pytest.approx(0.6)
    assert rank_biserial(np.array([1.0, 2])) == 1
    assert rank_biserial(np.zeros(3)) == 0


@given(small_integers)
@settings(deadline=None, max_examples=40)
def test_interval_is_ordered_within_the_differences_and_needs_no_warning(differences: np.ndarray) -> None:
    low, high, note = mean_interval(differences, QUICK)
    assert differences.min() <= low <= high <= differences.max()
    assert (note != "") == (np.ptp(differences) == 0)


def test_interval_covers_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    intervals = [mean_interval(rng.normal(1, 1, 40), Statistics(resamples=400)) for _ in range(200)]
    assert 0.88 < np.mean([low < 1 < high for low, high, _ in intervals]) < 0.99


def test_too_few_resamples_give_no_interval_and_a_note() -> None:
    low, high, note = mean_interval(np.array([1.0, 2, 4]), Statistics(resamples=1))
    assert np.isnan([low, high]).all()
    assert "too few resamples" in note


def test_a_comparison_holds_the_means_and_their_difference() -> None:
    found = compare(long_table({"r": [0.9, 0.8, 0.7], "a": [0.6, 0.6, 0.6]}))
    assert list(found.columns) == COLUMNS
    assert list(found["test"]) == ["wilcoxon", "permutation"]
    row = found.iloc[0]
    assert (row["n"], row["n_expected"], row["smallest_p"]) == (3, 3, 0.25)
    assert [row["reference_mean"], row["method_mean"], row["estimate"]] == pytest.approx([0.8, 0.6, 0.2])
    assert row["low"] < row["estimate"] < row["high"]
    assert (found["p"] == 0.25).all()
    assert found["exact"].all()


def test_pairs_are_matched_by_fold_and_seed_and_not_by_position() -> None:
    metrics = long_table({"r": [0.1, 0.5, 0.9], "a": [0.0, 0.4, 0.8]}, folds=[0, 1, 1])
    found = compare(metrics.sample(frac=1, random_state=3))
    assert found["note"].str.contains("all differences are equal").all()
    assert found["estimate"].tolist() == pytest.approx([0.1, 0.1])


def test_differences_that_are_equal_but_for_rounding_tie() -> None:
    # 0.3 - 0.2 and 0.2 - 0.1 differ in the last bit.
    found = compare(long_table({"r": [0.3, 0.2, 0.3], "a": [0.2, 0.1, 0.4]}))
    expected = two_sided((all_sign_flips(np.ones(3)) > 0).sum(axis=1), 2)
    assert found["p"].tolist() == pytest.approx([expected, expected])


def test_equal_methods_have_p_1_effect_0_and_a_point_as_interval() -> None:
    found = compare(long_table({"r": [0.7, 0.8], "a": [0.7, 0.8]}))
    for column, value in {"p": 1, "p_holm": 1, "effect_size": 0, "estimate": 0, "low": 0, "high": 0}.items():
        assert (found[column] == value).all(), column
    assert (found["note"] == "2 of 2 differences are zero; all differences are equal: the interval is that point").all()


def test_holm_corrects_over_the_methods_of_one_metric_and_test() -> None:
    rng = np.random.default_rng(0)
    values = {name: rng.normal(shift, 0.1, 8).tolist() for name, shift in zip("rabc", (0.3, 0, 0.2, 0.3), strict=True)}
    metrics = pd.concat([long_table(values), long_table(values, metric="f1")])
    found = compare(metrics)
    assert len(found) == 2 * 3 * 2
    for _, group in found.groupby(["metric", "test"]):
        ordered = np.sort(group["p"])
        by_hand = np.minimum(1, np.maximum.accumulate(ordered * [3, 2, 1]))
        assert np.sort(group["p_holm"]) == pytest.approx(by_hand)


def test_random_shuffles_are_named_seeded_and_near_the_exact_p() -> None:
    values = {"r": np.random.default_rng(1).normal(0.4, 1, 14).tolist(), "a": [0.0] * 14}
    shuffled, again, exact = (
        compare(long_table(values), statistics=Statistics(resamples=100, shuffles=shuffles)).set_index("test")
        for shuffles in (2**14 - 1, 2**14 - 1, 2**14)
    )
    assert exact["exact"].all()
    assert not shuffled.at["permutation", "exact"]
    assert shuffled.at["permutation", "smallest_p"] == 2 / 2**14
    pd.testing.assert_frame_equal(shuffled, again)
    assert shuffled.at["permutation", "p"] == pytest.approx(exact.at["permutation", "p"], rel=0.15)


@pytest.mark.parametrize("status", ["failed", "missing", "ok"])
def test_a_hole_is_an_error_that_names_it_and_says_what_to_do(status: str) -> None:
    metrics = long_table({"r": [0.9, 0.8, 0.7], "a": [0.5, 0.6, 0.7]}, folds=[0, 0, 1])
    hole = (metrics["method"] == "a") & (metrics["seed"] == 1)
    metrics.loc[hole, "value"] = np.nan
    metrics.loc[hole, "status"] = status
    what = "metric auc is undefined" if status == "ok" else f"the run is {status}"
    with pytest.raises(StatisticsError, match=rf"method a, fold 0, seed 1: {what}.*allow_missing_runs: true"):
        compare(metrics)


@pytest.mark.parametrize("absent", [True, False])
def test_an_allowed_hole_drops_the_pair_and_shows(absent: bool) -> None:
    metrics = long_table({"r": [0.9, 0.8, 0.7], "a": [0.5, 0.6, 0.7]})
    hole = (metrics["method"] == "a") & (metrics["seed"] == 1)
    if absent:
        metrics = metrics[~hole]
    else:
        metrics.loc[hole, "value"] = np.nan
        metrics.loc[hole, "status"] = "failed"
    found = compare(metrics, allow_missing=True)
    assert (found["n"] == 2).all()
    assert (found["n_expected"] == 3).all()
    assert found["reference_mean"].tolist() == pytest.approx([0.8, 0.8])
    assert found["note"].str.contains("1 of 3 pairs missing").all()


def test_a_run_whose_only_row_says_that_it_failed_is_named_as_failed() -> None:
    metrics = long_table({"r": [0.9, 0.8], "a": [0.5, 0.6]}).astype({"metric": object})
    metrics.loc[3, ["metric", "value", "status"]] = [None, np.nan, "failed"]
    with pytest.raises(StatisticsError, match="method a, seed 1: the run is failed"):
        compare(metrics)


def test_a_method_without_any_run_has_no_p_and_leaves_holm_of_the_others_alone() -> None:
    metrics = long_table({"r": [0.9, 0.8, 0.7, 0.9], "a": [0.5, 0.6, 0.6, 0.5]})
    found = compare(metrics, methods=["r", "a", "b"], allow_missing=True).set_index(["method", "test"])
    assert found.loc["b", ["p", "p_holm", "estimate", "low", "effect_size", "smallest_p"]].isna().all(axis=None)
    assert (found.loc["b", "n"] == 0).all()
    assert (found.loc["a", "p_holm"] == found.loc["a", "p"]).all()


def test_one_pair_decides_nothing() -> None:
    found = compare(long_table({"r": [0.9], "a": [0.5]}))
    assert (found["p"] == 1).all()
    assert (found["smallest_p"] == 1).all()
    assert found["low"].isna().all()


def test_a_study_of_the_reference_alone_has_no_comparison() -> None:
    found = compare(long_table({"r": [0.9, 0.8]}))
    assert found.empty
    assert list(found.columns) == COLUMNS


def test_other_studies_and_methods_are_left_out() -> None:
    metrics = long_table({"r": [0.9, 0.8], "a": [0.5, 0.6], "b": [0.1, 0.2]})
    found = compare(pd.concat([metrics, metrics.assign(study="other")]), methods=["a", "r"])
    assert set(found["method"]) == {"a"}
    assert set(found["study"]) == {"study"}


def test_what_cannot_be_compared_is_an_error() -> None:
    metrics = long_table({"r": [0.9, 0.8], "a": [0.5, 0.6]})
    with pytest.raises(StatisticsError, match=r"study nothing.*Studies found: study"):
        compare(metrics, study="nothing")
    with pytest.raises(StatisticsError, match="reference z"):
        compare(metrics, reference="z")
    with pytest.raises(StatisticsError, match="method r, seed 0: metric auc is there twice"):
        compare(pd.concat([metrics, metrics.head(1)]))


def test_the_smallest_p_counts_pairs_that_differ_and_says_so_of_random_flips_too() -> None:
    differing = [0.1, 0.2] + [0.0] * 13
    metrics = long_table({"r": [0.5 + d for d in differing], "a": [0.5] * 15})
    found = compare(metrics).set_index("test")
    assert not found.at["permutation", "exact"]
    # Two pairs that differ have four sign flips: no test of them gives less than 2/4.
    assert found["smallest_p"].tolist() == [0.5, 0.5]
    assert (found["p"] >= 0.5 - 0.02).all()


def test_comparisons_over_folds_carry_a_note_that_pairs_are_not_independent() -> None:
    values = {"r": [0.9, 0.8, 0.7], "a": [0.5, 0.6, 0.55]}
    seeds = long_table(values)
    assert not compare(seeds)["note"].str.contains("independent").any()
    folds = seeds.assign(fold=pd.array(seeds["seed"].rank(method="dense").astype(int), dtype="Int64"))
    assert compare(folds)["note"].str.startswith("fold-seed pairs are not independent").all()
