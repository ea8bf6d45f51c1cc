"""Reported numbers against the runs of the same cell, and the whole ledger."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fossil.claims.evidence import Evidence
from fossil.claims.ledger import ClaimsError, judge, read_claims, read_ledger
from fossil.claims.measured import SWEEP, Measured
from fossil.claims.numbers import judge_numbers
from fossil.claims.reported import Paper, read_reported
from fossil.claims.self_checks import read_checks
from fossil.claims.verdicts import BEYOND, CONTRADICTED, EMPTY, NOT_RUN, OTHER_SIDE, SAME_SIDE, WITHIN_1, WITHIN_2
from fossil.design.comparisons import Block
from fossil.reporting.claims import BEGIN, END, page, verdict_table, with_verdict_table
from fossil.reporting.tables._claims import claims_tables
from tests.unit.claims.claim_runs import NOTHING, TABLE, measured, printed, sweep
from tests.unit.reporting.table_runs import compiles

WORKFLOW = Path(__file__).parents[3] / "workflow"


@pytest.mark.parametrize(
    ("mean", "verdict"), [("0.81", WITHIN_1), ("0.79", WITHIN_1), ("0.83", WITHIN_2), ("0.85", BEYOND)]
)
def test_a_number_is_judged_by_its_distance_in_reported_deviations(mean: str, verdict: str) -> None:
    # The runs' mean is .80, the reported deviation .02.
    evidence = measured({"erm": [0.79, 0.80, 0.81]})
    (row,) = judge_numbers(printed(("ERM", "balanced_accuracy", mean, "0.02")), evidence).to_dict("records")
    assert row["verdict"] == verdict
    assert row["in_sd"] == pytest.approx((0.80 - float(mean)) / 0.02)
    assert row["in_se"] == pytest.approx((0.80 - float(mean)) / np.sqrt((0.02**2 + 0.01**2) / 3))


def test_a_printed_regret_of_a_synthetic_table_is_held_against_the_balanced_error() -> None:
    evidence = measured({"erm": [0.2, 0.2]}, metric="balanced_error")
    (row,) = judge_numbers(printed(("ERM", "dynamic_regret", "0.19", "0.05")), evidence).to_dict("records")
    assert row["verdict"] == WITHIN_1
    assert "balanced error" in row["how"]


def test_the_regret_of_an_untuned_row_on_photographs_is_the_static_one() -> None:
    evidence = measured({"erm": [0.1, 0.1]}, metric="static_regret", scenario="pad_ufes_20")
    evidence = replace(evidence, tables={"final-tuning": evidence.tables[TABLE]})
    line = printed(("ERM", "dynamic_regret", "0.11", "0.03"), table="final-tuning")
    (row,) = judge_numbers(line, evidence).to_dict("records")
    assert row["measured"] == pytest.approx(0.1)
    assert "line 582" in row["how"]


def test_a_p_is_judged_by_the_side_of_the_level() -> None:
    runs = {"fossil": np.arange(8) / 100 + 0.8, "erm": np.arange(8) / 200 + 0.7}
    lines = printed(
        *(("ERM", "p_wilcoxon", "0.016", ""), ("ERM", "p_permutation", "0.525", "")), table="synthetic-results"
    )
    judged = judge_numbers(lines, with_p(runs))
    assert list(judged["verdict"]) == [SAME_SIDE, OTHER_SIDE]
    assert list(judged["measured"]) == pytest.approx([2 / 2**8] * 2)


def test_a_p_of_runs_too_few_for_one_below_the_level_says_nothing() -> None:
    # Four pairs give at least 2/2^4 = .125, so that they are on the same side as .125, and not on that of .01, whatever
    # the data.
    runs = {"fossil": np.arange(4) / 100 + 0.8, "erm": np.arange(4) / 200 + 0.7}
    lines = printed(
        *(("ERM", "p_wilcoxon", "0.125", ""), ("ERM", "p_permutation", "0.01", "")), table="synthetic-results"
    )
    assert list(judge_numbers(lines, with_p(runs))["verdict"]) == [EMPTY, EMPTY]


def test_a_p_is_of_the_comparison_that_the_paper_prints_whatever_rows_are_compared_with_here() -> None:
    runs = {"static": np.arange(8) / 100 + 0.75, "fossil": np.arange(8) / 100 + 0.8, "erm": np.arange(8) / 200 + 0.7}
    evidence = with_p(runs)
    assert evidence.tables["synthetic-results"].blocks[0].reference.endswith("static-baseline")
    lines = printed(
        *(("ERM", "p_wilcoxon", "0.016", ""), ("STATIC", "p_wilcoxon", "0.016", "")), table="synthetic-results"
    )
    assert list(judge_numbers(lines, evidence)["measured"]) == pytest.approx([2 / 2**8] * 2)
    without = with_p({"static": runs["static"], "erm": runs["erm"]})
    assert set(judge_numbers(lines, without)["verdict"]) == {NOT_RUN}


def with_p(runs: dict[str, np.ndarray]) -> Evidence:
    """Evidence of a table of the paper that prints p-values, which are against FOSSIL."""
    names = {method: "FOSSIL (ours)" if method == "fossil" else method.upper() for method in runs}
    evidence = measured(runs, names=names)
    return replace(evidence, tables={"synthetic-results": evidence.tables[TABLE]})


def test_the_nearest_reading_stands_beside_the_default_one() -> None:
    runs = {"static": [0.8, 0.8], "static_inverted": [0.7, 0.7]}
    evidence = measured(runs, names=dict.fromkeys(runs, "Static"))
    (row,) = judge_numbers(printed(("Static", "balanced_accuracy", "0.71", "0.03")), evidence).to_dict("records")
    assert (row["measured"], row["nearest"]) == pytest.approx((0.8, 0.7))
    assert row["nearest_row"] == "all: static_inverted"
    assert row["verdict"] == BEYOND


@pytest.mark.parametrize(
    ("evidence", "how"),
    [
        (measured({"erm": [0.8, 0.8]}, scenario="phantom"), ""),
        (replace(measured({"static": [0.8]}), metrics=measured({"erm": [0.8]}).metrics), "no such row is configured"),
    ],
    ids=["phantoms", "no row"],
)
def test_numbers_of_photographs_on_phantoms_and_of_rows_that_are_not_configured_are_not_run(
    evidence: Evidence, how: str
) -> None:
    (row,) = judge_numbers(printed(("ERM", "balanced_accuracy", "0.80", "0.02")), evidence).to_dict("records")
    assert row["verdict"] == NOT_RUN
    assert how in row["how"]


def test_every_one_of_the_278_numbers_has_a_row_and_without_runs_none_is_judged() -> None:
    judged = judge_numbers(read_reported(WORKFLOW / "paper" / "reported.csv"), NOTHING)
    assert len(judged) == 278
    assert set(judged["verdict"]) == {NOT_RUN}


def test_a_line_of_the_papers_sweep_is_held_against_the_candidate_with_its_options() -> None:
    evidence = sweep({"a": 0.80, "b": 0.70}, {"a": 128, "b": 64})
    lines = printed(("MetaWeight", "auc", "0.71", "0.02"), table=SWEEP, variant="hidden=64")
    (row,) = judge_numbers(lines, evidence).to_dict("records")
    assert row["measured"] == pytest.approx(0.70)
    assert row["row"] == "b"


@pytest.fixture(scope="module")
def ledger() -> pd.DataFrame:
    """The whole ledger, of runs of the paper's synthetic rows at 9:1 and of no photograph."""
    generator = np.random.default_rng(0)
    names = ["FOSSIL", "ERM", "Static reweight.", "Focal loss", "Meta-Weight-Net", "Curriculum"]
    methods = ["fossil", "erm", "static", "focal", "meta_weight_net", "curriculum"]
    runs = {method: 0.8 + generator.normal(0, 0.02, 8) for method in methods}
    evidence = measured(runs, names=dict(zip(methods, names, strict=True)))
    block: Block = evidence.tables[TABLE].blocks[0].model_copy(update={"reported_ratio": "9"})
    evidence = replace(evidence, tables={TABLE: Measured(study="study", blocks=[block])})
    theory = pd.DataFrame(
        [{"statement": "lemma", "place": "Lemma 3.2", "claim": "Weights rise_", "as_printed": "refuted"}]
    ).assign(verdict="verified in corrected form", correction="They fall", evidence="100% of draws")
    return judge(
        read_claims(WORKFLOW / "paper" / "claims.yaml"),
        evidence,
        checks=read_checks(WORKFLOW / "paper" / "self_checks.yaml"),
        reported=read_reported(WORKFLOW / "paper" / "reported.csv"),
        text=pd.read_csv(WORKFLOW / "paper" / "reported-text.csv"),
        theory=theory,
    )


def test_the_list_of_claims_has_about_forty_and_each_names_rows_that_the_paper_prints() -> None:
    paper = Paper(read_reported(WORKFLOW / "paper" / "reported.csv"))
    claims = read_claims(WORKFLOW / "paper" / "claims.yaml")
    assert len(claims) >= 30
    for claim in claims:
        for part in claim.parts:
            for one in part.named() if hasattr(part, "named") else []:
                # Of AURC the paper prints p-values alone.
                metric = "auc" if part.metric == "area_under_regret_curve" else part.metric
                assert paper.cell(part.table, part.ratio, metric, one), (claim.id, one)


def test_claims_that_the_papers_own_tables_contradict_are_told_as_such(ledger: pd.DataFrame) -> None:
    verdicts = ledger[ledger["kind"] == "claim"].set_index("id")["verdict"]
    # Line 472: focal loss .12, FOSSIL .13; line 569: p = .525; line 572: regret .03 against .11; line 574: p = .048.
    contradicted = ["lowest-regret-4", "significant-against-all-on-pad", "regret-reduced-on-pad"]
    assert set(verdicts[[*contradicted, "significant-at-one-percent"]]) == {CONTRADICTED}
    assert verdicts["best-on-external-data"] == NOT_RUN


def test_the_table_of_verdicts_counts_every_row_of_the_ledger_once(ledger: pd.DataFrame) -> None:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in verdict_table(ledger).splitlines()[2:]]
    assert [row[0] for row in rows] == [
        *("Claims in words", "Numbers", "p-values", "Statements of the theory", "The paper against itself")
    ]
    # The paper prints 278 numbers, of which 24 are p-values: twelve of Wilcoxon, seven of permutations, five of AURC.
    assert [int(row[1]) for row in rows] == [56, 254, 24, 1, 58]
    for _, total, *cells in rows:
        assert sum(int(count) for cell in cells for count in re.findall(r"(?:^|, )(\d+) ", cell)) == int(total)
    assert rows[3][2:] == ["0 verified", "1 in corrected form", "0 refuted", "-"]


def test_the_page_has_a_line_for_every_row_and_is_the_same_of_a_ledger_that_was_written_and_read(
    ledger: pd.DataFrame, tmp_path: Path
) -> None:
    lines = [line for line in page(ledger).splitlines() if line.startswith("| ")]
    assert len(lines) == 5 + len(ledger) + 2 * 5
    path = tmp_path / "claims.csv"
    ledger.to_csv(path, index=False)
    assert page(read_ledger(path)) == page(ledger)


def test_the_tables_of_the_ledger_compile_and_fit_their_pages(ledger: pd.DataFrame, tmp_path: Path) -> None:
    tex = claims_tables(ledger)
    assert tex.count(r"\begin{table}") >= 4
    compiles(tex, tmp_path)


def test_the_table_of_verdicts_takes_the_place_between_its_marks(ledger: pd.DataFrame) -> None:
    text = with_verdict_table(f"before\n{BEGIN}\nold\n{END}\nafter\n", ledger)
    assert text == f"before\n{BEGIN}\n{verdict_table(ledger)}\n{END}\nafter\n"
    with pytest.raises(ValueError, match="lacks the lines"):
        with_verdict_table("before", ledger)


def test_a_wrong_list_of_claims_is_an_error_that_names_the_entry(tmp_path: Path) -> None:
    path = tmp_path / "claims.yaml"
    entry = "{id: a, line: 1, place: text, claim: c, parts: [{kind: stage_wise_matches}]}"
    path.write_text(f"claims: [{entry}, {entry}]")
    with pytest.raises(ClaimsError, match="more than one claim is called a"):
        read_claims(path)
    path.write_text("claims: [{id: a, line: 1, place: text, claim: c, parts: [{kind: guess}]}]")
    with pytest.raises(ClaimsError, match=r"claims\.0\.parts\.0"):
        read_claims(path)
