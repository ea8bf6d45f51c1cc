"""The paper against itself: each check on numbers made for it, and on those that the paper prints."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import balanced_accuracy_score, f1_score, recall_score

from fossil.claims.finding import Finding
from fossil.claims.ledger import self_checks
from fossil.claims.printed_counts import PrintedText, check_sweep
from fossil.claims.printed_metrics import (
    check_bold,
    check_g_mean,
    check_gap,
    check_pairing,
    check_prevalence,
    check_regret_is_error,
    check_twice_printed,
    implied_prevalence,
)
from fossil.claims.printed_tests import check_permutation_p, check_wilcoxon_p, wilcoxon_levels
from fossil.claims.reported import Paper, read_reported
from fossil.claims.verdicts import CONSISTENT, EMPTY, INCONSISTENT
from tests.unit.claim_runs import paper, printed

WORKFLOW = Path(__file__).parents[2] / "workflow"


@pytest.fixture(scope="module")
def found() -> dict[str, Finding]:
    text = PrintedText(pd.read_csv(WORKFLOW / "paper" / "reported-text.csv"))
    return {
        finding.name: finding
        for finding in self_checks(Paper(read_reported(WORKFLOW / "paper" / "reported.csv")), text)
    }


@pytest.mark.parametrize("n", [3, 5, 8])
def test_the_levels_of_wilcoxons_p_are_those_of_every_combination_of_signs(n: int) -> None:
    magnitudes = np.arange(1, n + 1) / 10
    every = {
        round(float(stats.wilcoxon(magnitudes * np.array(signs), method="exact").pvalue), 10)
        for signs in product([-1, 1], repeat=n)
    }
    assert sorted(every) == pytest.approx(wilcoxon_levels(n))


def test_a_printed_p_between_two_levels_is_found() -> None:
    # With eight pairs p is 2, 4, 6, ... of 256: .0078, .0156, .0234.
    lines = [("A", "p_wilcoxon", "0.016", ""), ("B", "p_wilcoxon", "0.012", ""), ("C", "p_wilcoxon", "0.008", "")]
    verdicts = [one.verdict for one in check_wilcoxon_p(paper(*lines, table="synthetic-results"))]
    assert verdicts == [CONSISTENT, INCONSISTENT, CONSISTENT]


def test_a_p_with_four_pairs_says_nothing() -> None:
    (finding,) = check_wilcoxon_p(paper(("A", "p_wilcoxon", "0.125", ""), table="difficulty-defs"))
    assert finding.verdict == EMPTY
    assert "no data could be significant" in finding.found


@pytest.mark.parametrize(("table", "verdict"), [("final-tuning", CONSISTENT), ("synthetic-results", INCONSISTENT)])
def test_a_p_below_a_bound_needs_pairs_enough_for_it(table: str, verdict: str) -> None:
    # 2/2^15 = .00006, 2/2^8 = .0078.
    (finding,) = check_wilcoxon_p(paper(("A", "p_wilcoxon", "<0.001", ""), table=table))
    assert finding.verdict == verdict


@pytest.mark.parametrize(
    ("p", "table", "verdict"),
    [
        # Of eight pairs p is a multiple of 1/128; a share of 10,000 flips deviates from .0078 by .00088 and from .0156
        # by .00124, so that three deviations leave out what lies between .0105 and .0119, and what is below .0052.
        ("0.0162", "synthetic-results", CONSISTENT),
        ("0.0112", "synthetic-results", INCONSISTENT),
        ("0.0040", "synthetic-results", INCONSISTENT),
        # Of four it is a multiple of 1/8, and a share deviates from .125 by .0033.
        ("0.124", "difficulty-defs", EMPTY),
        ("0.110", "difficulty-defs", INCONSISTENT),
    ],
)
def test_a_p_of_random_flips_that_is_near_no_exact_one_is_found(p: str, table: str, verdict: str) -> None:
    (finding,) = check_permutation_p(paper(("A", "p_permutation", p, ""), table=table))
    assert finding.verdict == verdict


@pytest.mark.parametrize(
    ("g_mean", "verdict"), [("0.735", CONSISTENT), ("0.745", INCONSISTENT), ("0.760", INCONSISTENT)]
)
def test_a_mean_g_mean_above_what_the_other_means_allow_is_found(g_mean: str, verdict: str) -> None:
    # One classifier with recall .6 and specificity .9 has BA .75 and a G-mean of root .54 = .735, or of .740 where
    # BA .755 and recall .605 are rounded to these.
    means = [("A", "balanced_accuracy", "0.75", ""), ("A", "recall", "0.60", ""), ("A", "g_mean", g_mean, "")]
    assert check_g_mean(paper(*means, table="synthetic-results"))[0].verdict == verdict


@pytest.mark.parametrize(("g_mean", "verdict"), [("0.76", CONSISTENT), ("0.77", INCONSISTENT)])
def test_without_recall_a_mean_g_mean_is_held_against_balanced_accuracy(g_mean: str, verdict: str) -> None:
    # .755 rounds to .75 as well as to .76.
    means = [("A", "balanced_accuracy", "0.75", ""), ("A", "g_mean", g_mean, "")]
    assert check_g_mean(paper(*means, table="synthetic-results"))[0].verdict == verdict


def test_a_prevalence_that_a_row_does_not_imply_proves_nothing() -> None:
    # Recall .6 and specificity .9: of a tenth positive precision is .06 / .15 and F1 .48, of three tenths .18 / .25 and
    # .6545.
    lines = [
        printed(("A", "recall", "0.600", ""), ("A", "balanced_accuracy", "0.750", ""), ("A", "f1", f1, ""), table=table)
        for table, f1 in (("final-tuning", "0.480"), ("external-validation", "0.6545"))
    ]
    right, wrong = check_prevalence(Paper(pd.concat(lines)))
    assert (right.name, right.verdict) == ("prevalence final-tuning", CONSISTENT)
    assert "fits 1 of 1 rows" in right.found
    assert (wrong.name, wrong.verdict) == ("prevalence external-validation", EMPTY)
    assert "median 0.300" in wrong.found
    assert "fits 0 of 1 rows" in wrong.found


@given(st.integers(5, 60), st.integers(5, 200), st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.integers(0, 99))
def test_recall_balanced_accuracy_and_f1_give_back_the_prevalence(
    positives: int, negatives: int, recall: float, false_alarms: float, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    targets = np.repeat([1, 0], [positives, negatives])
    decided = np.concatenate([generator.random(positives) < recall, generator.random(negatives) < false_alarms])
    if not decided[:positives].any() or not decided[positives:].any():
        return
    implied = implied_prevalence(
        recall_score(targets, decided), balanced_accuracy_score(targets, decided), f1_score(targets, decided)
    )
    assert implied == pytest.approx(positives / (positives + negatives))


def two_methods(focal: str, *, gap: str = "-0.250", gap_std: str = "0.050") -> Paper:
    """External AUC of focal loss and FOSSIL, and internal AUC of their rows: .81 and .80, .80 and .80."""
    external = [("Focal", "auc", focal, "0.048"), ("Focal", "generalization_gap", gap, gap_std)]
    external += [("FOSSIL", "auc", "0.580", "0.065"), ("FOSSIL", "generalization_gap", "-0.220", "0.065")]
    baseline = [("Focal", "auc", "0.81", "0.05"), ("FOSSIL", "auc", "0.80", "0.05")]
    tuned = [("Focal", "auc", "0.80", "0.06"), ("FOSSIL", "auc", "0.80", "0.05")]
    tables = [
        printed(*external, table="external-validation"),
        printed(*baseline, table="final-tuning", variant="baseline"),
        printed(*tuned, table="final-tuning", variant="tuned"),
    ]
    return Paper(pd.concat(tables))


@pytest.mark.parametrize(
    ("gap", "row", "verdict"),
    # .560 - .80, .560 - .81 and no row.
    [("-0.240", "tuned", CONSISTENT), ("-0.250", "baseline", INCONSISTENT), ("-0.260", "no", INCONSISTENT)],
)
def test_a_gap_that_is_not_taken_to_the_tuned_row_is_found(gap: str, row: str, verdict: str) -> None:
    found = {one.name: one for one in check_gap(two_methods("0.560", gap=gap))}
    assert found["gap Focal"].verdict == verdict
    assert f"which is the {row} row" in found["gap Focal"].found
    assert found["gap FOSSIL"].verdict == CONSISTENT


@pytest.mark.parametrize(("std", "verdict"), [("0.048", INCONSISTENT), ("0.050", CONSISTENT)])
def test_gaps_that_deviate_as_the_external_auc_does_are_found(std: str, verdict: str) -> None:
    found = {one.name: one.verdict for one in check_gap(two_methods("0.560", gap_std=std))}
    assert found["gap-deviation"] == verdict


@pytest.mark.parametrize(
    ("focal", "verdicts"),
    [
        # FOSSIL's gap is -.220; that of focal loss -.250 and -.240, -.225 and -.215, -.210 and -.200, -.190 and -.180.
        ("0.560", (CONSISTENT, CONSISTENT)),
        ("0.585", (EMPTY, EMPTY)),
        ("0.600", (INCONSISTENT, INCONSISTENT)),
        # -.232 is farther from -.220 than rounding can make it, -.222 is not.
        ("0.578", (CONSISTENT, EMPTY)),
    ],
)
def test_whose_gap_is_the_smallest_is_told_where_rounding_allows(focal: str, verdicts: tuple[str, str]) -> None:
    found = {one.name: one.verdict for one in check_gap(two_methods(focal))}
    assert (found["gap-order baseline"], found["gap-order tuned"]) == verdicts


def test_bold_that_is_not_the_best_fails_where_the_caption_says_that_bold_is_the_best() -> None:
    for table, method, verdict in [
        ("external-validation", "FOSSIL", INCONSISTENT),
        ("synthetic-results", "FOSSIL (ours)", EMPTY),
    ]:
        (finding,) = check_bold(paper((method, "auc", "0.80", ""), ("ERM", "auc", "0.81", ""), table=table))
        assert finding.verdict == verdict
        assert "ERM 0.81" in finding.found
        (finding,) = check_bold(paper((method, "auc", "0.82", ""), ("ERM", "auc", "0.81", ""), table=table))
        assert finding.verdict == CONSISTENT


def test_a_regret_that_is_the_balanced_error_is_found() -> None:
    means = [("A", "0.80", "0.20"), ("B", "0.70", "0.31"), ("C", "0.60", "0.40")]
    lines = [
        line
        for a, ba, regret in means
        for line in ((a, "balanced_accuracy", ba, ""), (a, "dynamic_regret", regret, ""))
    ]
    (finding,) = check_regret_is_error(paper(*lines, table="synthetic-results"))
    assert finding.verdict == INCONSISTENT
    apart = [(a, m, "0.02" if m == "dynamic_regret" and a == "C" else v, s) for a, m, v, s in lines]
    assert check_regret_is_error(paper(*apart, table="synthetic-results"))[0].verdict == CONSISTENT


@pytest.mark.parametrize(
    ("mean", "verdict", "text"),
    [("0.77", CONSISTENT, "all means are equal"), ("0.78", INCONSISTENT, "Static weighting auc 0.77 and 0.78")],
)
def test_means_that_two_tables_of_the_same_runs_do_not_share_are_found(mean: str, verdict: str, text: str) -> None:
    first = printed(("ERM", "auc", "0.88", ""), ("Static weighting", "auc", "0.77", ""), table="synthetic-results")
    second = printed(("ERM", "auc", "0.88", ""), ("Static reweight.", "auc", mean, ""), table="synthetic-main")
    (finding,) = check_twice_printed(Paper(pd.concat([first, second.assign(imbalance_ratio="9")])))
    assert (finding.verdict, finding.found) == (verdict, text)


@pytest.mark.parametrize(
    ("erm", "fossil", "verdict"),
    [
        ("0.81", "0.91", CONSISTENT),
        ("0.84", "0.94", CONSISTENT),
        ("0.81", "0.94", INCONSISTENT),
        ("0.84", "0.91", INCONSISTENT),
    ],
)
def test_rows_that_resemble_rows_of_other_training_data_are_found(erm: str, fossil: str, verdict: str) -> None:
    ablation = {"ERM (no aug)": "0.80", "ERM + Aug": "0.85", "FOSSIL (no aug)": "0.90", "FOSSIL + Aug": "0.95"}
    tables = [
        printed(("ERM", "auc", erm, ""), ("FOSSIL (ours)", "auc", fossil, ""), table="synthetic-results"),
        printed(*[(name, "auc", mean, "") for name, mean in ablation.items()], table="robustness-difficulty"),
    ]
    (finding,) = check_pairing(Paper(pd.concat(tables)))
    assert finding.verdict == verdict


def test_nine_of_the_papers_fifty_four_candidates_differ() -> None:
    text = PrintedText(pd.read_csv(WORKFLOW / "paper" / "reported-text.csv"))
    found = {one.name: one.found for one in check_sweep(text)}
    # 1:9 makes the class term 5, so that three clamps from 6 on are one; two caps from 2 on are one as well.
    assert found["search candidates"].startswith("at most 18 of 54")
    assert "and 9 differ" in found["search candidates"]


def test_the_order_of_gaps_depends_on_the_internal_rows_and_is_within_rounding(found: dict[str, Finding]) -> None:
    # .580 - .83 = -.250 and Static .573 - .82 = -.247; .580 - .82 = -.240 and Focal .559 - .80 = -.241.
    assert found["gap-order baseline"].verdict == EMPTY
    assert "FOSSIL -0.250" in found["gap-order baseline"].found
    assert found["gap-order tuned"].verdict == EMPTY


def test_every_finding_names_a_line_of_the_paper_and_none_is_there_twice(found: dict[str, Finding]) -> None:
    text = PrintedText(pd.read_csv(WORKFLOW / "paper" / "reported-text.csv"))
    every = list(self_checks(Paper(read_reported(WORKFLOW / "paper" / "reported.csv")), text))
    assert len(every) == len(found)
    assert all(1 <= finding.line <= 1800 for finding in every)


def test_the_tables_compare_rows_with_copies_with_rows_without(found: dict[str, Finding]) -> None:
    assert found["pairing synthetic-results"].verdict == INCONSISTENT
    assert "ERM (no aug)" in found["pairing synthetic-results"].found
