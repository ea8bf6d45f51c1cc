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

from fossil.evaluation.claims.finding import Finding
from fossil.evaluation.claims.ledger import self_checks
from fossil.evaluation.claims.printed_counts import PrintedText, check_images, check_sweep
from fossil.evaluation.claims.printed_metrics import (
    check_bold,
    check_g_mean,
    check_gap,
    check_regret_is_error,
    implied_prevalence,
)
from fossil.evaluation.claims.printed_tests import check_wilcoxon_p, wilcoxon_levels
from fossil.evaluation.claims.verdicts import CONSISTENT, EMPTY, INCONSISTENT
from fossil.evaluation.reported import Paper, read_reported
from tests.unit.claim_runs import paper

WORKFLOW = Path(__file__).parents[2] / "workflow"


@pytest.fixture(scope="module")
def found() -> dict[str, Finding]:
    text = PrintedText(pd.read_csv(WORKFLOW / "reported-text.csv"))
    return {finding.name: finding for finding in self_checks(Paper(read_reported(WORKFLOW / "reported.csv")), text)}


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


def test_a_mean_g_mean_above_balanced_accuracy_is_found() -> None:
    # One classifier with recall .6 and specificity .9 has BA .75 and a G-mean of sqrt(.54) = .735.
    right = [("A", "balanced_accuracy", "0.75", ""), ("A", "recall", "0.60", ""), ("A", "g_mean", "0.735", "")]
    wrong = [*right[:2], ("A", "g_mean", "0.76", "")]
    for lines, verdict in [(right, CONSISTENT), (wrong, INCONSISTENT)]:
        first = check_g_mean(paper(*lines, table="synthetic-results"))[0]
        assert first.verdict == verdict


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


def test_a_gap_that_is_taken_to_the_untuned_row_is_found() -> None:
    external = [("Focal", "auc", "0.559", "0.048"), ("Focal", "generalization_gap", "-0.251", "0.048")]
    internal = [("Focal", "auc", "0.81", "0.05")]
    both = pd.concat(
        [
            paper(*external, table="external-validation").reported,
            paper(*internal, table="final-tuning", variant="baseline").reported,
            paper(("Focal", "auc", "0.80", "0.06"), table="final-tuning", variant="tuned").reported,
        ]
    )
    by_name = {one.name: one for one in check_gap(Paper(both))}
    assert by_name["gap Focal"].verdict == INCONSISTENT
    assert "the baseline row" in by_name["gap Focal"].found
    assert by_name["gap-deviation"].verdict == INCONSISTENT


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


def test_the_papers_external_images_do_not_add_up() -> None:
    text = PrintedText(pd.read_csv(WORKFLOW / "reported-text.csv"))
    verdicts = {one.name: one.verdict for one in check_images(text)}
    # 150 + 1350 = 1500 and not 1510; 499 + 497 + 514 = 1510.
    assert verdicts["external classes"] == INCONSISTENT
    assert verdicts["external stages"] == CONSISTENT


def test_nine_of_the_papers_fifty_four_candidates_differ() -> None:
    text = PrintedText(pd.read_csv(WORKFLOW / "reported-text.csv"))
    found = {one.name: one.found for one in check_sweep(text)}
    # 1:9 makes the class term 5, so that three clamps from 6 on are one; two caps from 2 on are one as well.
    assert found["search candidates"].startswith("at most 18 of 54")
    assert "and 9 differ" in found["search candidates"]


def test_the_order_of_gaps_depends_on_the_internal_rows_and_is_within_rounding(found: dict[str, Finding]) -> None:
    # .580 - .83 = -.250 and Static .573 - .82 = -.247; .580 - .82 = -.240 and Focal .559 - .80 = -.241.
    assert found["gap-order baseline"].verdict == EMPTY
    assert "FOSSIL -0.250" in found["gap-order baseline"].found
    assert found["gap-order tuned"].verdict == EMPTY


def test_a_printed_p_that_rounding_twice_explains_is_no_contradiction(found: dict[str, Finding]) -> None:
    # With 15 pairs .52448 is a level: .5245, and again .525.
    assert found["wilcoxon final-tuning Static baseline"].verdict == EMPTY


def test_every_finding_names_a_line_of_the_paper_and_none_is_there_twice(found: dict[str, Finding]) -> None:
    text = PrintedText(pd.read_csv(WORKFLOW / "reported-text.csv"))
    every = list(self_checks(Paper(read_reported(WORKFLOW / "reported.csv")), text))
    assert len(every) == len(found)
    assert all(1 <= finding.line <= 1800 for finding in every)


def test_the_tables_compare_rows_with_copies_with_rows_without(found: dict[str, Finding]) -> None:
    assert found["pairing synthetic-results"].verdict == INCONSISTENT
    assert "ERM (no aug)" in found["pairing synthetic-results"].found
