"""Mean ranks and their tests, against Demsar's example, hand calculation and scipy."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from fossil.commands import rank_methods as command
from fossil.evaluation.ranks import COLUMNS, StatisticsError, critical_difference, friedman, rank_rows, unit_ranks
from fossil.reporting.tables._statistics import read_statistics
from tests.unit.evaluation.test_statistics import block, long_table

# Demsar (2006), JMLR 7, Table 6: AUC of C4.5, C4.5+m, C4.5+cf, C4.5+m+cf on 14 data sets. Of the two .975 in the last
# row but one the third must be higher in digits that are not printed: only so are the mean ranks those of the table.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)

few_values = arrays(np.int64, st.tuples(st.integers(2, 8), st.integers(3, 6)), elements=st.integers(-5, 5))


def ranked(metrics: pd.DataFrame, *methods: str, **changes: object) -> pd.DataFrame:
    options = {"study": "study", "blocks": [block(*methods)], "alpha": 0.05, "allow_missing": False}
    return rank_rows(metrics, **(options | changes))


def test_the_example_of_demsar_has_its_ranks_statistics_and_critical_difference() -> None:
    ranks = unit_ranks(DEMSAR, lower_is_better=False)
    means = ranks.mean(axis=0)
    assert means == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    # The paper does not correct for ties: 12 n / (k (k + 1)) (sum of squares of mean ranks - k (k + 1)^2 / 4).
    plain = 12 * 14 / 20 * ((means**2).sum() - 25)
    assert plain == pytest.approx(9.28, abs=0.005)
    assert 13 * plain / (14 * 3 - plain) == pytest.approx(3.69, abs=0.005)
    # Ties: iris 2, lung cancer 2, mushroom 4, primary tumor 2; a group of t takes t^3 - t from n k (k^2 - 1) = 840.
    ties = 1 - (3 * 6 + 60) / 840
    found = friedman(ranks)
    assert found.chi2 == pytest.approx(plain / ties)
    assert found.chi2 == pytest.approx(stats.friedmanchisquare(*DEMSAR.T).statistic)
    assert found.p_chi2 == pytest.approx(stats.chi2.sf(plain / ties, 3))
    assert found.f == pytest.approx(13 * found.chi2 / (14 * 3 - found.chi2))
    assert found.p_f == pytest.approx(stats.f.sf(found.f, 3, 39))
    assert critical_difference(rows=4, units=14, alpha=0.05) == pytest.approx(1.25, abs=0.005)


# Table 5a of the paper: q of Nemenyi's test, which is the difference times the root of 6 n / (k (k + 1)).
@pytest.mark.parametrize(
    ("rows", "alpha", "q"), [(3, 0.05, 2.343), (4, 0.05, 2.569), (10, 0.05, 3.164), (3, 0.1, 2.052), (10, 0.1, 2.920)]
)
def test_critical_values_are_those_of_the_papers_table(rows: int, alpha: float, q: float) -> None:
    found = critical_difference(rows=rows, units=7, alpha=alpha)
    assert found * np.sqrt(6 * 7 / (rows * (rows + 1))) == pytest.approx(q, abs=1.01e-3)


def test_the_f_is_that_of_a_two_way_analysis_of_variance_of_the_ranks() -> None:
    ranks = unit_ranks(DEMSAR, lower_is_better=False)
    n, k = ranks.shape
    between = n * ((ranks.mean(axis=0) - ranks.mean()) ** 2).sum()
    # All units have one mean rank, so that what is left of the squares is the error's.
    error = ((ranks - ranks.mean()) ** 2).sum() - between
    assert friedman(ranks).f == pytest.approx((between / (k - 1)) / (error / ((k - 1) * (n - 1))))


@given(few_values)
@settings(deadline=None, max_examples=60)
def test_another_increasing_scale_within_each_unit_changes_nothing(values: np.ndarray) -> None:
    scale = np.arange(1, len(values) + 1)[:, None]
    plain = unit_ranks(values.astype(float), lower_is_better=False)
    changed = unit_ranks(np.exp(values / 2) * scale - scale, lower_is_better=False)
    assert plain.tolist() == changed.tolist()
    one, other = friedman(plain), friedman(changed)
    assert one == other


@given(few_values)
@settings(deadline=None, max_examples=60)
def test_the_other_direction_mirrors_ranks_and_keeps_the_test(values: np.ndarray) -> None:
    high, low = (unit_ranks(values.astype(float), lower_is_better=lower) for lower in (False, True))
    assert (high + low == values.shape[1] + 1).all()
    assert friedman(high).chi2 == pytest.approx(friedman(low).chi2)
    assert 0 <= friedman(high).p_f <= 1


def test_units_that_all_tie_or_all_agree_and_too_few_of_them_have_the_limits() -> None:
    assert friedman(np.full((5, 3), 2.0)).p_f == 1
    assert friedman(np.full((5, 3), 2.0)).chi2 == 0
    # Full agreement of n units about k rows: chi2 = n (k - 1).
    agreed = friedman(np.tile([1.0, 2.0, 3.0], (6, 1)))
    assert agreed.chi2 == pytest.approx(12)
    assert agreed.f == np.inf
    for few in (np.array([[1.0, 2.0, 3.0]]), np.tile([1.0, 2.0], (6, 1))):
        assert np.isnan([friedman(few).chi2, friedman(few).p_chi2, friedman(few).f, friedman(few).p_f]).all()
    for rows, units in ((3, 0), (3, 1), (2, 6)):
        assert np.isnan(critical_difference(rows=rows, units=units, alpha=0.05))


# chi2 = n (k - 1) has p exp(-n) of two degrees of freedom.
@pytest.mark.parametrize(("n", "p_chi2", "p_f"), [(2, 1 / 6, 1 / 6), (3, np.exp(-3), 1 / 36)])
def test_no_p_is_below_the_smallest_that_all_orders_of_the_rows_allow(n: int, p_chi2: float, p_f: float) -> None:
    agreed = friedman(np.tile([1.0, 2.0, 3.0], (n, 1)))
    assert agreed.p_chi2 == pytest.approx(p_chi2)
    assert agreed.p_f == pytest.approx(p_f)
    orders = np.array(list(itertools.permutations([1.0, 2.0, 3.0])))
    every = [friedman(np.array(units)).chi2 for units in itertools.product(orders, repeat=n)]
    assert np.mean(np.array(every) >= agreed.chi2 - 1e-9) == pytest.approx(p_f)


def test_values_that_are_equal_but_for_rounding_share_their_mean_rank() -> None:
    assert unit_ranks(np.array([[0.3 - 0.2, 0.2 - 0.1, 0.5]]), lower_is_better=False).tolist() == [[2.5, 2.5, 1]]


def test_seeds_are_the_units_of_a_study_without_folds_and_regret_is_better_low() -> None:
    values = {"a": [0.9, 0.8, 0.7], "b": [0.8, 0.9, 0.6], "c": [0.1, 0.2, 0.3]}
    metrics = pd.concat([long_table(values, metric=name) for name in ("auc", "dynamic_regret", "brier_score")])
    found = ranked(metrics, "a", "b", "c")
    assert list(found.columns) == COLUMNS
    assert found["metric"].unique().tolist() == ["auc", "dynamic_regret"]
    by_metric = found.groupby("metric")["mean_rank"].apply(list).to_dict()
    assert by_metric["auc"] == pytest.approx([4 / 3, 5 / 3, 3])
    assert by_metric["dynamic_regret"] == pytest.approx([8 / 3, 7 / 3, 1])
    first = found.iloc[0]
    assert (first["n"], first["n_expected"], first["k"], first["unit"], first["alpha"]) == (3, 3, 3, "seed", 0.05)
    assert first["chi2"] == pytest.approx(stats.friedmanchisquare(*values.values()).statistic)
    assert (first["study"], first["block"], first["scenario"], first["method"]) == ("study", "block", "ir9", "a")


def in_folds() -> pd.DataFrame:
    """Three folds of two seeds; of the fold means a is the best in every fold, though b has single runs above it."""
    values = {
        "a": [0.9, 0.7, 0.8, 0.8, 0.7, 0.9],
        "b": [0.6, 0.8, 0.9, 0.5, 0.8, 0.6],
        "c": [0.5, 0.5, 0.5, 0.5, 0.5, 0.5],
    }
    metrics = long_table(values, folds=[0, 0, 1, 1, 2, 2])
    return metrics.assign(seed=metrics["seed"] % 2)


def test_folds_with_means_over_seeds_are_the_units_of_a_study_in_folds() -> None:
    found = ranked(in_folds(), "a", "b", "c")
    assert found["mean_rank"].tolist() == [1, 2, 3]
    assert (found["n"] == 3).all()
    assert (found["unit"] == "fold").all()
    one_division = ranked(in_folds().assign(fold=0, seed=[0, 1, 2, 3, 4, 5] * 3), "a", "b", "c")
    assert (one_division["unit"] == "seed").all()
    assert (one_division["n"] == 6).all()


def test_missing_runs_are_an_error_or_are_left_out_of_all_rows_and_counted() -> None:
    metrics = in_folds()
    last_fold = (metrics["method"] == "b") & (metrics["fold"] == 2)
    without_fold = metrics[~last_fold]
    with pytest.raises(StatisticsError, match="fold 2, seed 0: the run is missing"):
        ranked(without_fold, "a", "b", "c")
    found = ranked(without_fold, "a", "b", "c", allow_missing=True)
    assert (found["n"] == 2).all()
    assert (found["n_expected"] == 3).all()
    # Without b's first run in fold 0 that seed counts for none: .7 against .8.
    first = (metrics["method"] == "b") & (metrics["fold"] == 0) & (metrics["seed"] == 0)
    fewer = ranked(metrics[~first], "a", "b", "c", allow_missing=True)
    assert fewer["mean_rank"].tolist() == pytest.approx([4 / 3, 5 / 3, 3])
    # No seed that is left has all of them.
    apart = metrics[(metrics["method"] == "c") | ((metrics["method"] == "b") == (metrics["fold"] == 2))]
    none = ranked(apart, "a", "b", "c", allow_missing=True)
    assert none[["mean_rank", "chi2", "critical_difference"]].isna().all(axis=None)
    assert (none["n"] == 0).all()


def test_a_row_without_any_value_is_left_out_before_the_units_that_the_others_lack() -> None:
    metrics = pd.concat([in_folds(), in_folds().query("method == 'a'").assign(method="d")])
    without = metrics[(metrics["method"] != "b") & ((metrics["method"] != "c") | (metrics["fold"] > 0))]
    found = ranked(without, "a", "b", "c", "d", allow_missing=True).set_index("method")
    # Folds 1 and 2: a and d tie, c is last; chi2 of three rows, corrected for the tie of two.
    assert found["mean_rank"].dropna().to_dict() == {"a": 1.5, "c": 3, "d": 1.5}
    assert (found["k"] == 3).all()
    assert (found["n"] == 2).all()
    assert (found["n_expected"] == 3).all()
    assert found["chi2"].to_numpy() == pytest.approx(4)
    two = ranked(metrics.query("method in ('a', 'c')"), "a", "b", "c", allow_missing=True).set_index("method")
    assert two["mean_rank"].dropna().to_dict() == {"a": 1, "c": 2}
    assert two[["chi2", "p_friedman", "f", "p_iman_davenport", "critical_difference"]].isna().all(axis=None)


def test_one_unit_has_ranks_and_no_test() -> None:
    found = ranked(in_folds().query("fold == 0 and seed == 0"), "a", "b", "c")
    assert found["mean_rank"].tolist() == [1, 2, 3]
    assert found[["chi2", "p_friedman", "f", "p_iman_davenport", "critical_difference"]].isna().all(axis=None)


def test_blocks_of_two_rows_have_no_ranks_and_an_unknown_study_is_an_error() -> None:
    found = ranked(in_folds(), "a", "b")
    assert found.empty
    assert list(found.columns) == COLUMNS
    with pytest.raises(StatisticsError, match="study other: no rows"):
        ranked(in_folds(), "a", "b", "c", study="other")


def test_the_stage_writes_what_the_figures_read(tmp_path: Path) -> None:
    in_folds().to_parquet(tmp_path / "m.parquet")
    values = {"study": "study", "blocks": [block("a", "b", "c")], "alpha": 0.05, "allow_missing_runs": False}
    paths = {"metrics": tmp_path / "m.parquet", "ranks": tmp_path / "r.csv"}
    assert command.run(command.Settings(**values), **paths) == {"rows": 3, "lacking": 0}
    expected = ranked(in_folds(), "a", "b", "c")
    pd.testing.assert_frame_equal(read_statistics(paths["ranks"]), expected, check_dtype=False)
