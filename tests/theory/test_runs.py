"""What runs show is described beside a statement and changes no verdict."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from fossil.theory import generalisation, sample_size
from fossil.theory.runs import describe_gaps, describe_shares, last_gaps
from fossil.theory.statement import Statement

COUNTS = [100.0, 200.0, 400.0, 800.0, 900.0]


def of_method(name: str, gap_of: Callable[[float], float], n_eff: list[float]) -> pd.DataFrame:
    """Runs of one epoch, one a seed, with a chosen N_eff and gap."""
    rows = [
        {
            **{"method": name, "seed": seed, "epoch": 0, "samples": 1000, "n_eff": count},
            **{"validation_loss": 1 + gap_of(count), "weighted_train_loss": 0.5, "weight_mean": 0.5},
        }
        for seed, count in enumerate(n_eff)
    ]
    return pd.DataFrame(rows)


def test_gap_of_a_run_is_that_of_its_last_epoch_and_of_the_mean_by_weight() -> None:
    rows = [
        # method, seed, epoch, validation_loss, weighted_train_loss, weight_mean, n_eff
        ("fossil", 1, 1, 0.9, 0.2, 0.5, 25.0),
        ("fossil", 1, 0, 5.0, 5.0, 1.0, 1.0),
        ("fossil", 2, 0, math.nan, 0.2, 0.5, 25.0),
        ("erm", 1, 0, 0.3, 0.5, 1.0, 100.0),
    ]
    names = ["method", "seed", "epoch", "validation_loss", "weighted_train_loss", "weight_mean", "n_eff"]
    found = last_gaps(pd.DataFrame(rows, columns=names)).set_index("method")
    assert found.loc["fossil", ["seed", "x", "gap"]].tolist() == pytest.approx([1, 0.2, 0.5])
    assert found.loc["erm", ["seed", "x", "gap"]].tolist() == pytest.approx([1, 0.1, 0.2])


def test_gaps_that_grow_with_one_over_the_root_of_n_eff_have_correlation_and_slope_one() -> None:
    text = describe_gaps(of_method("erm", lambda count: 3 / math.sqrt(count), COUNTS))
    assert "over 5 of 5 runs (erm)" in text
    assert "is 1.00 and the slope in logarithms 1.00" in text
    assert "neither verified nor refuted" in text
    assert "averaged during the last epoch, while the validation loss is taken after it" in text


def test_correlation_of_all_methods_together_and_within_each_are_told_apart() -> None:
    # Two methods far apart; within each the gap goes the other way.
    table = pd.concat(
        [
            of_method("low", lambda count: 1.0 + count / 1000, [10.0, 11.0, 12.0, 13.0, 14.0, 15.0]),
            of_method("high", lambda count: 0.1 + count / 100_000, [900.0, 910.0, 920.0, 930.0, 940.0, 950.0]),
        ],
        ignore_index=True,
    )
    # Ranks of x: low 12..7, high 6..1; of gaps: low 7..12, high 1..6. 1 - 6 sum d^2 / (n (n^2 - 1)), sum d^2 = 140.
    text = describe_gaps(table)
    assert f"is {1 - 6 * 140 / (12 * 143):.2f} and the slope" in text
    assert "low -1.00, high -1.00" in text


def test_methods_whose_gap_cannot_be_compared_are_left_out_and_named_and_failed_runs_are_counted() -> None:
    good = of_method("erm", lambda count: 3 / math.sqrt(count), COUNTS)
    good.loc[0, "validation_loss"] = np.nan
    learnt = of_method("meta", lambda count: count / 100, COUNTS)
    text = describe_gaps(pd.concat([good, learnt], ignore_index=True), comparable=["erm"])
    assert "over 4 of 5 runs (erm)" in text
    assert "the correlation is: erm 1.00." in text
    assert "trained on the validation split: meta." in text


@pytest.mark.parametrize("counts", [[], [100.0, 200.0], [100.0] * 6])
def test_nothing_is_said_of_runs_that_are_too_few_or_have_the_same_n_eff(counts: list[float]) -> None:
    table = of_method("erm", lambda count: 0.1, counts) if counts else of_method("erm", abs, [1.0]).iloc[:0]
    assert describe_gaps(table) == ""


def test_largest_share_of_a_sample_is_one_over_the_root_of_the_smallest_n_eff() -> None:
    table = pd.concat([of_method("erm", abs, [500.0, 400.0]), of_method("fossil", abs, [300.0, math.nan, 25.0])])
    text = describe_shares(table)
    assert "In 4 runs" in text
    assert "more than 20.0% of the weight" in text
    assert "erm 0.400, fossil 0.025." in text
    assert describe_shares(table.iloc[:0]) == ""


@pytest.mark.parametrize("check", [generalisation.theorem_4_2, sample_size.corollary_4_1])
def test_runs_are_added_to_the_evidence_and_change_no_verdict(check: Callable[..., Statement]) -> None:
    without = check(seed=1)
    for gap_of in (lambda count: 3 / math.sqrt(count), lambda count: count / 1000):
        found = check(seed=1, runs=of_method("erm", gap_of, COUNTS))
        assert (found.as_printed, found.verdict) == (without.as_printed, without.verdict)
        assert found.evidence.startswith(without.evidence)
        assert "runs" in found.evidence.removeprefix(without.evidence)
    assert "runs" not in without.evidence
