"""Comparisons of the rows of a block with their reference: what is paired with what, and what is said about holes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fossil.commands import compare_methods as command
from fossil.config.statistics import Statistics
from fossil.design.comparisons import Block, Row
from fossil.evaluation.metrics import RUN_METRICS
from fossil.evaluation.statistics import COLUMNS, StatisticsError, compare

QUICK = Statistics(resamples=500)


def long_table(
    values: dict[str, list[float]],
    *,
    folds: list[int] | None = None,
    metric: str = "auc",
    scenario: str = "ir9",
    variant: str = "baseline",
) -> pd.DataFrame:
    """Rows of one study: per method one value a run, seeds 0, 1, ..."""
    rows = []
    for method, numbers in values.items():
        for seed, value in enumerate(numbers):
            fold = folds[seed] if folds else None
            rows.append(("study", scenario, method, variant, fold, seed, metric, value, "ok"))
    columns = ["study", "scenario", "method", "variant", "fold", "seed", "metric", "value", "status"]
    return pd.DataFrame(rows, columns=columns).astype({"fold": "Int64", "seed": "int64"})


def block(*keys: str, name: str = "block", seeds: list[int] | None = None) -> Block:
    """Rows from scenario/method-variant, or from a method alone; the first one is the reference."""
    rows = []
    for key in keys:
        scenario, _, rest = (key if "/" in key else f"ir9/{key}-baseline").partition("/")
        method, _, variant = rest.partition("-")
        rows.append(Row(scenario=scenario, method=method, variant=variant, label=key))
    return Block(name=name, title="", rows=rows, reference=rows[0].key, seeds=seeds)


def compared(metrics: pd.DataFrame, **changes: Any) -> pd.DataFrame:
    """Compare all methods of the table with "r"."""
    methods = sorted(metrics["method"].unique(), key=lambda method: method != "r")
    options = {"study": "study", "blocks": [block(*methods)], "statistics": QUICK, "allow_missing": False}
    return compare(metrics, **(options | changes))


def test_a_comparison_holds_the_means_and_their_difference() -> None:
    found = compared(long_table({"r": [0.9, 0.8, 0.7], "a": [0.6, 0.6, 0.6]}))
    assert list(found.columns) == COLUMNS
    assert list(found["test"]) == ["wilcoxon", "permutation"]
    row = found.iloc[0]
    names = ("study", "block", "metric", "scenario", "method", "variant", "reference")
    assert [row[name] for name in names] == ["study", "block", "auc", "ir9", "a", "baseline", "ir9/r-baseline"]
    assert (row["n"], row["n_expected"], row["smallest_p"], row["confidence"]) == (3, 3, 0.25, 0.95)
    assert [row["reference_mean"], row["method_mean"], row["estimate"]] == pytest.approx([0.8, 0.6, 0.2])
    assert row["low"] < row["estimate"] < row["high"]
    assert (found["p"] == 0.25).all()
    assert (found["effect_size"] == 1).all()
    assert found["exact"].all()


def test_pairs_are_matched_by_fold_and_seed_and_not_by_position() -> None:
    metrics = long_table({"r": [0.1, 0.5, 0.9], "a": [0.0, 0.4, 0.8]}, folds=[0, 1, 1])
    found = compared(metrics.sample(frac=1, random_state=3))
    assert found["note"].str.contains("all differences are equal").all()
    assert found["estimate"].tolist() == pytest.approx([0.1, 0.1])


def test_differences_that_are_equal_but_for_rounding_tie() -> None:
    # 0.3 - 0.2 and 0.2 - 0.1 differ in the last bit. Of 8 flips of three equal sizes, 4 have two or three of one sign.
    found = compared(long_table({"r": [0.3, 0.2, 0.3], "a": [0.2, 0.1, 0.4]}))
    assert found["p"].tolist() == pytest.approx([1, 1])
    assert found["effect_size"].tolist() == pytest.approx([1 / 3, 1 / 3])


def test_equal_methods_have_p_1_effect_0_and_a_point_as_interval() -> None:
    found = compared(long_table({"r": [0.7, 0.8], "a": [0.7, 0.8]}))
    for column, value in {"p": 1, "p_holm": 1, "effect_size": 0, "estimate": 0, "low": 0, "high": 0}.items():
        assert (found[column] == value).all(), column
    assert (found["note"] == "2 of 2 differences are zero; all differences are equal: the interval is that point").all()


def test_rows_are_told_apart_by_scenario_and_variant() -> None:
    metrics = pd.concat(
        [
            long_table({"f": [0.9, 0.8, 0.7]}),
            long_table({"f": [0.8, 0.6, 0.4]}, variant="loss"),
            long_table({"f": [0.6, 0.5, 0.4]}, scenario="ir4"),
        ]
    )
    found = compared(metrics, blocks=[block("ir9/f-baseline", "ir9/f-loss", "ir4/f-baseline")])
    once = found[found["test"] == "wilcoxon"]
    assert once[["scenario", "variant"]].to_numpy().tolist() == [["ir9", "loss"], ["ir4", "baseline"]]
    assert once["estimate"].tolist() == pytest.approx([0.2, 0.3])
    assert set(once["reference"]) == {"ir9/f-baseline"}


def test_holm_corrects_over_the_rows_of_one_block_metric_and_test() -> None:
    rng = np.random.default_rng(0)
    shifts = dict(zip("rabc", (0.3, 0, 0.2, 0.3), strict=True))
    values = {name: rng.normal(shift, 0.1, 8).tolist() for name, shift in shifts.items()}
    metrics = pd.concat([long_table(values), long_table(values, metric="f1")])
    blocks = [block(*"rabc"), block(*"arb", name="another")]
    found = compared(metrics, blocks=blocks)
    assert found.groupby("block", sort=False).size().to_dict() == {"block": 2 * 3 * 2, "another": 2 * 2 * 2}
    for _, group in found.groupby(["block", "metric", "test"]):
        ordered = np.sort(group["p"])
        by_hand = np.minimum(1, np.maximum.accumulate(ordered * np.arange(len(group), 0, -1)))
        assert np.sort(group["p_holm"]) == pytest.approx(by_hand)


def test_random_shuffles_are_named_seeded_and_near_the_exact_p() -> None:
    values = {"r": np.random.default_rng(1).normal(0.4, 1, 14).tolist(), "a": [0.0] * 14}
    shuffled, again, exact = (
        compared(long_table(values), statistics=Statistics(resamples=100, shuffles=shuffles)).set_index("test")
        for shuffles in (2**14 - 1, 2**14 - 1, 2**14)
    )
    assert exact["exact"].all()
    assert not shuffled.at["permutation", "exact"]
    assert shuffled.at["permutation", "smallest_p"] == 2 / 2**14
    pd.testing.assert_frame_equal(shuffled, again)
    assert shuffled.at["permutation", "p"] == pytest.approx(exact.at["permutation", "p"], rel=0.15)


def test_only_the_seeds_of_a_block_count() -> None:
    metrics = long_table({"r": [0.9, 0.8, 0.7, 0.1], "a": [0.5, 0.6, 0.7, 0.9]})
    found = compared(metrics, blocks=[block("r", "a"), block("r", "a", name="first-two", seeds=[1, 0])])
    once = found[found["test"] == "wilcoxon"].set_index("block")
    assert once["n"].to_dict() == {"block": 4, "first-two": 2}
    assert once["n_expected"].to_dict() == {"block": 4, "first-two": 2}
    assert once["estimate"].to_dict() == pytest.approx({"block": -0.05, "first-two": 0.3})


def test_a_seed_of_a_block_that_no_run_has_is_a_hole() -> None:
    metrics = long_table({"r": [0.9, 0.8], "a": [0.5, 0.6]})
    blocks = [block("r", "a", seeds=[0, 1, 7])]
    with pytest.raises(StatisticsError, match="ir9/r-baseline, seed 7: the run is missing"):
        compared(metrics, blocks=blocks)
    found = compared(metrics, blocks=blocks, allow_missing=True)
    assert (found["n"] == 2).all()
    assert found["note"].str.contains("1 of 3 pairs missing").all()


def test_only_the_metrics_that_are_asked_for_are_tested() -> None:
    values = {"r": [0.9, 0.8], "a": [0.5, 0.6]}
    metrics = pd.concat([long_table(values), long_table(values, metric="f1"), long_table(values, metric="recall")])
    assert compared(metrics)["metric"].unique().tolist() == ["auc", "f1", "recall"]
    assert compared(metrics, metrics_tested=["recall", "auc"])["metric"].unique().tolist() == ["recall", "auc"]
    with pytest.raises(StatisticsError, match="metric brier_score"):
        compared(metrics, metrics_tested=["brier_score"])


@pytest.mark.parametrize("status", ["failed", "missing", "ok"])
def test_a_hole_is_an_error_that_names_it_and_says_what_to_do(status: str) -> None:
    metrics = long_table({"r": [0.9, 0.8, 0.7], "a": [0.5, 0.6, 0.7]}, folds=[0, 0, 1])
    hole = (metrics["method"] == "a") & (metrics["seed"] == 1)
    metrics.loc[hole, "value"] = np.nan
    metrics.loc[hole, "status"] = status
    what = "metric auc is undefined" if status == "ok" else f"the run is {status}"
    with pytest.raises(StatisticsError, match=rf"ir9/a-baseline, fold 0, seed 1: {what}.*allow_missing_runs: true"):
        compared(metrics)


@pytest.mark.parametrize("absent", [True, False])
def test_an_allowed_hole_drops_the_pair_and_shows(absent: bool) -> None:
    metrics = long_table({"r": [0.9, 0.8, 0.7], "a": [0.5, 0.6, 0.7]})
    hole = (metrics["method"] == "a") & (metrics["seed"] == 1)
    metrics.loc[hole, ["value", "status"]] = [np.nan, "failed"]
    found = compared(metrics[~hole] if absent else metrics, allow_missing=True)
    assert (found["n"] == 2).all()
    assert (found["n_expected"] == 3).all()
    assert found["reference_mean"].tolist() == pytest.approx([0.8, 0.8])
    assert found["note"].str.contains("1 of 3 pairs missing").all()


def test_a_run_whose_only_row_says_that_it_failed_is_named_as_failed() -> None:
    metrics = long_table({"r": [0.9, 0.8], "a": [0.5, 0.6]}).astype({"metric": object})
    metrics.loc[3, ["metric", "value", "status"]] = [None, np.nan, "failed"]
    with pytest.raises(StatisticsError, match="ir9/a-baseline, seed 1: the run is failed"):
        compared(metrics)


def test_a_row_without_any_run_has_no_p_and_leaves_holm_of_the_others_alone() -> None:
    metrics = long_table({"r": [0.9, 0.8, 0.7, 0.9], "a": [0.5, 0.6, 0.6, 0.5]})
    found = compared(metrics, blocks=[block("r", "a", "b")], allow_missing=True).set_index(["method", "test"])
    assert found.loc["b", ["p", "p_holm", "estimate", "low", "effect_size", "smallest_p"]].isna().all(axis=None)
    assert (found.loc["b", "n"] == 0).all()
    assert (found.loc["a", "p_holm"] == found.loc["a", "p"]).all()


def test_a_block_whose_runs_all_failed_has_rows_without_p_where_holes_are_allowed() -> None:
    metrics = long_table({"r": [np.nan, np.nan], "a": [np.nan, np.nan]}).assign(status="failed")
    found = compared(metrics, allow_missing=True)
    assert len(found) == 2
    assert found["p"].isna().all()
    assert found["note"].str.startswith("2 of 2 pairs missing").all()


def test_one_pair_decides_nothing_and_a_block_of_the_reference_alone_has_no_comparison() -> None:
    found = compared(long_table({"r": [0.9], "a": [0.5]}))
    assert (found[["p", "smallest_p"]] == 1).all(axis=None)
    assert found["low"].isna().all()
    alone = compared(long_table({"r": [0.9, 0.8]}))
    assert alone.empty
    assert list(alone.columns) == COLUMNS


def test_other_studies_and_methods_are_left_out() -> None:
    metrics = long_table({"r": [0.9, 0.8], "a": [0.5, 0.6], "b": [0.1, 0.2]})
    found = compared(pd.concat([metrics, metrics.assign(study="other")]), blocks=[block("r", "a")])
    assert set(found["method"]) == {"a"}
    assert set(found["study"]) == {"study"}


def test_what_cannot_be_compared_is_an_error() -> None:
    metrics = long_table({"r": [0.9, 0.8], "a": [0.5, 0.6]})
    with pytest.raises(StatisticsError, match=r"study nothing.*Studies found: study"):
        compared(metrics, study="nothing")
    with pytest.raises(StatisticsError, match="none of the rows ir9/y-baseline, ir9/z-baseline has runs"):
        compared(metrics, blocks=[block("y", "z")], allow_missing=True)
    with pytest.raises(StatisticsError, match="ir9/r-baseline, seed 0: metric auc is there twice"):
        compared(pd.concat([metrics, metrics.head(1)]))


def test_the_smallest_p_counts_pairs_that_differ_and_says_so_of_random_flips_too() -> None:
    differing = [0.1, 0.2] + [0.0] * 16
    metrics = long_table({"r": [0.5 + d for d in differing], "a": [0.5] * 18})
    found = compared(metrics).set_index("test")
    assert not found.at["permutation", "exact"]
    # Two pairs that differ have four sign flips: no test of them gives less than 2/4.
    assert found["smallest_p"].tolist() == [0.5, 0.5]
    assert (found["p"] >= 0.5 - 0.02).all()


def test_comparisons_over_folds_carry_a_note_that_pairs_are_not_independent() -> None:
    values = {"r": [0.9, 0.8, 0.7], "a": [0.5, 0.6, 0.55]}
    assert not compared(long_table(values))["note"].str.contains("independent").any()
    folds = compared(long_table(values, folds=[0, 1, 2]))
    assert folds["note"].str.startswith("fold-seed pairs are not independent").all()


def test_ten_thousand_shuffles_of_a_large_study_take_seconds_at_most() -> None:
    rng = np.random.default_rng(0)
    values = {f"m{k}": rng.normal(0.5, 0.05, 15).tolist() for k in range(45)}
    metrics = pd.concat([long_table(values, metric=metric) for metric in RUN_METRICS])
    start = time.process_time()
    found = compared(metrics, blocks=[block(*values)], statistics=Statistics(resamples=10, shuffles=10_000))
    # A fraction of a second; scipy's permutation test, row by row, takes more than five. Other processes do not count.
    assert time.process_time() - start < 5
    assert len(found) == 44 * len(RUN_METRICS) * 2


def test_stage_reads_metrics_and_writes_the_comparisons(tmp_path: Path) -> None:
    metrics = long_table({"r": [0.9, 0.8, 0.7], "a": [0.5, np.nan, 0.7]})
    metrics.loc[metrics["value"].isna(), "status"] = "failed"
    metrics.to_parquet(tmp_path / "metrics.parquet")
    settings = {
        "study": "study",
        "blocks": [block("r", "a").model_dump(mode="json")],
        "statistics": QUICK.model_dump(mode="json"),
        "allow_missing_runs": True,
    }
    paths = {"metrics": tmp_path / "metrics.parquet", "statistics": tmp_path / "statistics.csv"}
    assert command.run(command.Settings.model_validate(settings), **paths) == {"comparisons": 2, "missing_pairs": 2}
    expected = compared(metrics, allow_missing=True)
    found = pd.read_csv(paths["statistics"])
    pd.testing.assert_frame_equal(found, expected.convert_dtypes().astype(found.dtypes), check_exact=True)
