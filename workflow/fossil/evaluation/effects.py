"""Main effects of the factors of a grid: what a level earns over the base level, averaged over all other factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fossil.config import Block, Row, Statistics
from fossil.evaluation.paired_tests import analyse_pairs, holm
from fossil.evaluation.run_values import StatisticsError, run_values

METRICS_TESTED = (
    "auc",
    "balanced_accuracy",
    "recall",
    "g_mean",
    "balanced_error",
    "dynamic_regret",
    "expected_calibration_error",
)

COLUMNS = [
    *("study", "metric", "factor", "level", "base", "cells", "n", "n_expected"),
    *("estimate", "std", "low", "high", "confidence"),
    *("test", "exact", "p", "p_holm", "smallest_p", "note"),
]

ANY = "any"
"""Level of a factor that plays no role in a cell: the cell stands for every level of the factor."""


@dataclass(frozen=True)
class _Contrast:
    """A level of a factor, and the keys of the cells that have it, each beside its partner with the base level."""

    factor: str
    level: str
    pairs: list[tuple[str, str]]


def main_effects(
    metrics: pd.DataFrame,
    *,
    blocks: Sequence[Block],
    base: Mapping[str, str],
    statistics: Statistics,
    allow_missing: bool,
) -> pd.DataFrame:
    """Measure the main effect of every level of a full factorial, on the metrics `METRICS_TESTED`.

    The effect of a level is, within a seed, the mean over all cells of the other factors of metric(level) minus
    metric(base level); then it is tested over seeds. A cell with level "any" counts once for each level that it stands
    for, so that every combination of the other factors weighs the same; it says nothing about that factor's own levels
    and is left out there.

    Parameters
    ----------
    metrics : DataFrame
        Long, of one study: study, scenario, method, variant, fold, seed, metric, value, status.
    blocks : sequence of Block
        One of them is the grid: its rows with levels are the cells. Where it has seeds, only these count.
    base : mapping of str to str
        The base level of each factor.
    allow_missing : bool
        Leave out a seed in which a cell is missing, failed or undefined; then n < n_expected. Otherwise an error.

    Returns
    -------
    DataFrame
        One row per metric, factor, level and test, with the columns `COLUMNS`. ``cells`` is the number of pairs of
        cells, ``std`` the standard deviation of the effect over seeds; `fossil.evaluation.paired_tests.analyse_pairs`
        describes the rest. p_holm is corrected within metric and test over all effects that have a p. No row where the
        grid has base levels only.

    Raises
    ------
    StatisticsError
        Where there is not one study and one grid of the base's factors, two cells have the same levels, a level has no
        partner with the base level, or a run is there twice, or missing and may not be.
    """
    study = _only_study(metrics)
    grid, cells = _grid(blocks, base)
    contrasts = _contrasts(cells, base)
    if not contrasts:
        return pd.DataFrame(columns=COLUMNS)
    keys = [cell.key for cell in cells]
    values = run_values(metrics, keys=keys, seeds=grid.seeds, names=METRICS_TESTED, allow_missing=allow_missing)
    compared = [(metric, contrast) for metric in METRICS_TESTED for contrast in contrasts]
    effects = [_effect(values.loc[metric], contrast) for metric, contrast in compared]
    facts = pd.DataFrame(
        {
            **{"metric": metric, "factor": contrast.factor, "level": contrast.level, "base": base[contrast.factor]},
            "cells": len(contrast.pairs),
            "std": effect.std(ddof=1) if effect.size > 1 else np.nan,
        }
        for (metric, contrast), effect in zip(compared, effects, strict=True)
    )
    expected = [len(values.loc[metric]) for metric, _ in compared]
    table = analyse_pairs(effects, expected=expected, statistics=statistics).join(facts, on="comparison")
    table["p_holm"] = table.groupby(["metric", "test"])["p"].transform(holm)
    return table.assign(study=study)[COLUMNS]


def _grid(blocks: Sequence[Block], base: Mapping[str, str]) -> tuple[Block, list[Row]]:
    """Find the block that has levels, and its cells."""
    grids = [block for block in blocks if any(row.levels for row in block.rows)]
    if len(grids) != 1:
        raise StatisticsError(f"effects are those of one grid; blocks with levels: {[block.name for block in grids]}")
    cells = [row for row in grids[0].rows if row.levels]
    for cell in cells:
        if cell.levels.keys() != base.keys():
            raise StatisticsError(f"{cell.key} has levels of {sorted(cell.levels)}, and the base of {sorted(base)}")
    return grids[0], cells


def _only_study(metrics: pd.DataFrame) -> str:
    studies = list(metrics["study"].unique())
    if len(studies) != 1:
        raise StatisticsError(f"effects are those of one study; the metrics are of {studies}")
    return studies[0]


def _effect(values: pd.DataFrame, contrast: _Contrast) -> NDArray[np.float64]:
    """Mean over cells of level minus base level, for every seed in which no cell lacks."""
    with_level, with_base = (values[list(keys)].to_numpy() for keys in zip(*contrast.pairs, strict=True))
    effect = (with_level - with_base).mean(axis=-1)
    return effect[~np.isnan(effect)]


def _contrasts(cells: Sequence[Row], base: Mapping[str, str]) -> list[_Contrast]:
    """Every level of every factor against the base level, in the order of base and of the cells."""
    levels = {factor: list(dict.fromkeys(cell.levels[factor] for cell in cells)) for factor in base}
    full = _full_factorial(cells, levels)
    contrasts = []
    for position, (factor, base_level) in enumerate(base.items()):
        for level in levels[factor]:
            if level in (base_level, ANY):
                continue
            pairs = [
                (cell.key, partner.key)
                for combination, cell in full.items()
                if cell.levels[factor] == level
                and (partner := full.get((*combination[:position], base_level, *combination[position + 1 :])))
                and partner.levels[factor] == base_level
            ]
            if not pairs:
                raise StatisticsError(
                    f"factor {factor}: no cell with level {level} has a partner with the base level {base_level}; "
                    "put both into the grid"
                )
            contrasts.append(_Contrast(factor, level, pairs))
    return contrasts


def _full_factorial(cells: Sequence[Row], levels: Mapping[str, Sequence[str]]) -> dict[tuple[str, ...], Row]:
    """Find the cell of each combination of levels; a cell with "any" stands for several."""
    full: dict[tuple[str, ...], Row] = {}
    for cell in cells:
        stands_for = [
            [cell.levels[factor]] if cell.levels[factor] != ANY else [x for x in of_factor if x != ANY] or [ANY]
            for factor, of_factor in levels.items()
        ]
        for combination in product(*stands_for):
            if combination in full:
                raise StatisticsError(f"{cell.key} and {full[combination].key} both have the levels {combination}")
            full[combination] = cell
    return full
