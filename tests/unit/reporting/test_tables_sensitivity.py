"""Table of the sensitivity study: effects and interactions above, the grid below."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from fossil.commands import tabulate_sensitivity
from fossil.design.comparisons import Block, Row
from fossil.reporting.tables._latex import TableError, signed
from fossil.reporting.tables._sensitivity import sensitivity_table
from tests.unit.reporting.table_runs import STUDY, as_metrics, cells, compared, compiles, random_table, row

SCHEDULES = ("exponential_decay", "linear_decay", "linear_growth", "exponential_growth", "constant", "infinite")
NAMES = ["auc", "balanced_accuracy", "recall"]


def cell(schedule: str, term: str, warmup: str, source: str, *, configured: bool = False) -> Row:
    levels = {"schedule": schedule, "class_term": term, "warmup_epochs": warmup, "difficulty_source": source}
    variant = "baseline" if configured else f"{schedule}-{term}-{warmup}-{source}"
    return Row(scenario="ir9", method="fossil", variant=variant, label=variant, levels=levels)


def grid(*terms: str) -> Block:
    """The full factorial, in which the source plays no role at an infinite temperature, and ERM."""
    rows = [row("erm")]
    for schedule, term, warmup in product(SCHEDULES, terms, ("5", "0")):
        for source in ("any",) if schedule == "infinite" else ("online", "frozen"):
            levels = (schedule, term, warmup, source)
            configured = levels == ("exponential_decay", "inverse_prior", "5", "online")
            rows.append(cell(*levels, configured=configured))
    return as_block(*rows)


def as_block(*rows: Row) -> Block:
    return Block(name="grid", title="FOSSIL's options", rows=list(rows), reference="ir9/erm-baseline")


# Cells, estimate and deviation; p and Holm's of Wilcoxon, and of the permutation test.
SCOPES = {
    "average": (24, 0.0121, 0.0104, (0.0078, 0.0625), (0.0156, 0.0781)),
    "configured": (1, -0.0312, 0.0203, (0.0234, 0.1172), (0.0313, 0.1563)),
    "interaction": (12, 0.0424, 0.0305, (0.0391, 0.0781), (0.0469, 0.0938)),
}


def effects(*facts: tuple[str, str, str], scope: str = "average") -> pd.DataFrame:
    """Effects of a factor's level against a base, the same in every metric but for the metric's place."""
    rows = []
    cells, estimate, std, *tests = SCOPES[scope]
    for place, metric in enumerate(NAMES):
        for factor, level, base in facts:
            numbers = {"cells": cells, "n": 8, "n_expected": 8, "confidence": 0.95, "exact": True, "std": std}
            numbers |= {"estimate": estimate - 0.02 * place, "low": -0.0302, "high": 0.0504}
            keys = {"study": STUDY, "metric": metric, "scope": scope, "factor": factor, "level": level, "base": base}
            for test, (p, p_holm) in zip(("wilcoxon", "permutation"), tests, strict=True):
                rows.append(keys | numbers | {"test": test, "p": p, "p_holm": p_holm})
    return pd.DataFrame(rows)


FACTS = (
    *[("schedule", level, SCHEDULES[0]) for level in SCHEDULES[1:]],
    *[("class_term", level, "inverse_prior") for level in ("effective_number", "none")],
    ("warmup_epochs", "0", "5"),
    ("difficulty_source", "frozen", "online"),
)
CROSSED = [
    (f"class_term x {factor}", f"{term}, {level}", f"inverse_prior, {base}")
    for term in ("effective_number", "none")
    for factor, level, base in FACTS
    if factor != "class_term"
]
ALL_EFFECTS = pd.concat(
    [effects(*FACTS), effects(*FACTS, scope="configured"), effects(*CROSSED, scope="interaction")], ignore_index=True
)


def tabulated(block: Block, metrics: pd.DataFrame, measured: pd.DataFrame = ALL_EFFECTS) -> tuple[pd.DataFrame, str]:
    return sensitivity_table(
        *(metrics, compared(metrics, [block]), measured),
        title="Options of FOSSIL",
        block=block,
        metric="balanced_accuracy",
        alpha=0.05,
    )


def constant_runs(values: dict[str, float], block: Block) -> pd.DataFrame:
    """Every metric of a variant is its value, plus or minus .01 in turn, in four seeds."""
    rows = []
    for entry in block.rows:
        for seed, name in product(range(4), NAMES):
            value = values[entry.variant if entry.levels else "erm"] + (0.01 if seed % 2 else -0.01)
            rows.append((STUDY, "ir9", entry.method, entry.variant, None, seed, name, value, "ok"))
    return as_metrics(rows)


SMALL = as_block(
    row("erm"),
    cell("exponential_decay", "inverse_prior", "5", "online", configured=True),
    cell("exponential_decay", "inverse_prior", "5", "frozen"),
    cell("infinite", "inverse_prior", "5", "any"),
)
SMALL_VALUES = {
    "erm": 0.7,
    "baseline": 0.8,
    "exponential_decay-inverse_prior-5-frozen": 0.8014,
    "infinite-inverse_prior-5-any": 0.75,
}


def lines_of(tex: str, name: str) -> list[list[str]]:
    """Cells of the lines of effects under a level's name, which are the ones with an interval."""
    lines = [
        line for line in tex.splitlines() if line.startswith(rf"\quad {name} &") and "[" in line.rpartition("[1pt]")[0]
    ]
    return [[entry.strip() for entry in line.rpartition(r"\\")[0].split("&")] for line in lines]


def test_every_level_has_its_effect_from_the_configured_cell_and_beside_it_the_average() -> None:
    block = grid("inverse_prior", "none")
    _, tex = tabulated(block, random_table(block.rows, names=NAMES, seeds=range(8)))
    assert r"\textit{Warm-up}, against 5 epochs" in tex
    assert r"\textit{Class term}, against $1/(K p)$" in tex
    configured = [r"$-$0.051 {\tiny $\pm$0.020}", "0.023", "0.117"]
    average = ["24", r"$-$0.008 {\tiny $\pm$0.010}", r"[$-$0.030, +0.050]", "0.008", "0.062", "0.016", "0.078"]
    for name in ("0 epochs", "effective number", "none", "frozen", "linear growth", "infinite"):
        assert lines_of(tex, name)[0][1:] == [*configured, *average, "$-$0.028"]
    assert r"95\% interval" in tex
    # Nine levels; each of the two class terms interacts with the seven of other factors.
    assert "Holm corrects over 9 or 14 comparisons of a part." in tex


def test_interactions_stand_below_the_effects_by_class_term_and_have_none_from_the_configured_cell() -> None:
    block = grid("inverse_prior", "effective_number", "none")
    _, tex = tabulated(block, random_table(block.rows, names=NAMES, seeds=range(8)))
    titles = [line for line in tex.splitlines() if "Interactions with the class term}" in line]
    assert [title.partition("}: ")[2].rpartition(r"} \\")[0] for title in titles] == [
        f"difference with {term} minus difference with $1/(K p)$" for term in ("effective number", "none")
    ]
    average = ["12", r"+0.022 {\tiny $\pm$0.030}", r"[$-$0.030, +0.050]", "0.039", "0.078", "0.047", "0.094"]
    for name in ("0 epochs", "frozen", "linear growth", "infinite"):
        _, *crossed = lines_of(tex, name)
        assert [line[1:] for line in crossed] == [["", "", "", *average, "+0.002"]] * 2
    assert len(lines_of(tex, "none")) == 1


def test_the_notes_tell_what_averages_hide_and_how_small_p_can_be() -> None:
    block = grid("inverse_prior", "none")
    metrics = random_table(block.rows, names=NAMES, seeds=range(8))
    _, tex = tabulated(block, metrics)
    assert "averages hide them" in tex
    assert "its cells stand for every source" in tex
    # Fourteen times 2/2^8, and the nine of the other parts.
    for n, p in ((9, "0.070"), (14, "0.109")):
        assert f"With $n$~=~8 and {n} comparisons no Holm $p$ can be below {p}." in tex
    _, tex = tabulated(block, metrics, effects(*FACTS[:3]).assign(exact=False))
    assert "Interactions" not in tex
    assert "no Holm" not in tex


def test_where_no_effect_has_a_p_nothing_is_said_of_tests() -> None:
    without = ALL_EFFECTS.assign(n=0, p=np.nan, p_holm=np.nan)
    assert "comparison" not in tabulated(SMALL, constant_runs(SMALL_VALUES, SMALL), without)[1]


def test_an_effect_that_the_configured_cell_does_not_have_is_a_dash() -> None:
    _, tex = tabulated(SMALL, constant_runs(SMALL_VALUES, SMALL), effects(("difficulty_source", "frozen", "online")))
    assert lines_of(tex, "frozen")[0][1:5] == ["--", "--", "--", "24"]


def test_the_best_mean_of_the_grid_is_bold_and_the_configured_one_is_marked() -> None:
    _, tex = tabulated(SMALL, constant_runs(SMALL_VALUES, SMALL))
    assert cells(tex, r"\quad exponential decay &")[1:] == [r"0.800\rlap{$^\ast$}", r"\textbf{0.801}"]
    assert r"$^\ast$ FOSSIL as configured." in tex
    _, tex = tabulated(SMALL, constant_runs(SMALL_VALUES | {"erm": 0.9}, SMALL))
    assert cells(tex, "ERM")[1].startswith(r"\multicolumn{2}{c}{\textbf{0.900}")
    assert tex.count("textbf") == 1


def test_means_of_the_grid_that_print_the_same_are_all_bold() -> None:
    values = SMALL_VALUES | {"exponential_decay-inverse_prior-5-frozen": 0.8004}
    _, tex = tabulated(SMALL, constant_runs(values, SMALL))
    assert cells(tex, r"\quad exponential decay &")[1:] == [r"\textbf{0.800}\rlap{$^\ast$}", r"\textbf{0.800}"]


def test_a_cell_in_which_the_source_plays_no_role_spans_the_columns_of_all_sources() -> None:
    _, tex = tabulated(SMALL, constant_runs(SMALL_VALUES, SMALL))
    lines = [line for line in tex.splitlines() if line.startswith(r"\quad infinite")]
    assert lines[-1] == r"\quad infinite & \multicolumn{2}{c}{0.750} \\"
    assert cells(tex, "Difficulty source")[1:] == ["online", "frozen"]
    assert "difficulty plays no role" in tex


def test_nothing_is_said_of_a_configured_cell_that_the_grid_does_not_have() -> None:
    block = as_block(row("erm"), cell("constant", "none", "0", "online"))
    _, tex = tabulated(block, random_table(block.rows, names=NAMES, seeds=range(8)))
    assert r"$^\ast$" not in tex
    assert "plays no role" not in tex


def test_a_missing_cell_has_dashes_and_a_missing_run_is_counted() -> None:
    block = as_block(*SMALL.rows, cell("constant", "inverse_prior", "5", "frozen"))
    metrics = constant_runs(SMALL_VALUES | {"constant-inverse_prior-5-frozen": 0.6}, block)
    broken = (metrics["variant"] == "constant-inverse_prior-5-frozen") & (metrics["seed"] == 0)
    metrics.loc[broken, ["value", "status"]] = [np.nan, "failed"]
    table, tex = tabulated(block, metrics)
    # What is left of .59, .61, .59 and .61.
    lines = tex.splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith(r"\quad constant") and "0.603" in line)
    assert cells(tex, lines[place])[1:] == ["--", "0.603"]
    assert r"{\tiny\ (3)}" in lines[place + 1]
    assert "$n$ is in brackets" in tex
    assert list(table["n"]) == [4, 4, 4, 4, 3]


def test_the_csv_has_levels_and_means_of_every_metric_and_the_comparison_with_erm() -> None:
    table, _ = tabulated(SMALL, constant_runs(SMALL_VALUES, SMALL))
    factors = ["schedule", "class_term", "warmup_epochs", "difficulty_source"]
    values = [f"{name}_{kind}" for name in NAMES for kind in ("mean", "std")]
    ps = ["p_wilcoxon", "p_wilcoxon_holm", "p_permutation", "p_permutation_holm"]
    keys = ["block", "scenario", "method", "variant", "label", *factors, "n", "n_expected"]
    assert list(table.columns) == [*keys, *values, "estimate", *ps]
    assert list(table["difficulty_source"]) == ["", "online", "frozen", "any"]
    assert table["recall_mean"].tolist() == pytest.approx([0.7, 0.8, 0.8014, 0.75])
    # ERM minus the cell, in four pairs of equal difference: 2 / 2^4, which Holm multiplies by the three cells.
    assert table["estimate"].tolist() == pytest.approx([np.nan, -0.1, -0.1014, -0.05], nan_ok=True)
    assert table["p_permutation"].tolist() == pytest.approx([np.nan, 0.125, 0.125, 0.125], nan_ok=True)
    assert table["p_permutation_holm"].tolist() == pytest.approx([np.nan, 0.375, 0.375, 0.375], nan_ok=True)


def test_a_grid_of_which_no_effect_was_measured_stands_alone(tmp_path: Path) -> None:
    _, tex = tabulated(SMALL, constant_runs(SMALL_VALUES, SMALL), ALL_EFFECTS[:0])
    assert tex.count(r"\begin{tabular}") == 1
    assert "Holm" not in tex
    compiles(tex, tmp_path)


@pytest.mark.parametrize("terms", [("inverse_prior", "none"), ("inverse_prior", "effective_number", "none")])
def test_the_whole_grid_compiles_and_fits_the_page(terms: tuple[str, ...], tmp_path: Path) -> None:
    block = grid(*terms)
    metrics = random_table(block.rows, names=NAMES, seeds=range(8))
    compiles(tabulated(block, metrics, ALL_EFFECTS.assign(p=1e-4, p_holm=1e-4))[1], tmp_path)


def test_what_does_not_make_a_grid_is_refused() -> None:
    metrics = constant_runs(SMALL_VALUES, SMALL)
    other = SMALL.rows[1].model_copy(update={"levels": {"schedule": "constant"}})
    with pytest.raises(TableError, match="ir9/fossil-baseline has others"):
        tabulated(as_block(row("erm"), other), metrics)
    with pytest.raises(TableError, match="no row has any"):
        tabulated(as_block(row("erm")), metrics)
    with pytest.raises(
        TableError, match=r"effect of schedule linear_decay on recall: the average has tests .., not one of each"
    ):
        tabulated(SMALL, metrics, ALL_EFFECTS[ALL_EFFECTS["metric"] != "recall"])
    with pytest.raises(
        TableError, match=r"effect of schedule linear_decay on balanced_accuracy: .* tests .'wilcoxon'., not one"
    ):
        tabulated(SMALL, metrics, ALL_EFFECTS[ALL_EFFECTS["test"] == "wilcoxon"])


def test_a_difference_has_a_sign_unless_it_rounds_to_zero() -> None:
    assert [signed(value, 2) for value in (0.014, -0.016, 0.004, -0.004, np.nan)] == [
        *("+0.01", "$-$0.02", "0.00", "0.00", "--")
    ]


def test_the_stage_goes_from_files_to_table(tmp_path: Path) -> None:
    metrics = constant_runs(SMALL_VALUES, SMALL)
    paths = {name: tmp_path / name for name in ("metrics", "statistics", "effects", "tex", "csv")}
    metrics.to_parquet(paths["metrics"])
    compared(metrics, [SMALL]).to_csv(paths["statistics"], index=False)
    effects(("warmup_epochs", "0", "5")).to_csv(paths["effects"], index=False)
    settings = {"title": "FOSSIL's options at 9:1", "alpha": 0.05, "blocks": [SMALL.model_dump(mode="json")]}
    tabulate_sensitivity.run(tabulate_sensitivity.Settings.model_validate(settings), **paths)
    tex = paths["tex"].read_text()
    assert r"\caption{FOSSIL's options at 9:1. Mean $\pm$ standard deviation over 4 seeds ($n$~=~4).}" in tex
    assert r"\label{tab:sensitivity}" in tex
    assert r"\quad 0 epochs & -- & -- & -- & 24" in tex
    assert len(pd.read_csv(paths["csv"])) == 4
    with pytest.raises(ValidationError, match="blocks"):
        tabulate_sensitivity.Settings.model_validate(settings | {"blocks": settings["blocks"] * 2})
