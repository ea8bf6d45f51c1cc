"""What a claim says across tables and of the search, put to printed numbers and to runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from fossil.claims.evidence import Evidence
from fossil.claims.measured import SWEEP, Measured
from fossil.claims.orders import OptionPreferred, RanksAgree, SmallerGap, StageWiseMatches
from fossil.claims.reported import Paper
from fossil.claims.verdicts import CANNOT_TELL, CONSISTENT, CONTRADICTED, DIRECTION, HELD, NOT_HELD, NOT_RUN
from tests.unit.claims.claim_runs import NOTHING, STATISTICS, TABLE, measured, paper, printed, sweep


def test_an_option_is_preferred_where_the_best_candidate_and_the_average_have_it() -> None:
    part = OptionPreferred(
        kind="option_preferred", method="MetaWeight", option="hidden", value="lowest", reported_extreme=64
    )
    names = ["a", "b", "c", "d"]
    hidden = dict(zip(names, [64, 64, 128, 128], strict=True))
    for aucs, verdict in [
        ([0.8, 0.7, 0.6, 0.5], HELD),
        ([0.9, 0.3, 0.7, 0.7], DIRECTION),
        ([0.5, 0.6, 0.7, 0.8], NOT_HELD),
    ]:
        assert part.on_runs(sweep(dict(zip(names, aucs, strict=True)), hidden)).verdict == verdict
    assert part.on_runs(NOTHING).verdict == NOT_RUN


def test_an_option_that_changes_nothing_is_not_preferred_whatever_its_order() -> None:
    evidence = sweep({"a": 0.8, "b": 0.8}, {"a": 64, "b": 128})
    for value in ("lowest", "highest"):
        part = OptionPreferred(
            kind="option_preferred", method="MetaWeight", option="hidden", value=value, reported_extreme=64
        )
        answer = part.on_runs(evidence)
        assert answer.verdict == NOT_HELD
        assert "changes nothing" in answer.text


def test_the_best_printed_line_is_held_against_the_end_of_the_papers_grid() -> None:
    lines = printed(("MetaWeight", "auc", "0.830", "0.06"), table=SWEEP, variant="hidden=128;meta_lr=5e-4")
    part = {"kind": "option_preferred", "method": "MetaWeight", "option": "hidden", "value": "lowest"}
    assert OptionPreferred(**part, reported_extreme=64).on_paper(Paper(lines)).verdict == CONTRADICTED
    assert OptionPreferred(**part, reported_extreme=128).on_paper(Paper(lines)).verdict == CONSISTENT


RANKS = {"kind": "ranks_agree", "metric": "auc", "rows": [[[name], [name]] for name in "ABCD"]}


def two_tables(first: Sequence[str], second: Sequence[str]) -> Paper:
    """AUC of methods A, B, C, ... in two tables of a paper."""
    lines = [
        printed(*[(name, "auc", mean, "") for name, mean in zip("ABCDEF", means, strict=False)], table=table)
        for table, means in (("first", first), ("second", second))
    ]
    return Paper(pd.concat(lines))


@pytest.mark.parametrize(
    ("first", "second", "verdict", "text"),
    [
        (["0.1", "0.2", "0.3", "0.4"], ["0.5", "0.6", "0.7", "0.9"], CONSISTENT, "1.00 over 4 rows in print"),
        # Ranks 1 2 3 4 and 4 3 2 1.
        (["0.1", "0.2", "0.3", "0.4"], ["0.9", "0.7", "0.6", "0.5"], CONTRADICTED, "-1.00 over 4 rows in print"),
        # A and B in either order: 1 - 6 * 2 / 60 = .8, or 1.
        (["0.8", "0.8", "0.9", "1.0"], ["0.1", "0.2", "0.3", "0.4"], CONSISTENT, "0.80 to 1.00 as equal"),
        # A, B and C in any order: the reverse has 1 - 6 * 8 / 60 = .2.
        (["0.8", "0.8", "0.8", "0.9"], ["0.1", "0.2", "0.3", "0.4"], CANNOT_TELL, "0.20 to 1.00 as equal"),
        # A and B in either order: -1, or 1 - 6 * 18 / 60 = -.8.
        (["0.8", "0.8", "0.9", "1.0"], ["0.4", "0.3", "0.2", "0.1"], CONTRADICTED, "-1.00 to -0.80 as equal"),
        # A and B are equal in both tables, and may have two orders: 1 - 6 * 2 / 60 = .8.
        (["0.8", "0.8", "0.9", "1.0"], ["0.1", "0.1", "0.3", "0.4"], CONSISTENT, "0.80 to 1.00 as equal"),
        (["0.1", "0.2"], ["0.1", "0.2"], CANNOT_TELL, "fewer than three"),
    ],
)
def test_orders_in_print_agree_as_far_as_every_order_of_equal_means_does(
    first: list[str], second: list[str], verdict: str, text: str
) -> None:
    answer = RanksAgree(**RANKS, tables=["first", "second"]).on_paper(two_tables(first, second))
    assert answer.verdict == verdict
    assert text in answer.text


@pytest.mark.parametrize(
    ("second", "verdict"),
    # Ranks 1 2 3 4 against themselves, 1 - 6 * 8 / 60 = .2, and the reverse.
    [([0.1, 0.2, 0.3, 0.4], HELD), ([0.3, 0.2, 0.1, 0.4], DIRECTION), ([0.4, 0.3, 0.2, 0.1], NOT_HELD)],
)
def test_orders_of_measured_means_agree_or_do_not(second: list[float], verdict: str) -> None:
    methods = ["erm", "static", "focal", "fossil"]
    # Each mean is that of two runs, and the runs of the first table alone have another order.
    spread = {"first": np.array([0.05, -0.05]), "second": np.zeros(2)}
    tables, metrics = {}, []
    for name, means in [("first", [0.5, 0.6, 0.7, 0.8]), ("second", second)]:
        runs = {method: mean + spread[name] for method, mean in zip(methods, means, strict=True)}
        one = measured(runs, metric="auc")
        tables[name] = Measured(study=name, blocks=one.tables[TABLE].blocks)
        metrics.append(one.metrics.assign(study=name))
    evidence = Evidence(metrics=pd.concat(metrics), tables=tables, statistics=STATISTICS)
    part = RanksAgree(
        kind="ranks_agree",
        tables=["first", "second"],
        metric="auc",
        rows=[[[method.upper()], [method.upper()]] for method in methods],
    )
    assert part.on_runs(evidence).verdict == verdict


@pytest.mark.parametrize(
    ("whole", "verdict", "text"),
    [
        ([0.6, 0.7, 0.8, 0.9], HELD, "rho 1.00 over 4 rows"),
        ([0.8, 0.7, 0.6, 0.9], DIRECTION, "rho 0.20 over 4 rows"),
        ([0.9, 0.8, 0.7, 0.6], NOT_HELD, "rho -1.00 over 4 rows"),
        ([0.6, 0.7, np.nan, np.nan], NOT_RUN, "fewer than three rows"),
        ([0.7, 0.7, 0.7, 0.7], NOT_RUN, "fewer than three rows"),
    ],
)
def test_short_trials_are_compared_with_the_whole_training_of_every_row(
    whole: list[float], verdict: str, text: str
) -> None:
    # The last row is the first once more, where what was tuned is what was configured.
    tuning = pd.DataFrame({"trial_auc": [0.1, 0.2, 0.3, 0.4, 0.1], "test_auc": [*whole, whole[0]]})
    evidence = Evidence(
        metrics=NOTHING.metrics,
        tables={"final-tuning": measured({"erm": [0.8]}).tables[TABLE]},
        statistics=STATISTICS,
        trials="trials",
        tuning=tuning,
    )
    part = RanksAgree(**RANKS, tables=[SWEEP, "final-tuning"])
    answer = part.on_runs(evidence)
    assert answer.verdict == verdict
    assert text in answer.text


def test_short_trials_are_compared_with_nothing_where_there_is_no_search() -> None:
    answer = RanksAgree(**RANKS, tables=[SWEEP, "final-tuning"]).on_runs(NOTHING)
    assert answer.verdict == NOT_RUN
    assert answer.text == "no search is configured"


GAP = {"kind": "smaller_gap", "tables": ["near", "far"], "ratios": ["", ""], "metric": "balanced_accuracy"}
GAP |= {"rows": [["FOSSIL"], ["FOSSIL"]], "minus": [["STATIC"], ["STATIC"]]}


@pytest.mark.parametrize(
    ("near", "verdict", "text"),
    # In the other table .83 - .77 = .06.
    [
        ("0.82", CONSISTENT, "+0.050 against +0.060 in print"),
        ("0.83", CANNOT_TELL, "+0.060 against +0.060 in print"),
        ("0.84", CONTRADICTED, "+0.070 against +0.060 in print"),
    ],
)
def test_a_gap_in_print_is_smaller_or_larger_or_the_same(near: str, verdict: str, text: str) -> None:
    lines = [
        printed(("FOSSIL", "balanced_accuracy", mean, ""), ("STATIC", "balanced_accuracy", "0.77", ""), table=table)
        for table, mean in (("near", near), ("far", "0.83"))
    ]
    answer = SmallerGap(**GAP).on_paper(Paper(pd.concat(lines)))
    assert answer.verdict == verdict
    assert answer.text == text


def test_a_gap_to_a_row_that_is_not_printed_cannot_be_told() -> None:
    one = paper(("FOSSIL", "balanced_accuracy", "0.8", ""), ("STATIC", "balanced_accuracy", "0.7", ""), table="near")
    assert SmallerGap(**GAP).on_paper(one).verdict == CANNOT_TELL


def test_a_gap_is_smaller_beyond_chance_where_intervals_are_apart() -> None:
    noise = np.array([1, -1, 1, -1, 1, -1]) / 1000
    rows = {}
    for name, lead, scale in [("near", 0.01, 1), ("far", 0.2, 1), ("near, wide", 0.01, 400), ("far, wide", 0.2, 400)]:
        gap = lead + noise * scale
        rows[name] = measured({"fossil": 0.5 + gap, "static": np.full(6, 0.5)})
    metrics = pd.concat([one.metrics.assign(study=name) for name, one in rows.items()])
    tables = {name: Measured(study=name, blocks=one.tables[TABLE].blocks) for name, one in rows.items()}
    evidence = Evidence(metrics=metrics, tables=tables, statistics=STATISTICS)
    for *names, verdict in [
        ("near", "far", HELD),
        ("near", "far, wide", DIRECTION),
        ("near, wide", "far", DIRECTION),
        ("far", "near", NOT_HELD),
    ]:
        assert SmallerGap(**GAP | {"tables": names}).on_runs(evidence).verdict == verdict


STAGE_WISE = StageWiseMatches(kind="stage_wise_matches")


@pytest.mark.parametrize(("staged", "verdict"), [(0.825, HELD), (0.838, HELD), (0.815, NOT_HELD), (0.845, NOT_HELD)])
def test_the_best_stage_wise_candidate_is_held_against_the_best_continuous_one(staged: float, verdict: str) -> None:
    means = {"a": 0.83, "b": 0.80, "stage-wise-a": staged, "stage-wise-b": 0.70}
    evidence = sweep(means, dict.fromkeys(means, 1.0), key="gamma_scale", method="fossil", barred=list(means)[2:])
    answer = STAGE_WISE.on_runs(evidence)
    assert answer.verdict == verdict
    assert answer.text == f"validation AUC {staged:.3f} stage-wise, 0.830 continuous"


def test_the_stage_wise_variant_is_not_run_where_it_is_not_tried() -> None:
    for evidence, text in [
        (NOTHING, "no search is configured"),
        (sweep({"a": 0.8}, {"a": 64}), "no search of this method"),
        (sweep({"a": 0.8}, {"a": 1.0}, key="gamma_scale", method="fossil"), "the stage-wise variant is not tried"),
    ]:
        answer = STAGE_WISE.on_runs(evidence)
        assert answer.verdict == NOT_RUN
        assert answer.text == text


def test_the_papers_tables_do_not_tell_of_the_stage_wise_variant() -> None:
    assert STAGE_WISE.on_paper(paper(("FOSSIL", "auc", "0.833", "0.047"), table=SWEEP)).verdict == CANNOT_TELL
