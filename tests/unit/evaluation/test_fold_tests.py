"""Tests that mind what folds share, against hand calculation and scipy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fossil.commands import compare_methods as command
from fossil.config.statistics import Statistics
from fossil.design.checks import load_config
from fossil.design.image_studies import fold_ratio
from fossil.evaluation.fold_tests import analyse_folds
from fossil.evaluation.statistics import COLUMNS, StatisticsError
from tests.unit.evaluation.test_statistics import block, compared, long_table

STATISTICS = Statistics(resamples=100)

several_folds = st.lists(st.integers(-50, 50), min_size=4, max_size=12).filter(lambda values: np.ptp(values) > 0)


def analysed(
    differences: list[float], folds: list[int] | None = None, *, ratio: float = 0.5, lacking: int = 0
) -> pd.DataFrame:
    """Analyse one comparison; without folds two of the same number of seeds, or nearly so."""
    folds = folds or [position % 2 for position in range(len(differences))]
    return analyse_folds(
        *([np.array(differences, dtype=np.float64)], [np.array(folds, dtype=np.int64)]),
        expected=[len(differences) + lacking],
        folds_expected=[2],
        test_train_ratio=ratio,
        statistics=STATISTICS,
    ).set_index("test")


def test_the_corrected_t_is_that_of_nadeau_and_bengio_by_hand() -> None:
    # Mean .03, variance (4 + 1 + 0 + 1 + 4) 1e-4 / 4 = 2.5e-4. With 1/5 + 1/2 the variance of the mean is 1.75e-4, its
    # root .0132288, and t = .03 / .0132288 = 2.26779 with 4 degrees of freedom.
    found = analysed([0.01, 0.02, 0.03, 0.04, 0.05]).loc["corrected_t"]
    # The distribution function of t with 4 degrees of freedom has a closed form.
    t = 0.03 / 1.75e-4**0.5
    share = t / np.sqrt(4 + t**2)
    assert found["p"] == pytest.approx(2 * (0.5 - 3 / 4 * (share - share**3 / 3)))
    # 2.776445 is the 97.5% point in printed tables of t with 4 degrees of freedom.
    reach = 2.776445 * 0.0132288
    assert [found["low"], found["high"]] == pytest.approx([0.03 - reach, 0.03 + reach], abs=1e-6)
    assert (found["n"], found["n_expected"], found["confidence"]) == (5, 5, 0.95)
    assert found["estimate"] == pytest.approx(0.03)
    assert found["effect_size"] == 1
    assert not found["exact"]
    assert np.isnan(found["smallest_p"])


def test_without_a_ratio_the_corrected_t_is_the_paired_t_test_of_scipy() -> None:
    rng = np.random.default_rng(0)
    reference, method = rng.normal(0.8, 0.05, 9), rng.normal(0.75, 0.05, 9)
    found = analysed(list(reference - method), ratio=0).loc["corrected_t"]
    expected = stats.ttest_rel(reference, method)
    assert found["p"] == pytest.approx(expected.pvalue)
    assert [found["low"], found["high"]] == pytest.approx(list(expected.confidence_interval(0.95)))


def test_fold_means_are_tested_as_scipy_tests_one_sample() -> None:
    found = analysed([0.1, 0.3, 0.0, 0.1, 0.4, 0.2, 0.3], [0, 0, 1, 1, 2, 2, 2], ratio=9).loc["fold_means"]
    expected = stats.ttest_1samp([0.2, 0.05, 0.3], 0)
    assert found["p"] == pytest.approx(expected.pvalue)
    assert [found["low"], found["high"]] == pytest.approx(list(expected.confidence_interval(0.95)))
    assert (found["n"], found["effect_size"]) == (3, 1)
    assert found["estimate"] == pytest.approx(0.55 / 3)


@given(several_folds, st.floats(0, 2))
@settings(deadline=None, max_examples=60)
def test_the_correction_never_lowers_p_nor_narrows_the_interval(values: list[int], ratio: float) -> None:
    plain, corrected = (analysed([float(v) for v in values], ratio=r).loc["corrected_t"] for r in (0, ratio))
    assert corrected["p"] >= plain["p"] - 1e-12
    assert corrected["low"] <= plain["low"] + 1e-9
    assert corrected["high"] >= plain["high"] - 1e-9


@given(several_folds)
@settings(deadline=None, max_examples=60)
def test_swapped_sides_have_the_same_p_and_mirrored_intervals(values: list[int]) -> None:
    one, other = (analysed([sign * float(v) for v in values]) for sign in (1, -1))
    assert one["p"].to_numpy() == pytest.approx(other["p"].to_numpy(), nan_ok=True)
    assert one["low"].to_numpy() == pytest.approx(-other["high"].to_numpy(), nan_ok=True)
    assert one["effect_size"].to_numpy() == pytest.approx(-other["effect_size"].to_numpy(), abs=1e-12)


def test_differences_that_are_all_zero_have_p_1_and_others_that_are_equal_have_none_and_say_so() -> None:
    zero = analysed([0.0] * 4)
    assert (zero[["p", "low", "high"]] == [1, 0, 0]).all(axis=None)
    # .3 - .2 and .2 - .1 differ in the last bit.
    equal = analysed([0.3 - 0.2, 0.2 - 0.1, 0.1, 0.1])
    assert equal["p"].isna().all()
    assert equal[["low", "high"]].to_numpy() == pytest.approx(np.full((2, 2), 0.1))
    assert equal["note"].str.endswith("equal: the interval is that point, and there is no test").all()


def test_fewer_than_two_pairs_or_folds_have_no_test() -> None:
    one_fold = analysed([0.1, 0.2], [1, 1], lacking=2)
    assert one_fold.at["corrected_t", "p"] < 1
    assert np.isnan(one_fold.loc["fold_means", ["p", "low", "high"]].astype(float)).all()
    assert one_fold.at["fold_means", "note"] == (
        "folds share training images; 1 of 2 folds missing; 2 of 4 pairs missing: means of the available seeds; "
        "fewer than two: no test"
    )
    none = analysed([], [], lacking=4)
    assert none[["p", "estimate", "effect_size"]].isna().all(axis=None)
    assert none["n"].tolist() == [0, 0]


def fold_metrics() -> pd.DataFrame:
    """Two folds of two seeds; the helper numbers runs, which become seeds 0 and 1 in each fold."""
    values = {"r": [0.9, 0.8, 0.7, 0.8], "a": [0.6, 0.7, 0.5, 0.4], "b": [0.9, 0.7, 0.6, 0.6]}
    metrics = long_table(values, folds=[0, 0, 1, 1])
    return metrics.assign(seed=metrics["seed"] % 2)


def test_a_comparison_over_folds_has_four_tests_and_holm_corrects_each() -> None:
    found = compared(fold_metrics(), test_train_ratio=0.5)
    assert list(found.columns) == COLUMNS
    assert found["test"].tolist() == ["wilcoxon", "permutation", "corrected_t", "fold_means"] * 2
    of_a = found[found["method"] == "a"].set_index("test")
    # Differences .3, .1, .2, .4 of folds 0, 0, 1, 1: means .2 and .3.
    assert of_a.at["fold_means", "p"] == pytest.approx(stats.ttest_1samp([0.2, 0.3], 0).pvalue)
    t = 0.25 / np.sqrt((1 / 4 + 0.5) * np.var([0.3, 0.1, 0.2, 0.4], ddof=1))
    assert of_a.at["corrected_t", "p"] == pytest.approx(2 * stats.t.sf(t, 3))
    assert of_a["n"].to_dict() == {"wilcoxon": 4, "permutation": 4, "corrected_t": 4, "fold_means": 2}
    assert of_a["note"].str.contains("too small").to_dict() == {
        **{"wilcoxon": True, "permutation": True, "corrected_t": False, "fold_means": False}
    }
    for _, group in found.groupby("test"):
        ordered = np.sort(group["p"])
        assert np.sort(group["p_holm"]) == pytest.approx(np.minimum(1, np.maximum.accumulate(ordered * [2, 1])))


def test_where_a_pair_is_missing_its_fold_has_the_mean_of_the_others() -> None:
    metrics = fold_metrics()
    lost = (metrics["method"] == "a") & (metrics["fold"] == 0) & (metrics["seed"] == 0)
    found = compared(metrics[~lost], test_train_ratio=0.5, allow_missing=True)
    means = found[(found["method"] == "a") & (found["test"] == "fold_means")].iloc[0]
    assert means["p"] == pytest.approx(stats.ttest_1samp([0.1, 0.3], 0).pvalue)
    assert "1 of 4 pairs missing: means of the available seeds" in means["note"]
    assert (means["n"], means["n_expected"]) == (2, 2)


def test_a_ratio_where_there_are_no_folds_is_an_error() -> None:
    with pytest.raises(StatisticsError, match="these runs have none"):
        compared(long_table({"r": [0.9, 0.8], "a": [0.5, 0.6]}), test_train_ratio=0.5)


def test_the_ratio_is_that_of_the_folds_that_models_were_trained_in() -> None:
    config = load_config({"images": {"folds": 5, "validation_fraction": 0.2, "refit": True}})
    # A fifth tests; of the other four fifths a fifth validates: .2 / (.8 * .8).
    for study in ("phantom-internal", "phantom_external-refit", "phantom_external-transfer"):
        assert fold_ratio(config, study) == pytest.approx(0.3125)
    assert fold_ratio(config, "synthetic-main") is None
    given = {"statistics": {"alpha": 1.0}, "datasets": {"custom": {"table": "images.csv", "split_column": "split"}}}
    assert fold_ratio(load_config(given), "custom-internal") is None


def test_the_stage_counts_missing_pairs_and_no_missing_folds(tmp_path: Path) -> None:
    metrics = fold_metrics()
    metrics[~((metrics["method"] == "a") & (metrics["fold"] == 0))].to_parquet(tmp_path / "m.parquet")
    values = {
        **{"study": "study", "blocks": [block("r", "a")], "statistics": STATISTICS},
        **{"allow_missing_runs": True, "test_train_ratio": 0.5},
    }
    paths = {"metrics": tmp_path / "m.parquet", "statistics": tmp_path / "s.csv"}
    # Two pairs of each of the three tests that are of pairs.
    assert command.run(command.Settings(**values), **paths) == {"comparisons": 4, "missing_pairs": 6}
