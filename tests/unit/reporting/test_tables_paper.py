"""What the paper prints, beside what was measured."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fossil.claims.reported import read_reported
from fossil.config.methods import METHODS
from fossil.design.comparisons import Block
from fossil.reporting.tables._latex import TableError
from fossil.reporting.tables._study import study_table
from tests.unit.reporting.table_runs import SYNTHETIC, block, cells, compared, compiles, long_table, random_table, row

REPORTED = Path(__file__).parents[3] / "workflow" / "paper" / "reported.csv"

MAIN = {
    "erm": "ERM",
    "static": "Static reweight.",
    "focal": "Focal loss",
    "meta_weight_net": "Meta-Weight-Net",
    "curriculum": "Curriculum",
    "fossil": "FOSSIL",
}
FIRST = MAIN | {"static": "Static weighting", "curriculum": "Curriculum learning", "fossil": "FOSSIL (ours)"}


def printed_block(printed: dict[str, str], *, methods: list[str], scenario: str = "ir9", **more: object) -> Block:
    """All of some methods, with the paper's name of those that it has; FOSSIL is the reference."""
    rows = [row(method, scenario=scenario, reported=printed.get(method)) for method in methods]
    return block(*rows, reference=f"{scenario}/fossil-baseline", **more)


def tabulated(
    table: str, blocks: list[Block], metrics: pd.DataFrame, *, reported: pd.DataFrame | None = None, **ps: float
) -> tuple[pd.DataFrame, str]:
    """A table of the paper's numbers, and of given p-values in place of those of the metrics."""
    return study_table(
        *(metrics, compared(metrics, blocks).assign(**ps), read_reported(REPORTED) if reported is None else reported),
        table=table,
        title="Synthetic data",
        blocks=blocks,
        columns=SYNTHETIC,
        notes=[],
        alpha=0.05,
    )


def measured(blocks: list[Block]) -> pd.DataFrame:
    return random_table([entry for each in blocks for entry in each.rows], names=SYNTHETIC, seeds=range(8))


def test_printed_numbers_are_those_of_the_same_row_and_imbalance_ratio() -> None:
    blocks = [
        printed_block(MAIN, methods=["erm", "fossil"], scenario=f"ir{ratio}", name=f"ir{ratio}", reported_ratio=ratio)
        for ratio in ("4", "19")
    ]
    table, tex = tabulated("synthetic-main", blocks, measured(blocks))
    # Lines 470, 475, 486 and 491 of the paper.
    assert list(table["recall_printed_mean"]) == ["0.78", "0.85", "0.44", "0.49"]
    assert list(table["recall_printed_std"]) == ["0.05", "0.05", "0.09", "0.07"]
    assert cells(tex, "ERM")[7:12] == ["0.93", "0.87", "0.78", "0.86", "0.13"]
    assert r"{\tiny $\pm$0.12}" not in tex


def test_the_papers_p_values_stand_with_its_means() -> None:
    blocks = [printed_block(FIRST, methods=["erm", "fossil"])]
    table, tex = tabulated("synthetic-results", blocks, measured(blocks))
    assert list(table["p_permutation_printed"]) == ["0.016", ""]
    assert cells(tex, "ERM")[7:13] == ["0.88", "0.81", "0.79", "0.19", "0.016", "0.016"]
    assert cells(tex, "FOSSIL")[7:13] == ["0.89", "0.83", "0.83", "0.16", "--", "--"]


def test_a_row_that_the_paper_lacks_has_dashes_there_and_no_bold_is_copied() -> None:
    blocks = [printed_block(MAIN, methods=["effective_number", "fossil"], reported_ratio="9")]
    table, tex = tabulated("synthetic-main", blocks, measured(blocks))
    assert cells(tex, "Effective number")[7:12] == ["--"] * 5
    assert table["auc_printed_mean"].iloc[0] == ""
    assert "textbf" not in "".join(cells(tex, "FOSSIL")[7:12])


def test_without_any_printed_row_the_papers_columns_are_left_out() -> None:
    blocks = [printed_block({}, methods=["erm", "fossil"])]
    table, tex = tabulated("synthetic-main", blocks, measured(blocks))
    assert "Paper" not in tex
    assert len(cells(tex, "ERM")) == 1 + len(SYNTHETIC) + 4
    assert not [name for name in table.columns if name.endswith("_printed_mean")]


def test_the_papers_dynamic_regret_is_held_against_the_balanced_error_and_keeps_its_name_in_the_csv() -> None:
    blocks = [printed_block(MAIN, methods=list(MAIN), reported_ratio="19")]
    table, tex = tabulated("synthetic-main", blocks, measured(blocks))
    assert "balanced_error_printed_mean" not in table.columns
    assert table["dynamic_regret_printed_mean"].iloc[0] == "0.27"
    headings = next(line for line in tex.splitlines() if "``dyn." in line).split("&")
    starred = [i for i, heading in enumerate(headings) if r"$^\ast$" in heading]
    # The last of the measured metrics and the last of the printed ones.
    assert starred == [len(SYNTHETIC), len(SYNTHETIC) + 5]
    # Lines 486 to 491: .27 - .29, .34 - .35, .29 - .29, .27 - .29, .28 - .29, .25 - .27.
    assert "1 $-$ its Bal. acc. in these rows, within 0.02." in tex


def test_a_table_of_which_the_paper_prints_three_decimals_has_three() -> None:
    printed = {"erm": "ERM (no aug)", "fossil": "FOSSIL (no aug)"}
    blocks = [printed_block(printed, methods=["erm", "fossil"])]
    _, tex = tabulated("robustness-difficulty", blocks, long_table({"erm": 0.6, "fossil": 0.8}, names=SYNTHETIC))
    assert cells(tex, "ERM")[1:8] == ["0.600"] * 5 + [r"\textbf{0.600}", "0.878"]


def test_a_row_that_is_not_in_the_paper_although_it_should_be_is_named() -> None:
    blocks = [printed_block(MAIN, methods=["erm", "fossil"], reported_ratio="5")]
    with pytest.raises(TableError, match=r"row ir9/erm-baseline: the paper's table has no row 'ERM' at .* '5'"):
        tabulated("synthetic-main", blocks, measured(blocks))


def test_numbers_of_a_tuned_variant_are_not_those_of_the_row() -> None:
    blocks = [printed_block({"erm": "ERM"}, methods=["erm", "fossil"])]
    with pytest.raises(TableError, match="has no row 'ERM'"):
        tabulated("final-tuning", blocks, measured(blocks))


def test_a_bound_that_the_paper_prints_instead_of_a_number_stays_text() -> None:
    reported = pd.DataFrame(
        [
            ("made-up", "1", "", "ERM", "", "p_wilcoxon", "<0.001", ""),
            ("made-up", "1", "", "ERM", "", "auc", "0.80", "0.05"),
        ],
        columns=["table", "line", "imbalance_ratio", "method", "variant", "metric", "mean", "std"],
    )
    blocks = [printed_block({"erm": "ERM"}, methods=["erm", "fossil"])]
    table, tex = tabulated("made-up", blocks, measured(blocks), reported=reported)
    assert table["p_wilcoxon_printed"].iloc[0] == "<0.001"
    assert cells(tex, "ERM")[7:9] == ["0.80", "$<$0.001"]


def test_three_blocks_of_nine_rows_compile_and_fit_the_page(tmp_path: Path) -> None:
    blocks = [
        printed_block(MAIN, methods=list(METHODS), scenario=f"ir{ratio}", name=f"ir{ratio}", reported_ratio=ratio)
        for ratio in ("4", "9", "19")
    ]
    table, tex = tabulated("synthetic-main", blocks, measured(blocks))
    assert len(table) == 27
    compiles(tex, tmp_path)


def test_the_widest_table_fits_the_page_with_long_labels_and_small_p_values(tmp_path: Path) -> None:
    plain = printed_block(FIRST, methods=list(METHODS))
    long = [entry.model_copy(update={"label": f"{entry.label} + augmentation & penalty"}) for entry in plain.rows]
    title = "A title that is longer than the table is wide " * 4
    blocks = [plain, plain.model_copy(update={"name": "long", "title": title.strip(), "rows": long})]
    _, tex = tabulated("synthetic-results", blocks, measured(blocks), p=1e-4, p_holm=2e-4)
    assert cells(tex, "ERM")[13:] == ["$<$0.001"] * 4
    compiles(tex, tmp_path)
