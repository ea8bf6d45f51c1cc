"""The summary: findings and counts from tables made by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fossil.claims.ledger import CHECK, CLAIM, COLUMNS, NUMBER, STATEMENT, read_ledger
from fossil.claims.verdicts import HELD, INCONSISTENT, NOT_HELD, NOT_RUN, WITHIN_1
from fossil.commands import summarise_results
from fossil.reporting.claims import verdict_table
from fossil.reporting.html_pages import markdown_body
from fossil.reporting.summary import Tables, summary_page
from tests.unit.reporting.table_runs import long_table
from tests.unit.runs import break_run

THEORY = pd.DataFrame({"verdict": ["verified", "refuted", "verified"]})


def rows(
    *entries: tuple[str, str, float, float], block: str = "same-data", data: str = "synthetic", n: int = 8
) -> pd.DataFrame:
    """Rows of a table: method, label, balanced accuracy and p; Holm's is twice that."""
    found = [
        {
            **{"block": block, "method": method, "label": label, "n": n, "n_expected": 8, "data": data},
            **{"balanced_accuracy_mean": mean, "balanced_accuracy_std": 0.03, "recall_mean": 0.7, "recall_std": 0.1},
            **{"auc_mean": 0.9, "auc_std": 0.02, "p_wilcoxon": p, "p_wilcoxon_holm": 2 * p},
        }
        for method, label, mean, p in entries
    ]
    return pd.DataFrame(found)


OURS = ("fossil", "FOSSIL", 0.825, np.nan)
SYNTHETIC = rows(("erm", "ERM", 0.787, 0.008), ("static", "Static weighting", 0.814, 0.078), OURS)
# A claim that held, one that did not, a check of the paper against itself that failed, a statement, and two numbers.
LEDGER = pd.DataFrame(
    {
        "kind": [CLAIM, CLAIM, CHECK, STATEMENT, NUMBER, NUMBER],
        "verdict": [HELD, NOT_HELD, INCONSISTENT, "verified", WITHIN_1, NOT_RUN],
    }
).reindex(columns=COLUMNS)
PHANTOM = rows(("erm", "ERM", 0.5, 0.2), ("fossil", "FOSSIL", 0.6, np.nan), data="phantom")


def page(
    synthetic: pd.DataFrame | None = SYNTHETIC,
    internal: pd.DataFrame | None = PHANTOM,
    external: pd.DataFrame | None = None,
    claims: pd.DataFrame | None = None,
    metrics: list[pd.DataFrame] | None = None,
    **more: Any,
) -> str:
    metrics = metrics or [long_table({"erm": 0.6}, names=["auc"])]
    told: dict[str, Any] = {"facts": {"Seeds": "eight"}, "warning": "Drawn.", "headline": "imbalance ratio 9:1"}
    told |= {"reference": "fossil", "drawn": True, "alpha": 0.05} | more
    return summary_page(Tables(synthetic, internal, external, metrics, THEORY, claims), **told)


def findings(text: str) -> list[str]:
    return text.partition("## Findings\n\n")[2].partition("\n\n##")[0].splitlines()


def test_there_are_three_findings_whatever_the_run_has() -> None:
    assert len(findings(page())) == 3
    assert len(findings(page(synthetic=None, internal=None))) == 3
    assert len(findings(page(rows(OURS), PHANTOM.assign(balanced_accuracy_mean=np.nan)))) == 3


def test_the_best_method_is_the_one_with_the_highest_mean_and_its_lead_is_over_the_next() -> None:
    best = findings(page())[0]
    # .825 - .814
    assert "FOSSIL has the highest balanced accuracy, 0.825 ± 0.030, 0.011 above the next, Static weighting." in best
    other = rows(OURS, ("erm", "ERM", 0.9, 0.008))
    assert (
        "ERM has the highest balanced accuracy, 0.900 ± 0.030, 0.075 above the next, FOSSIL."
        in findings(page(other))[0]
    )
    level = rows(OURS, ("erm", "ERM", 0.825, 1.0))
    assert "level with" in findings(page(level))[0]


def test_only_the_first_block_counts() -> None:
    second = rows(("curriculum", "Curriculum", 0.99, 0.01), block="augmented")
    assert "FOSSIL has the highest" in findings(page(pd.concat([SYNTHETIC, second])))[0]
    assert "Curriculum" not in page(pd.concat([SYNTHETIC, second]))


@pytest.mark.parametrize(
    ("mean", "p", "said"),
    [
        (0.814, 0.078, "0.011 more balanced accuracy than class weights by inverse frequency (Static weighting), a "
         "difference that cannot be told apart from chance at 0.05: Wilcoxon p = 0.078, 0.156 by Holm."),
        (0.800, 0.02, "0.025 more balanced accuracy than class weights by inverse frequency (Static weighting), a "
         "difference that is told apart from chance at 0.05: Wilcoxon p = 0.020, 0.040 by Holm."),
        (0.900, 0.0001, "0.075 less balanced accuracy than class weights by inverse frequency (Static weighting), a "
         "difference that is told apart from chance at 0.05: Wilcoxon p = <0.001, <0.001 by Holm."),
    ],
)  # fmt: skip
def test_fossil_is_held_against_class_weights_by_the_test_of_their_row(mean: float, p: float, said: str) -> None:
    assert said in findings(page(rows(OURS, ("static", "Static weighting", mean, p))))[1]


def test_without_class_weights_or_their_runs_nothing_is_held_against_them() -> None:
    assert "does not hold class weights against FOSSIL" in findings(page(rows(OURS, ("erm", "ERM", 0.7, 0.1))))[1]
    lacking = rows(OURS, ("static", "Static weighting", np.nan, np.nan), n=0)
    assert "runs lack" in findings(page(lacking))[1]


def test_drawn_images_are_said_to_say_nothing_of_patients() -> None:
    drawn = page()
    assert findings(drawn)[2] == (
        "- Phantom images: the highest balanced accuracy is 0.600 ± 0.030, of FOSSIL; 0 of 1 rows are told apart from "
        "the reference (Wilcoxon, Holm, 0.05). Images that are drawn say nothing of patients."
    )
    assert "**Drawn.**" in drawn
    assert "folds: Phantom data (drawn by the pipeline, no patients)" in drawn
    photographs = page(
        internal=PHANTOM.assign(data="pad_ufes_20", p_wilcoxon_holm=[0.01, np.nan]), drawn=False, warning=""
    )
    assert "hantom" not in photographs
    assert "1 of 1 rows are told apart" in findings(photographs)[2]
    assert "folds: PAD-UFES-20" in photographs


def test_rows_that_are_level_share_the_first_place() -> None:
    tied = PHANTOM.assign(balanced_accuracy_mean=[0.6001, 0.6])
    assert "of ERM and FOSSIL;" in findings(page(internal=tied))[2]


def test_main_rows_have_means_deviations_and_p_and_say_how_many_runs_they_lack() -> None:
    text = page(rows(OURS, ("erm", "ERM", 0.787, 0.008), n=7))
    line = next(line for line in text.splitlines() if line.startswith("| ERM"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == ["ERM (n = 7)", "0.787 ± 0.030", "0.700 ± 0.100", "0.900 ± 0.020", "0.008 (0.016)"]
    assert max(map(len, re.findall(r"^\|.*\|$", text, flags=re.MULTILINE))) <= 110


def test_external_rows_have_their_gap() -> None:
    external = PHANTOM.assign(data="phantom_external", generalization_gap_mean=-0.02, generalization_gap_std=0.01)
    text = page(external=external)
    assert "generalisation gap" in text.partition("## External images: Phantom data of another look")[2]
    assert "-0.020 ± 0.010" in text
    assert "External" not in page()


def test_runs_are_counted_once_with_those_that_failed_or_are_missing() -> None:
    four = long_table({"erm": 0.6, "fossil": 0.7}, names=["auc", "recall"])
    broken = break_run(four, method="erm", seed=1)
    again = broken.assign(study="another")
    folds = long_table({"erm": 0.6}, names=["auc"], folds=2, scenario="phantom").assign(study="phantom-internal")
    transfer = folds.assign(study="phantom_external-transfer")
    # Two methods by four seeds in both synthetic studies, and one by two folds and four seeds in each one of images.
    assert "Runs that are evaluated: 24, of which 1 failed and 0 are missing." in page(
        metrics=[broken, again, folds, transfer]
    )


def test_statements_are_counted_by_verdict_and_the_ledger_is_told_kind_by_kind() -> None:
    text = page(claims=LEDGER)
    assert "Statements of the theory: 2 verified, 1 refuted." in text
    assert verdict_table(LEDGER) in text
    assert "Claims in words" not in page().partition("## Runs")[2].partition("## Where")[0].replace(
        "theory and claims", ""
    )


def test_a_study_in_folds_is_told_by_the_test_that_minds_what_folds_share() -> None:
    folds = PHANTOM.assign(p_corrected_t=[0.01, np.nan], p_corrected_t_holm=[0.02, np.nan])
    text = page(internal=folds)
    assert "1 of 1 rows are told apart from the reference (corrected resampled t-test, Holm, 0.05)" in text
    images = text.partition("## Images")[2].partition("\n##")[0]
    assert "p: corrected resampled t-test of balanced accuracy" in images
    assert "0.010 (0.020)" in images
    assert "Wilcoxon" not in images
    assert "p: Wilcoxon of balanced accuracy" in text.partition("## Images")[0]


def test_a_bar_in_a_label_ends_no_cell() -> None:
    html = markdown_body(page(rows(("erm", "a | b", 0.7, 0.1), OURS)))
    assert "<td>a | b</td>\n<td>0.700 ± 0.030</td>" in html


def test_the_stage_reads_what_there_is(tmp_path: Path) -> None:
    SYNTHETIC.to_csv(tmp_path / "synthetic.csv", index=False)
    THEORY.to_csv(tmp_path / "theory.csv", index=False)
    LEDGER.to_csv(tmp_path / "claims.csv", index=False)
    long_table({"erm": 0.6}, names=["auc"]).to_parquet(tmp_path / "metrics.parquet")
    settings = {
        "facts": [["Seeds", "eight"]],
        "warning": "",
        "headline": "imbalance ratio 9:1",
        "reference": "fossil",
        "drawn": True,
        "alpha": 0.05,
    }
    summarise_results.run(
        summarise_results.Settings.model_validate(settings),
        synthetic=[tmp_path / "synthetic.csv"],
        internal=[],
        external=[],
        metrics=[tmp_path / "metrics.parquet"],
        theory=tmp_path / "theory.csv",
        claims=[tmp_path / "claims.csv"],
        summary=tmp_path / "summary.md",
    )
    text = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert text.startswith("# Summary\n\n- Seeds: eight\n")
    assert "0.011 above the next" in text
    assert verdict_table(read_ledger(tmp_path / "claims.csv")) in text
    assert findings(text)[2] == "- Phantom images: there are no runs."
