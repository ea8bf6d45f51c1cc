"""Table of the sensitivity study: which ingredient of FOSSIL earns what, and every combination of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fossil.config import Block
from fossil.reporting.tables.columns import TableError, column
from fossil.reporting.tables.factors import ANY, FACTORS, cells_of, level_name
from fossil.reporting.tables.grid import grid_lines, is_configured
from fossil.reporting.tables.latex import (
    deviation_cell,
    environment,
    escape,
    groups_over,
    number,
    p_cell,
    row,
    signed,
    spanning,
)
from fossil.reporting.tables.notes import few_pairs_note, runs_sentence, tests_note
from fossil.reporting.tables.summary import P_COLUMNS, p_values, shown_statistics, study_of, summarise

LABEL = "sensitivity"

_BESIDE = ("auc", "recall")
"""Metrics whose effects stand beside those of the table's metric, without p-values."""

_DECIMALS = 3
"""Effects are in the third decimal, and with two half of the grid would tie."""


def sensitivity_table(
    metrics: pd.DataFrame,
    statistics: pd.DataFrame,
    effects: pd.DataFrame,
    *,
    title: str,
    block: Block,
    metric: str,
) -> tuple[pd.DataFrame, str]:
    """Tabulate the grid of FOSSIL's options.

    Parameters
    ----------
    metrics : DataFrame
        Long table of the study: study, scenario, method, variant, fold, seed, metric, value, status.
    statistics : DataFrame
        Comparisons of the block's rows with its reference.
    effects : DataFrame
        Main effects, level minus base, a row for each metric, factor, level and test.
    title : str
        Start of the caption, in plain text.
    block : Block
        Rows with levels are cells of the grid; the reference is a row without.
    metric : str
        Metric of the grid and of the tests.

    Returns
    -------
    DataFrame
        A row for each row of the block: what `fossil.reporting.tables.summary.summarise` gives for all metrics; the
        level of each factor; estimate, the reference minus the row in the metric, and its p-values.
    str
        A LaTeX table environment: effects above, where any were measured, and the grid below.

    Raises
    ------
    TableError
        Where rows lack in the metrics or in the statistics, cells have other factors, or an effect was not measured.
    """
    study = study_of(metrics)
    cells_of(block)
    shown = shown_statistics(statistics, [block], study=study, metric=metric)
    names = list(metrics["metric"].dropna().unique())
    summary = summarise(metrics, [block], names=names)
    mine = effects[effects["study"] == study]
    tests = mine[mine["metric"] == metric]
    upper = [] if tests.empty else [*_effect_lines(mine, metric=metric), "", r"\medskip"]
    tex = environment(
        caption=f"{escape(title).rstrip('.')}. {runs_sentence(metrics, [block], summary)}",
        label=LABEL,
        body=[*upper, *grid_lines(summary, block, metric=metric, decimals=_DECIMALS)],
        notes=[*_effect_notes(tests, metric), *_grid_notes(summary, block, metric)],
        gap=3.0,
    )
    return _with_levels_and_comparison(summary, shown, block), tex


def _with_levels_and_comparison(
    summary: pd.DataFrame, shown: dict[tuple[str, str], pd.DataFrame], block: Block
) -> pd.DataFrame:
    tests = [shown.get((block.name, entry.key)) for entry in block.rows]
    found = pd.concat([summary, p_values(shown, [block])], axis=1)
    estimates = [np.nan if test is None else float(test["estimate"].iloc[0]) for test in tests]
    found.insert(found.columns.get_loc(P_COLUMNS[0]), "estimate", estimates)
    place = found.columns.get_loc("n")
    for offset, factor in enumerate(FACTORS):
        found.insert(place + offset, factor, [entry.levels.get(factor, "") for entry in block.rows])
    return found


def _effect_lines(effects: pd.DataFrame, *, metric: str) -> list[str]:
    """Print effects as a tabular environment, a line an effect, under the factor and its base level."""
    beside = [name for name in _BESIDE if name != metric]
    name = _plain(metric)
    confidence = 100 * effects["confidence"].iloc[0]
    width = 4 + len(beside) + len(P_COLUMNS)
    groups = [(1, ""), (2, f"{name}, difference"), (len(beside), "Difference"), (len(P_COLUMNS), f"$p$ of {name}")]
    headings = ["", "Pairs", r"mean $\pm$ std", rf"{confidence:g}\% interval", *map(_plain, beside)]
    lines = [
        rf"\begin{{tabular}}{{@{{}}l{'c' * (width - 1)}@{{}}}}",
        r"\toprule",
        *groups_over(groups),
        row([*headings, "Wilc.", "Holm", "Perm.", "Holm"]),
    ]
    tests = effects[effects["metric"] == metric]
    for (factor, base), of_factor in tests.groupby(["factor", "base"], sort=False):
        against = rf"\textit{{{FACTORS[factor]}}}, against {level_name(factor, base)}"
        lines += [r"\midrule", row([spanning(width, against, align="@{}l@{}")], below="1pt")]
        for level, of_level in of_factor.groupby("level", sort=False):
            others = [_estimate(effects, name, factor, level) for name in beside]
            lines.append(row(_effect_cells(level_name(factor, level), of_level, others), below="1pt"))
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _effect_cells(name: str, tests: pd.DataFrame, others: Sequence[float]) -> list[str]:
    by_test = tests.set_index("test")
    if sorted(by_test.index) != ["permutation", "wilcoxon"]:
        raise TableError(f"effect of {name}: tests {list(by_test.index)}, not one of each of permutation and wilcoxon")
    effect = tests.iloc[0]
    ps = [by_test.at[test, p] for test in ("wilcoxon", "permutation") for p in ("p", "p_holm")]
    return [
        rf"\quad {name}",
        str(effect["cells"]),
        f"{signed(effect['estimate'], _DECIMALS)} {deviation_cell(number(effect['std'], _DECIMALS))}",
        f"[{signed(effect['low'], _DECIMALS)}, {signed(effect['high'], _DECIMALS)}]",
        *(signed(value, _DECIMALS) for value in others),
        *map(p_cell, ps),
    ]


def _estimate(effects: pd.DataFrame, metric: str, factor: str, level: str) -> float:
    mine = (effects["metric"] == metric) & (effects["factor"] == factor) & (effects["level"] == level)
    found = effects["estimate"][mine]
    if found.empty:
        raise TableError(f"effect of {factor} {level} on {metric}: not measured. Measure the effects anew")
    return float(found.iloc[0])


def _effect_notes(tests: pd.DataFrame, metric: str) -> list[str]:
    if tests.empty:
        return []
    name = _plain(metric)
    measured = tests[tests["test"] == "wilcoxon"]["p"].notna().sum()
    return [
        "Effects: level minus base level, within each seed the mean over the pairs of cells that are alike in all "
        r"other factors; mean $\pm$ standard deviation over seeds, and its bootstrap interval.",
        tests_note(tests, corrected_over=[int(measured)], compared=f"of the difference in {name} over seeds"),
        few_pairs_note(tests),
    ]


def _grid_notes(summary: pd.DataFrame, block: Block, metric: str) -> list[str]:
    cells = cells_of(block)
    better = "lowest" if column(metric).lower_is_better else "highest"
    notes = [f"Grid: {_plain(metric)}; the {better} mean is bold."]
    if any(map(is_configured, cells)):
        notes.append(r"$^\ast$ FOSSIL as configured.")
    if any(cell.levels["difficulty_source"] == ANY for cell in cells):
        notes.append("With an infinite temperature difficulty plays no role, and so its source does not.")
    if (summary["n"] < summary["n_expected"]).any():
        notes.append("$n$ is in brackets beside the deviation.")
    return notes


def _plain(metric: str) -> str:
    """Heading of a metric in one line."""
    first, _, second = column(metric).heading.partition(r"\\")
    return f"{first}{second}" if first.endswith("-") else f"{first} {second}".strip()
