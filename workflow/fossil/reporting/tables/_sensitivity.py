"""Table of the sensitivity study: which ingredient of FOSSIL earns what, and every combination of them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fossil.design.comparisons import ANY, Block
from fossil.evaluation.metrics import METRICS
from fossil.reporting.tables._effects import DECIMALS, effect_lines, effect_notes
from fossil.reporting.tables._factors import FACTORS, cells_of
from fossil.reporting.tables._grid import grid_lines, is_configured
from fossil.reporting.tables._latex import environment, escape
from fossil.reporting.tables._notes import runs_sentence
from fossil.reporting.tables._summary import P_COLUMNS, p_values, shown_statistics, study_of, summarise

LABEL = "sensitivity"


def sensitivity_table(
    metrics: pd.DataFrame,
    statistics: pd.DataFrame,
    effects: pd.DataFrame,
    *,
    title: str,
    block: Block,
    metric: str,
    alpha: float,
) -> tuple[pd.DataFrame, str]:
    """Tabulate the grid of FOSSIL's options.

    Parameters
    ----------
    metrics : DataFrame
        Long table of the study: study, scenario, method, variant, fold, seed, metric, value, status.
    statistics : DataFrame
        Comparisons of the block's rows with its reference.
    effects : DataFrame
        From `fossil.evaluation.effects.grid_effects`: a row for each metric, scope, factor, level and test.
    title : str
        Start of the caption, in plain text.
    block : Block
        Rows with levels are cells of the grid; the reference is a row without.
    metric : str
        Metric of the grid and of the tests.
    alpha : float
        Level of the tests.

    Returns
    -------
    DataFrame
        A row for each row of the block: what `fossil.reporting.tables._summary.summarise` gives for all metrics; the
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
    upper = [] if tests.empty else [*effect_lines(mine, metric=metric), "", r"\medskip"]
    tex = environment(
        caption=f"{escape(title).rstrip('.')}. {runs_sentence(metrics, [block], summary)}",
        label=LABEL,
        body=[*upper, *grid_lines(summary, block, metric=metric, decimals=DECIMALS)],
        notes=[*effect_notes(tests, alpha=alpha), *_grid_notes(summary, block, metric)],
        gap=2.0,
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


def _grid_notes(summary: pd.DataFrame, block: Block, metric: str) -> list[str]:
    cells = cells_of(block)
    notes = [f"Grid: {METRICS[metric].plain_heading}."]
    if any(map(is_configured, cells)):
        notes.append(r"$^\ast$ FOSSIL as configured.")
    if any(cell.levels["difficulty_source"] == ANY for cell in cells):
        notes.append("With an infinite temperature difficulty plays no role: its cells stand for every source.")
    if (summary["n"] < summary["n_expected"]).any():
        notes.append("$n$ is in brackets beside the deviation.")
    return notes
