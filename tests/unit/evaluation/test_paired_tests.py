"""Tests of paired differences, against hand calculation, brute force and scipy."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fossil.config.statistics import Statistics
from fossil.evaluation.paired_tests import analyse_pairs, flip_p, holm, mean_intervals, rank_biserial, wilcoxon_p

QUICK = Statistics(resamples=500)

small_integers = st.lists(st.integers(-6, 6), min_size=2, max_size=9).map(lambda v: np.array([v], dtype=np.float64))


def all_sign_flips(differences: np.ndarray) -> np.ndarray:
    """Every sign flip of the absolute differences, shape (2^n, n)."""
    return np.array(list(itertools.product([-1, 1], repeat=len(differences)))) * np.abs(differences)


def two_sided(null: np.ndarray, observed: float) -> float:
    """Doubled smaller tail of an enumerated null distribution."""
    return min(1.0, 2 * min((null <= observed + 1e-9).mean(), (null >= observed - 1e-9).mean()))


def stack(k: int, n: int, *, seed: int = 0) -> np.ndarray:
    """Differences with zeros, ties and rows without either."""
    rng = np.random.default_rng(seed)
    differences = rng.normal(0.3, 1, (k, n))
    differences[: k // 2] = np.rint(2 * differences[: k // 2])
    return differences


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
    found, exact = wilcoxon_p(differences[None], QUICK)
    assert found == pytest.approx([p], abs=1e-12)
    assert exact.all()


def test_wilcoxon_gives_the_p_of_the_example_of_r() -> None:
    # The depression scores (Hollander and Wolfe 1973) of R's help page of wilcox.test: V = 40, p-value = 0.03906.
    first = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    second = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    differences = np.subtract(first, second)
    found, exact = wilcoxon_p(differences[None], QUICK)
    # V = 40 of 45 leaves 5: 2 * 10 of the 512 signs have a negative rank sum of at most 5.
    assert found == pytest.approx([20 / 512])
    assert exact.all()
    assert rank_biserial(differences[None]) == pytest.approx([(40 - 5) / 45])


@given(small_integers)
@settings(deadline=None, max_examples=60)
def test_wilcoxon_with_ties_and_zeros_equals_the_enumeration_of_all_sign_flips(differences: np.ndarray) -> None:
    kept = differences[differences != 0]
    ranks = stats.rankdata(np.abs(kept))
    null = (all_sign_flips(kept) > 0) @ ranks
    found, exact = wilcoxon_p(differences, QUICK)
    assert found == pytest.approx([two_sided(null, ranks[kept > 0].sum())], abs=1e-12)
    assert exact.all()


@given(small_integers)
@settings(deadline=None, max_examples=60)
def test_permutation_equals_the_enumeration_of_all_sign_flips(differences: np.ndarray) -> None:
    null = all_sign_flips(differences[0]).sum(axis=1)
    found, exact = flip_p(differences, QUICK)
    assert found == pytest.approx([two_sided(null, differences.sum())], abs=1e-12)
    assert exact


@pytest.mark.parametrize("n", [3, 10])
def test_exact_p_of_a_stack_are_those_of_scipy_row_by_row(n: int) -> None:
    differences = stack(16, n)
    (wilcoxon, exact), (permuted, enumerated) = wilcoxon_p(differences, QUICK), flip_p(differences, QUICK)
    assert exact.all()
    assert enumerated
    for k, row in enumerate(differences):
        kept = row[row != 0]
        every_flip = stats.PermutationMethod(n_resamples=2**n)
        assert wilcoxon[k] == pytest.approx(stats.wilcoxon(kept, method=every_flip).pvalue if kept.size > 1 else 1)
        reference = stats.permutation_test(
            (row,), np.sum, permutation_type="samples", vectorized=True, n_resamples=2**n, axis=-1
        )
        assert permuted[k] == pytest.approx(reference.pvalue)


def test_without_ties_wilcoxon_is_exact_where_not_all_flips_are_drawn() -> None:
    differences = np.random.default_rng(2).normal(0.2, 1, (5, 20))
    found, exact = wilcoxon_p(differences, QUICK)
    assert exact.all()
    assert found.tolist() == [stats.wilcoxon(row, method="exact").pvalue for row in differences]


def test_fifteen_pairs_are_exact_by_default_also_where_they_tie() -> None:
    differences = np.rint(4 * np.random.default_rng(3).normal(0.4, 1, 15))
    kept = differences[differences != 0]
    ranks = stats.rankdata(np.abs(kept))
    assert len(set(np.abs(kept))) < len(kept)
    signed, exact = wilcoxon_p(differences[None], QUICK)
    assert exact.all()
    null = (all_sign_flips(kept) > 0) @ ranks
    assert signed == pytest.approx([two_sided(null, ranks[kept > 0].sum())], abs=1e-12)
    flipped, enumerated = flip_p(differences[None], QUICK)
    assert enumerated
    assert flipped == pytest.approx([two_sided(all_sign_flips(differences).sum(axis=1), differences.sum())], abs=1e-12)


def test_random_flips_are_seeded_and_near_the_exact_p() -> None:
    n = 15
    differences = stack(40, n, seed=4)
    drawn, exact = flip_p(differences, Statistics(shuffles=10_000))
    assert not exact
    assert drawn.tolist() == flip_p(differences, Statistics(shuffles=10_000))[0].tolist()
    assert drawn.tolist() != flip_p(differences, Statistics(shuffles=10_000, seed=1))[0].tolist()
    enumerated, exact = flip_p(differences, Statistics(shuffles=2**n))
    assert exact
    # Four standard errors of a share of 10,000 draws, twice for the two tails.
    assert np.abs(drawn - enumerated).max() < 2 * 4 * 0.5 / 100
    assert np.abs(drawn - enumerated)[enumerated < 0.05].max() < 2 * 4 * np.sqrt(0.025 / 10_000)


def test_random_flips_never_give_a_p_of_zero_and_are_exactly_the_counted_ones() -> None:
    differences = np.full((1, 20), 1.0)
    found, exact = flip_p(differences, Statistics(shuffles=999))
    assert not exact
    assert found.tolist() == [2 / 1000]
    tied, exact = wilcoxon_p(differences, Statistics(shuffles=999))
    assert tied.tolist() == [2 / 1000]
    assert not exact.any()


def test_a_row_of_a_stack_has_the_p_effect_and_interval_that_it_has_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    differences, statistics = stack(12, 11), Statistics(resamples=200, shuffles=1000)
    together = (
        *(wilcoxon_p(differences, statistics)[0], flip_p(differences, statistics)[0], rank_biserial(differences)),
        *mean_intervals(differences, statistics)[:2],
    )
    for k, row in enumerate(differences):
        alone = (
            *(wilcoxon_p(row[None], statistics)[0], flip_p(row[None], statistics)[0], rank_biserial(row[None])),
            *mean_intervals(row[None], statistics)[:2],
        )
        assert [found[k] for found in together] == pytest.approx([found[0] for found in alone], rel=1e-12)
    monkeypatch.setattr("fossil.evaluation.paired_tests._BATCH", 5000)
    low, high, _ = mean_intervals(differences, statistics)
    assert [low.tolist(), high.tolist()] == [found.tolist() for found in together[3:]]
    assert flip_p(differences, statistics)[0].tolist() == together[1].tolist()


@given(small_integers)
@settings(deadline=None, max_examples=40)
def test_p_is_the_same_when_the_sides_swap(differences: np.ndarray) -> None:
    few = Statistics(shuffles=50)
    for statistics in (QUICK, few):
        assert wilcoxon_p(-differences, statistics)[0] == pytest.approx(wilcoxon_p(differences, statistics)[0])
        assert flip_p(-differences, statistics)[0] == pytest.approx(flip_p(differences, statistics)[0])
    assert rank_biserial(-differences) == pytest.approx(-rank_biserial(differences), abs=1e-12)


def test_sums_that_are_equal_but_for_rounding_tie() -> None:
    # Of 16 sums 1, .8, .6 and twice .4 are at least .4; .4 + .1 + .2 - .3 and .4 - .1 - .2 + .3 differ in the last bit.
    differences = np.array([[0.4, 0.1, 0.2, -0.3], [0.4, -0.1, -0.2, 0.3]])
    assert flip_p(differences, QUICK)[0].tolist() == [2 * 5 / 16] * 2


def test_rank_biserial_is_the_difference_of_the_rank_shares() -> None:
    # Ranks of |d| = 1, 2, 3, 4: positive 1 + 3 + 4 = 8, negative 2, of 10; of 1, 1, 2: positive 1.5 + 3, of 6.
    differences = np.array([[0.0, 1, -2, 3, 4], [0, 0, 1, -1, 2], [1, 2, 3, 4, 5], [0, 0, 0, 0, 0]])
    assert rank_biserial(differences) == pytest.approx([0.6, 0.5, 1, 0])


@given(small_integers)
@settings(deadline=None, max_examples=40)
def test_interval_is_ordered_within_the_differences_and_needs_no_warning(differences: np.ndarray) -> None:
    (low,), (high,), (note,) = mean_intervals(differences, QUICK)
    assert differences.min() <= low <= high <= differences.max()
    assert (note != "") == (np.ptp(differences) == 0)


def test_interval_is_the_one_of_scipy() -> None:
    differences = stack(3, 8)
    low, high, notes = mean_intervals(differences, Statistics(resamples=300, confidence=0.9, seed=7))
    for k, row in enumerate(differences):
        options = {"method": "BCa", "confidence_level": 0.9, "n_resamples": 300, "rng": np.random.default_rng(7)}
        assert (low[k], high[k]) == pytest.approx(stats.bootstrap((row,), np.mean, **options).confidence_interval)
    assert notes == [""] * 3


def test_interval_covers_about_as_often_as_it_says() -> None:
    differences = np.random.default_rng(5).normal(1, 1, (200, 40))
    low, high, _ = mean_intervals(differences, Statistics(resamples=400))
    assert 0.88 < np.mean((low < 1) & (high > 1)) < 0.99


def test_where_there_is_no_interval_a_note_says_why() -> None:
    low, high, notes = mean_intervals(np.array([[1.0, 2, 4], [3, 3, 3]]), Statistics(resamples=1))
    assert np.isnan([low[0], high[0]]).all()
    assert (low[1], high[1]) == (3, 3)
    assert notes == ["too few resamples: no interval", "all differences are equal: the interval is that point"]
    low, high, notes = mean_intervals(np.array([[1.0]]), QUICK)
    assert np.isnan([low, high]).all()
    assert notes == ["fewer than two pairs: no interval"]


def test_holm_by_hand() -> None:
    p = pd.Series([0.04, 0.01, np.nan, 0.03, 0.005], index=[3, 1, 4, 0, 2])
    # In order .005, .01, .03, .04 times 4, 3, 2, 1: .02, .03, .06 and .04, which may not fall below .06.
    expected = pd.Series([0.06, 0.03, np.nan, 0.06, 0.02], index=[3, 1, 4, 0, 2])
    pd.testing.assert_series_equal(holm(p), expected)
    assert holm(pd.Series([0.6, 0.7])).tolist() == [1, 1]
    assert holm(pd.Series([np.nan])).isna().all()


@given(st.lists(st.integers(1, 1000).map(lambda n: n / 1000), min_size=1, max_size=12))
@settings(deadline=None, max_examples=60)
def test_holm_gives_the_least_level_at_which_the_stepwise_procedure_rejects(values: list[float]) -> None:
    def rejected(alpha: float) -> list[bool]:
        out = [False] * len(values)
        for step, k in enumerate(np.argsort(values, kind="stable")):
            if values[k] > alpha / (len(values) - step):
                break
            out[k] = True
        return out

    for k, corrected in enumerate(holm(pd.Series(values))):
        assert corrected == 1 or rejected(corrected + 1e-9)[k]
        assert not rejected(corrected - 1e-9)[k]


def test_sets_of_differences_of_several_sizes_come_back_in_their_order() -> None:
    differences = [np.array([1.0, 2, 3]), np.array([]), np.array([-1.0, -1]), np.array([0.5]), np.array([0.0, 2, 1])]
    found = analyse_pairs(differences, expected=[3, 3, 2, 2, 3], statistics=QUICK)
    assert found["comparison"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert found["test"].tolist() == ["wilcoxon", "permutation"] * 5
    once = found[found["test"] == "wilcoxon"]
    assert once["n"].tolist() == [3, 0, 2, 1, 3]
    assert once["n_expected"].tolist() == [3, 3, 2, 2, 3]
    assert once["estimate"].tolist() == pytest.approx([2, np.nan, -1, 0.5, 1], nan_ok=True)
    # All of three, two and one differences have one sign: 2/8, 2/4, 2/2; two that are not zero: 2/4.
    assert once["p"].tolist() == pytest.approx([0.25, np.nan, 0.5, 1, 0.5], nan_ok=True)
    assert once["smallest_p"].tolist() == pytest.approx([0.25, np.nan, 0.5, 1, 0.5], nan_ok=True)
    assert once["effect_size"].tolist() == pytest.approx([1, np.nan, -1, 1, 1], nan_ok=True)
    assert once["note"].tolist() == [
        "",
        "3 of 3 pairs missing; fewer than two pairs: no interval",
        "all differences are equal: the interval is that point",
        "1 of 2 pairs missing; fewer than two pairs: no interval",
        "1 of 3 differences are zero",
    ]
    assert found["exact"].all()
