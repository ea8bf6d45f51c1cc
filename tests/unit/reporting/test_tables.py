"""Tables of studies: where bold is, what is counted, and that LaTeX takes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fossil.config.datasets import DATASETS
from fossil.design.comparisons import Block
from fossil.reporting.tables._latex import TableError, escape
from fossil.reporting.tables._study import study_table
from tests.unit.reporting.table_runs import (
    IMAGES,
    SYNTHETIC,
    block,
    cells,
    compared,
    compiles,
    long_table,
    nothing_reported,
    random_table,
    row,
)
from tests.unit.runs import break_run

CENTRES = {"erm": 0.6, "static_inverted": 0.5, "fossil": 0.8}
BLOCK = block(*map(row, CENTRES))


def tabulated(
    metrics: pd.DataFrame,
    *blocks: Block,
    columns: list[str] = SYNTHETIC,
    title: str = "Synthetic data",
    notes: tuple[str, ...] = (),
    alpha: float = 0.05,
) -> tuple[pd.DataFrame, str]:
    """A table of rows that the paper does not have."""
    statistics = compared(metrics, blocks)
    return study_table(
        *(metrics, statistics, nothing_reported()),
        table="table",
        title=title,
        blocks=blocks,
        columns=columns,
        notes=notes,
        alpha=alpha,
    )


def test_means_deviations_and_p_values_are_those_of_the_runs() -> None:
    table, _ = tabulated(long_table(CENTRES, names=SYNTHETIC), BLOCK)
    assert list(table["method"]) == list(CENTRES)
    assert list(table["label"]) == ["ERM", "Static, inverted", "FOSSIL"]
    entry = table.set_index("method").loc["erm"]
    assert entry["auc_mean"] == pytest.approx(0.6)
    # Four values, .05 from their mean each: sqrt(4 * .05^2 / 3).
    assert entry["auc_std"] == pytest.approx(0.05 * np.sqrt(4 / 3))
    # Four pairs, all in one direction: 2 / 2^4; Holm doubles the smaller of two equal p and takes the other with it.
    assert [entry["p_wilcoxon"], entry["p_permutation"]] == pytest.approx([0.125, 0.125])
    assert [entry["p_wilcoxon_holm"], entry["p_permutation_holm"]] == pytest.approx([0.25, 0.25])
    assert table.set_index("method").loc["fossil", ["p_wilcoxon", "p_permutation"]].isna().all()
    assert (table["data"] == "synthetic").all()


def test_columns_of_the_csv_are_as_promised() -> None:
    table, _ = tabulated(long_table(CENTRES, names=SYNTHETIC), BLOCK)
    values = [f"{name}_{kind}" for name in SYNTHETIC for kind in ("mean", "std")]
    ps = ["p_wilcoxon", "p_wilcoxon_holm", "p_permutation", "p_permutation_holm"]
    printed = ["p_wilcoxon_printed", "p_permutation_printed", "p_aurc_printed"]
    keys = ["table", "block", "scenario", "method", "variant", "label", "n", "n_expected"]
    assert list(table.columns) == [*keys, *values, *ps, *printed, "data"]


def test_bold_is_the_highest_mean_or_for_an_error_the_lowest() -> None:
    _, tex = tabulated(long_table(CENTRES, names=SYNTHETIC), BLOCK)
    assert cells(tex, "FOSSIL")[1:7] == [r"\textbf{0.80}"] * 4 + ["0.800", "0.80"]
    assert cells(tex, "Static, inverted")[1:7] == ["0.50"] * 4 + ["0.500", r"\textbf{0.50}"]
    assert "textbf" not in "".join(cells(tex, "ERM"))
    assert r"\shortstack{Bal.$\downarrow$\\error}" in tex


def test_a_regret_is_neither_bold_nor_called_better_where_it_is_low() -> None:
    metrics = long_table(CENTRES, names=IMAGES)
    _, tex = tabulated(metrics, BLOCK, columns=IMAGES)
    assert cells(tex, "Static, inverted")[6:9] == ["0.500"] * 3
    assert cells(tex, "FOSSIL")[6:9] == ["0.800"] * 3
    headings = next(line for line in tex.splitlines() if "AURC" in line)
    assert "downarrow" not in headings


def test_bold_goes_to_the_best_row_even_where_that_is_not_the_reference() -> None:
    _, tex = tabulated(long_table(CENTRES | {"erm": 0.9}, names=SYNTHETIC), BLOCK)
    assert cells(tex, "ERM")[1] == r"\textbf{0.90}"
    assert cells(tex, "FOSSIL")[1] == "0.80"


def test_bold_is_computed_within_each_block() -> None:
    other = block(row("erm", scenario="ir4", label="Other"), row("fossil", scenario="ir4"), name="ir4", title="Fewer")
    worse = long_table({"erm": 0.3, "fossil": 0.2}, names=SYNTHETIC, scenario="ir4")
    _, tex = tabulated(pd.concat([long_table(CENTRES, names=SYNTHETIC), worse]), BLOCK, other)
    assert cells(tex, "FOSSIL")[1] == r"\textbf{0.80}"
    assert cells(tex, "Other")[1] == r"\textbf{0.30}"


def test_means_that_print_the_same_are_all_bold_unless_more_than_half_of_the_rows_do() -> None:
    four = block(*map(row, ("erm", "static_inverted", "focal", "fossil")))
    centres = CENTRES | {"erm": 0.801, "fossil": 0.803, "focal": 0.7}
    _, tex = tabulated(long_table(centres, names=SYNTHETIC), four)
    assert cells(tex, "ERM")[1] == cells(tex, "FOSSIL")[1] == r"\textbf{0.80}"
    _, tex = tabulated(long_table(centres | {"focal": 0.799}, names=SYNTHETIC), four)
    assert cells(tex, "ERM")[1] == cells(tex, "FOSSIL")[1] == cells(tex, "Focal loss")[1] == "0.80"


def test_p_values_are_never_bold_and_the_reference_has_none() -> None:
    _, tex = tabulated(long_table(CENTRES, names=SYNTHETIC), BLOCK)
    assert cells(tex, "ERM")[7:] == ["0.125", "0.250", "0.125", "0.250"]
    assert cells(tex, "FOSSIL")[7:] == [r"\multicolumn{4}{c}{reference}"]


def test_a_p_below_the_printed_precision_is_not_printed_as_zero() -> None:
    _, tex = tabulated(long_table(CENTRES, names=SYNTHETIC, seeds=13), BLOCK)
    assert cells(tex, "ERM")[7:] == ["$<$0.001"] * 4


def test_the_caption_counts_the_runs() -> None:
    _, tex = tabulated(long_table(CENTRES, names=SYNTHETIC, seeds=5), BLOCK)
    assert "over 5 seeds ($n$~=~5)" in tex
    assert " of 5" not in tex
    _, tex = tabulated(long_table(CENTRES, names=SYNTHETIC, folds=3, seeds=2), BLOCK)
    assert r"over 3 folds $\times$ 2 seeds ($n$~=~6)" in tex


def test_a_block_of_fewer_seeds_has_means_of_those_and_says_how_many() -> None:
    few = block(row("erm", label="Few"), row("fossil"), name="few", title="Fewer seeds", seeds=[0, 1, 3])
    table, tex = tabulated(long_table(CENTRES, names=SYNTHETIC, seeds=8), BLOCK, few)
    assert "over 8 seeds ($n$~=~8) or 3 seeds ($n$~=~3), as the block says." in tex
    assert r"\textit{Fewer seeds} ($n$~=~3)" in tex
    entry = table.set_index("label").loc["Few"]
    # Odd seeds have .05 more than the centre and even ones .05 less.
    assert entry["auc_mean"] == pytest.approx(0.6 + 0.05 / 3)
    assert (entry["n"], entry["n_expected"]) == (3, 3)


def test_a_missing_run_is_counted_beside_its_row_and_left_out_of_its_mean() -> None:
    metrics = break_run(long_table(CENTRES, names=SYNTHETIC), method="erm", seed=1)
    table, tex = tabulated(metrics, BLOCK)
    entry = table.set_index("method").loc["erm"]
    assert (entry["n"], entry["n_expected"]) == (3, 4)
    assert entry["auc_mean"] == pytest.approx((0.55 + 0.55 + 0.65) / 3)
    lines = tex.splitlines()
    assert "3 of 4" in lines[lines.index(next(line for line in lines if line.startswith("ERM"))) + 1]
    assert tex.count("of 4}") == 1
    assert "Runs are missing" in tex


def test_a_row_without_runs_has_dashes(tmp_path: Path) -> None:
    metrics = long_table(CENTRES, names=SYNTHETIC)
    for seed in range(4):
        metrics = break_run(metrics, method="erm", seed=seed)
    table, tex = tabulated(metrics, BLOCK)
    assert table.set_index("method").loc["erm", "n"] == 0
    assert cells(tex, "ERM")[1:] == ["--"] * 10
    assert "over 1 comparison." in tex
    compiles(tex, tmp_path)


def test_where_no_comparison_has_a_p_nothing_is_said_of_tests() -> None:
    metrics = long_table(CENTRES, names=SYNTHETIC)
    for seed in range(4):
        metrics = break_run(metrics, method="fossil", seed=seed)
    _, tex = tabulated(metrics, BLOCK)
    assert cells(tex, "ERM")[-4:] == ["--"] * 4
    assert "comparison" not in tex


def test_the_notes_count_comparisons_and_tell_where_no_p_can_be_below_the_level() -> None:
    _, tex = tabulated(long_table(CENTRES, names=SYNTHETIC), BLOCK)
    assert "Holm corrects over 2 comparisons. With $n$~=~4 no $p$ can be below 0.125." in tex
    assert "can be below" not in tabulated(long_table(CENTRES, names=SYNTHETIC), BLOCK, alpha=0.3)[1]
    assert "can be below" not in tabulated(random_table(BLOCK.rows, names=SYNTHETIC, seeds=range(16)), BLOCK)[1]


def test_the_notes_tell_how_small_the_corrected_p_of_a_block_can_be() -> None:
    names = ["erm", "static_inverted", "focal", "curriculum", "effective_number", "meta_weight_net", "static", "fossil"]
    many = block(*map(row, names))
    few = block(*map(row, names[-3:]), name="few", title="Few")
    shorter = few.model_copy(update={"name": "shorter", "seeds": [0, 1, 2]})
    metrics = long_table(dict.fromkeys(names, 0.5), names=SYNTHETIC, seeds=8)
    # Seven comparisons of at least 2/2^8, and two: .0547 and .0156. With three seeds p itself is at least 2/2^3.
    floor = "With $n$~=~8 and 7 comparisons no Holm $p$ can be below 0.055."
    assert floor in tabulated(metrics, many)[1]
    assert f"Holm corrects over 7 or 2 comparisons of a block. {floor}" in tabulated(metrics, many, few)[1]
    assert "no Holm" not in tabulated(metrics, many, alpha=0.06)[1]
    assert "no Holm" not in tabulated(metrics, few)[1]
    assert f"{floor} With $n$~=~3 no $p$ can be below 0.250." in tabulated(metrics, many, shorter)[1]


def test_only_metrics_that_are_shown_are_explained() -> None:
    metrics = long_table(CENTRES, names=dict.fromkeys([*IMAGES, *SYNTHETIC]))
    assert "Bal. error is" in tabulated(metrics, BLOCK, columns=["auc", "balanced_error"])[1]
    assert "Bal. error is" not in tabulated(metrics, BLOCK, columns=IMAGES)[1]


def test_the_inverted_static_row_is_explained_where_it_is_shown() -> None:
    metrics = long_table(CENTRES, names=SYNTHETIC)
    assert tabulated(metrics, BLOCK)[1].count(r"$^\dagger$") == 2
    assert "dagger" not in tabulated(metrics, block(row("erm"), row("fossil")))[1]


def test_methods_that_learn_on_the_validation_split_are_marked_where_they_are_shown() -> None:
    names = ["erm", "meta_weight_net", "fossil_bilevel", "fossil"]
    metrics = long_table(dict.fromkeys(names, 0.5), names=SYNTHETIC)
    _, tex = tabulated(metrics, block(*map(row, names)))
    assert tex.count(r"$^\ddagger$") == 3  # two rows and one note


def test_a_table_of_the_reference_alone_speaks_of_no_test(tmp_path: Path) -> None:
    metrics = long_table({"fossil": 0.8}, names=SYNTHETIC)
    _, tex = study_table(
        *(metrics, compared(long_table(CENTRES, names=SYNTHETIC), [BLOCK]), nothing_reported()),
        table="table",
        title="Alone",
        blocks=[block(row("fossil"))],
        columns=SYNTHETIC,
        notes=[],
        alpha=0.05,
    )
    assert "Holm corrects" not in tex
    compiles(tex, tmp_path)


def test_phantom_data_are_named_in_the_csv_and_must_be_named_in_the_caption() -> None:
    phantom = block(*(row(method, scenario="phantom") for method in CENTRES), name="internal", title="")
    metrics = long_table(CENTRES, names=IMAGES, folds=2, scenario="phantom")
    table, tex = tabulated(metrics, phantom, columns=IMAGES, title=f"{DATASETS['phantom']}: as configured.")
    assert r"\caption{Phantom data (drawn by the pipeline, no patients): as configured. Mean" in tex
    assert (table["data"] == "phantom").all()
    with pytest.raises(TableError, match="does not say that the data are: Phantom data"):
        tabulated(metrics, phantom, columns=IMAGES, title="As configured")


def test_special_characters_are_escaped() -> None:
    assert escape(r"a_b & 5% #1 {x} ~^\ $ <>") == (
        r"a\_b \& 5\% \#1 \{x\} \textasciitilde{}\textasciicircum{}\textbackslash{} \$ $<$$>$"
    )


def test_what_does_not_fit_the_blocks_is_refused() -> None:
    metrics = long_table(CENTRES, names=SYNTHETIC)
    with pytest.raises(TableError, match="one study"):
        tabulated(pd.concat([metrics, metrics.assign(study="other", seed=metrics["seed"] + 9)]), BLOCK)
    with pytest.raises(TableError, match=r"block same-data: the metrics have nothing of ir9/focal-baseline"):
        tabulated(metrics, block(row("focal"), row("fossil")))
    with pytest.raises(TableError, match=r"block same-data: the metrics have no seeds \[7\]"):
        tabulated(metrics, block(row("erm"), row("fossil"), seeds=[0, 1, 7]))
    with pytest.raises(TableError, match=r"row ir9/static_inverted-baseline.*Compare these blocks again"):
        study_table(
            *(metrics, compared(metrics, [block(row("erm"), row("fossil"))]), nothing_reported()),
            table="table",
            title="",
            blocks=[BLOCK],
            columns=SYNTHETIC,
            notes=[],
            alpha=0.05,
        )
