"""What a claim says of one table, put to printed numbers and to runs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from fossil.claims.evidence import Evidence
from fossil.claims.parts import Better, Difference, EveryRun, Insignificant, NotWorse, Spread, spread_p
from fossil.claims.verdicts import CANNOT_TELL, CONSISTENT, CONTRADICTED, DIRECTION, HELD, NOT_HELD, NOT_RUN
from tests.unit.claims.claim_runs import STATISTICS, TABLE, measured, paper

EIGHT = np.arange(8) / 100
AHEAD = {"fossil": 0.8 + EIGHT, "erm": 0.7 + EIGHT / 2}  # eight differences of one sign: p = 2/2^8 = .0078
UNSURE = np.array([0.1, -0.02, 0.03, -0.01, 0.05, -0.03, 0.02, -0.04])
BETTER = {"kind": "better", "table": TABLE, "metric": "balanced_accuracy", "row": ["FOSSIL"], "than": [["ERM"]]}


def in_folds(evidence: Evidence, ratio: float) -> Evidence:
    """The same runs, paired over folds that share training images."""
    table = evidence.tables[TABLE].model_copy(update={"test_train_ratio": ratio})
    return replace(evidence, tables={TABLE: table})


def test_a_row_that_is_better_in_all_eight_seeds_holds() -> None:
    answer = Better(**BETTER).on_runs(measured(AHEAD))
    assert answer.verdict == HELD
    assert "every p at most 0.008" in answer.text


def test_better_on_average_holds_in_direction_and_worse_than_one_of_the_others_does_not_hold() -> None:
    unsure = {"fossil": 0.7 + EIGHT + UNSURE, "erm": 0.7 + EIGHT}
    assert Better(**BETTER).on_runs(measured(unsure)).verdict == DIRECTION
    part = Better(**BETTER | {"than": [["ERM"], ["STATIC"]]})
    assert part.on_runs(measured(AHEAD | {"static": 0.81 + EIGHT})).verdict == NOT_HELD


def test_every_row_that_is_compared_must_be_beyond_chance_and_their_number_is_not_corrected_for() -> None:
    # p = .0078 for each of seven rows, which Holm would make .055.
    names = ["erm", "static", "focal", "curriculum", "meta_weight_net", "effective_number", "static_inverted"]
    runs = {"fossil": 0.8 + EIGHT} | dict.fromkeys(names, 0.7 + EIGHT / 2)
    part = Better(**BETTER | {"than": [[name.upper()] for name in names]})
    assert part.on_runs(measured(runs)).verdict == HELD
    runs["erm"] = 0.8 + EIGHT - UNSURE
    assert part.on_runs(measured(runs)).verdict == DIRECTION


def test_the_studys_level_decides_what_is_beyond_chance_unless_the_claim_names_one() -> None:
    # Eight pairs of one sign have p = .0078; the deviations of the two rows differ with p far below .05 and above 1e-9.
    evidence = measured(AHEAD)
    strict = replace(evidence, statistics=STATISTICS.model_copy(update={"alpha": 0.005}))
    assert Better(**BETTER).on_runs(evidence).verdict == HELD
    assert Better(**BETTER).on_runs(strict).verdict == DIRECTION
    assert Better(**BETTER, p_below=0.05).on_runs(strict).verdict == HELD
    steadier = {"fossil": 0.8 + np.roll(EIGHT, 3) / 5, "erm": 0.7 + EIGHT}
    spread = Spread(kind="spread", table=TABLE, metric="balanced_accuracy", row=["FOSSIL"], than=[["ERM"]])
    assert spread.on_runs(measured(steadier)).verdict == HELD
    level = STATISTICS.model_copy(update={"alpha": 1e-9})
    assert spread.on_runs(replace(measured(steadier), statistics=level)).verdict == DIRECTION


def test_with_five_runs_no_data_could_be_beyond_chance_and_the_answer_says_so() -> None:
    # 2/2^5 = .0625.
    answer = Better(**BETTER).on_runs(measured({"fossil": 0.8 + EIGHT[:5], "erm": 0.7 + EIGHT[:5] / 2}))
    assert answer.verdict == DIRECTION
    assert "no data of so few runs" in answer.text


def test_a_comparison_that_lacks_runs_says_how_many() -> None:
    runs = {"fossil": 0.8 + EIGHT, "erm": np.where(np.arange(8) < 7, 0.7 + EIGHT / 2, np.nan)}
    assert "7 of 8 runs" in Better(**BETTER).on_runs(measured(runs)).text


def test_in_folds_the_corrected_test_decides_unless_the_claim_is_about_wilcoxons() -> None:
    evidence = measured({"fossil": 0.8 + EIGHT, "erm": 0.75 + 0.77 * EIGHT[::-1]})
    folds = in_folds(evidence, 0.3)
    differences = 0.05 + EIGHT - 0.77 * EIGHT[::-1]
    t = differences.mean() / np.sqrt((1 / 8 + 0.3) * differences.var(ddof=1))
    corrected = 2 * stats.t.sf(t, 7)
    assert f"{corrected:.3f}" in Better(**BETTER).on_runs(folds).text
    wilcoxon = stats.wilcoxon(differences, method="exact").pvalue
    assert f"{wilcoxon:.3f}" in Better(**BETTER, by=["wilcoxon"]).on_runs(folds).text


def test_where_a_claim_names_two_tests_both_must_be_beyond_chance() -> None:
    # The run that loses has the third rank, and loses less than the three that win least.
    differences = np.array([0.001, 0.002, 0.003, 0.03, 0.031, 0.032, 0.033, -0.0025])
    evidence = measured({"fossil": 0.7 + differences, "erm": np.full(8, 0.7)})
    both = {name: Better(**BETTER, by=[name]).on_runs(evidence) for name in ("wilcoxon", "permutation")}
    signed = stats.wilcoxon(differences, method="exact").pvalue
    every = np.array(list(product([-1, 1], repeat=8))) @ np.abs(differences)
    flipped = 2 * (every >= differences.sum() - 1e-12).mean()
    assert f"{signed:.3f}" in both["wilcoxon"].text
    assert f"{flipped:.3f}" in both["permutation"].text
    assert flipped < 0.035 < signed
    named = Better(**BETTER, by=["wilcoxon", "permutation"], p_below=0.035)
    assert named.on_runs(evidence).verdict == DIRECTION
    assert Better(**BETTER, by=["permutation"], p_below=0.035).on_runs(evidence).verdict == HELD


def test_a_gain_that_differs_by_fold_is_not_beyond_chance_where_folds_share_training_images() -> None:
    # Three seeds of each fold agree, so that Wilcoxon counts each fold three times.
    by_fold = np.repeat([0.06, 0.05, 0.04, -0.01, 0.002], 3) + np.tile([0.001, 0, -0.001], 5) + np.arange(15) / 1e5
    evidence = measured({"fossil": 0.7 + by_fold, "erm": np.full(15, 0.7)})
    assert Better(**BETTER).on_runs(evidence).verdict == HELD
    assert Better(**BETTER).on_runs(in_folds(evidence, 0.3125)).verdict == DIRECTION


def test_the_interval_that_decides_is_that_of_students_t() -> None:
    differences = np.array([0.01, 0.03, -0.02, 0.05, 0.02, 0.04, 0.0, 0.015])
    evidence = measured({"fossil": 0.7 + differences, "erm": np.full(8, 0.7)})
    table = evidence.tables[TABLE]
    pair = evidence.pairs(TABLE, table.blocks[0], *table.blocks[0].rows, "balanced_accuracy")
    expected = stats.ttest_1samp(differences, 0).confidence_interval(0.95)
    assert (pair.low, pair.high) == pytest.approx((expected.low, expected.high))


def test_less_regret_is_better() -> None:
    part = Better(**BETTER | {"metric": "dynamic_regret"})
    runs = {"fossil": 0.1 + EIGHT / 2, "erm": 0.3 + EIGHT}
    assert part.on_runs(measured(runs, metric="dynamic_regret")).verdict == HELD


@pytest.mark.parametrize(
    ("evidence", "text"),
    [
        (measured(AHEAD, scenario="phantom"), "phantom"),
        (measured({"fossil": EIGHT, "static": EIGHT}), ""),
        (measured(AHEAD, failed=["erm"]), ""),
    ],
    ids=["phantoms", "rows that are not configured", "runs that failed"],
)
def test_a_claim_without_evidence_is_not_run(evidence: Evidence, text: str) -> None:
    answer = Better(**BETTER).on_runs(evidence)
    assert answer.verdict == NOT_RUN
    assert text in answer.text


def means(**of_row: str) -> list[tuple[str, str, str, str]]:
    return [(name, "balanced_accuracy", mean, "0.01") for name, mean in of_row.items()]


@pytest.mark.parametrize(
    ("lines", "by", "verdict", "text"),
    [
        (means(FOSSIL="0.80", ERM="0.81"), [], CONTRADICTED, "ERM"),
        (means(FOSSIL="0.80", ERM="0.80"), [], CANNOT_TELL, "0.8 as ERM"),
        # Significance without a p, and a cell that the paper leaves out.
        (means(FOSSIL="0.80", ERM="0.70"), ["wilcoxon"], CANNOT_TELL, ""),
        (means(ERM="0.70"), [], CANNOT_TELL, ""),
    ],
)
def test_a_printed_mean_that_is_beaten_contradicts_and_one_that_is_equal_or_absent_does_not_tell(
    lines: list[tuple[str, str, str, str]], by: list[str], verdict: str, text: str
) -> None:
    answer = Better(**BETTER, by=by).on_paper(paper(*lines))
    assert answer.verdict == verdict
    assert text in answer.text


def test_a_printed_p_at_the_level_contradicts_significance() -> None:
    ps = [("ERM", "p_wilcoxon", "0.049", ""), ("ERM", "p_permutation", "0.050", "")]
    printed = paper(*means(FOSSIL="0.80", ERM="0.70"), *ps)
    assert Better(**BETTER).on_paper(printed).verdict == CONSISTENT
    assert Better(**BETTER, by=["wilcoxon"]).on_paper(printed).verdict == CONSISTENT
    answer = Better(**BETTER, by=["wilcoxon", "permutation"]).on_paper(printed)
    assert answer.verdict == CONTRADICTED
    assert answer.text == "ERM p = 0.05 (permutation)"


DIFFERENCE = {"kind": "difference", "table": TABLE, "metric": "recall", "row": ["FOSSIL"], "minus": ["ERM"]}


def test_a_difference_holds_where_its_interval_has_the_amount_and_not_zero() -> None:
    runs = measured({"fossil": 0.77 + EIGHT, "erm": 0.7 + EIGHT[::-1]}, metric="recall")
    assert Difference(**DIFFERENCE, amount=0.07).on_runs(runs).verdict == HELD
    assert Difference(**DIFFERENCE, amount=0.5).on_runs(runs).verdict == DIRECTION
    assert Difference(**DIFFERENCE, amount=-0.07).on_runs(runs).verdict == NOT_HELD


@pytest.mark.parametrize(("mean", "verdict"), [("0.71", CONSISTENT), ("0.72", CONSISTENT), ("0.73", CONTRADICTED)])
def test_a_printed_difference_may_be_off_by_the_rounding_of_both_means(mean: str, verdict: str) -> None:
    printed = paper(("FOSSIL", "recall", mean, ""), ("ERM", "recall", "0.65", ""))
    assert Difference(**DIFFERENCE, amount=0.06).on_paper(printed).verdict == verdict


NOT_WORSE = {"kind": "not_worse", "table": TABLE, "metric": "auc", "row": ["FOSSIL"], "than": [["ERM"]]}


# A wide interval of no loss holds in direction.
@pytest.mark.parametrize(("lost", "noise", "verdict"), [(5, 1, HELD), (30, 1, NOT_HELD), (0, 100, DIRECTION)])
def test_a_loss_of_less_than_a_point_is_no_harm_and_a_larger_one_is(lost: int, noise: int, verdict: str) -> None:
    thousandths = -lost + noise * np.array([1, -1, 1, -1, 1, -1, 1, -1])
    runs = measured({"fossil": 0.8 + EIGHT + thousandths / 1000, "erm": 0.8 + EIGHT}, metric="auc")
    assert NotWorse(**NOT_WORSE).on_runs(runs).verdict == verdict


def test_a_printed_loss_of_two_points_contradicts_no_harm() -> None:
    printed = paper(("FOSSIL", "auc", "0.86", ""), ("ERM", "auc", "0.88", ""))
    assert NotWorse(**NOT_WORSE).on_paper(printed).verdict == CONTRADICTED


INSIGNIFICANT = {"kind": "insignificant", "table": TABLE, "metric": "balanced_accuracy", "row": ["FOSSIL"]}
INSIGNIFICANT |= {"than": [["ERM"], ["STATIC"]], "p_above": 0.1, "reported_p": "p_wilcoxon"}


@pytest.mark.parametrize(("p", "verdict"), [("0.125", CONSISTENT), ("0.1", CONTRADICTED), (None, CANNOT_TELL)])
def test_insignificance_is_told_by_every_printed_p(p: str | None, verdict: str) -> None:
    equal = means(FOSSIL="0.80", ERM="0.80", STATIC="0.80")
    ps = [(name, "p_wilcoxon", text, "") for name, text in [("ERM", "0.2"), ("STATIC", p)] if text]
    assert Insignificant(**INSIGNIFICANT).on_paper(paper(*equal, *ps)).verdict == verdict


def test_insignificance_with_four_pairs_is_said_to_be_without_content() -> None:
    part = Insignificant(**INSIGNIFICANT | {"than": [["ERM"]]})
    answer = part.on_runs(measured({"fossil": 0.9 + EIGHT[:4], "erm": 0.5 + EIGHT[:4] / 2}))
    assert answer.verdict == NOT_RUN
    assert "p cannot be below 0.125, whatever the data" in answer.text
    assert part.on_runs(measured({"fossil": 0.9 + EIGHT, "erm": 0.5 + EIGHT / 2})).verdict == NOT_HELD


SPREAD = {"kind": "spread", "table": TABLE, "metric": "balanced_accuracy", "row": ["FOSSIL"], "than": [["ERM"]]}


def test_the_least_spread_holds_beyond_chance_or_in_direction() -> None:
    wide = np.array([-4, 3, -2, 1, -1, 2, -3, 4]) / 10
    assert Spread(**SPREAD).on_runs(measured({"fossil": wide[::-1] / 20, "erm": wide})).verdict == HELD
    assert Spread(**SPREAD).on_runs(measured({"fossil": np.roll(wide, 3) / 1.1, "erm": wide})).verdict == DIRECTION
    assert Spread(**SPREAD).on_runs(measured({"fossil": wide, "erm": wide / 20})).verdict == NOT_HELD
    assert Spread(**SPREAD, most=True).on_runs(measured({"fossil": wide, "erm": wide[::-1] / 20})).verdict == HELD


@pytest.mark.parametrize(("std", "verdict"), [("0.01", CONTRADICTED), ("0.02", CANNOT_TELL), ("0.03", CONSISTENT)])
def test_the_least_printed_spread_is_told_by_a_larger_one_alone(std: str, verdict: str) -> None:
    printed = paper(("FOSSIL", "balanced_accuracy", "0.80", "0.02"), ("ERM", "balanced_accuracy", "0.80", std))
    assert Spread(**SPREAD).on_paper(printed).verdict == verdict
    opposite = {CONTRADICTED: CONSISTENT, CANNOT_TELL: CANNOT_TELL, CONSISTENT: CONTRADICTED}
    assert Spread(**SPREAD, most=True).on_paper(printed).verdict == opposite[verdict]


def test_the_p_of_equal_deviations_is_that_of_morgans_t() -> None:
    generator = np.random.default_rng(1)
    first, second = generator.normal(size=10), generator.normal(size=10) * 3
    # Morgan's statistic from the deviations and the correlation of the pairs themselves.
    a, b, r = first.var(ddof=1), second.var(ddof=1), np.corrcoef(first, second)[0, 1]
    t = (a - b) * np.sqrt(8) / (2 * np.sqrt((1 - r**2) * a * b))
    assert spread_p(first, second) == pytest.approx(2 * stats.t.sf(abs(t), 8))


def test_a_gain_in_every_run_and_in_most_of_them() -> None:
    part = EveryRun(kind="every_run", table=TABLE, metric="balanced_accuracy", row=["FOSSIL"], than=["ERM"])
    one_lost = np.array([0.1] * 7 + [-0.1])
    assert part.on_runs(measured({"fossil": 0.8 + EIGHT, "erm": 0.7 + EIGHT})).verdict == HELD
    assert part.on_runs(measured({"fossil": 0.8 + EIGHT + one_lost, "erm": 0.8 + EIGHT})).verdict == DIRECTION
    assert part.on_runs(measured({"fossil": 0.8 + EIGHT - one_lost, "erm": 0.8 + EIGHT})).verdict == NOT_HELD
