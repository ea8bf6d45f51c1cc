"""Effects of the factors of a grid: averaged over it, from its base cell, and by the levels of one factor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fossil.config.statistics import Statistics
from fossil.design.comparisons import ANY, Block, Row
from fossil.evaluation.metrics import GRID_METRICS
from fossil.evaluation.paired_tests import analyse_pairs, holm
from fossil.evaluation.run_values import StatisticsError, run_values

COLUMNS = [
    *("study", "metric", "scope", "factor", "level", "base", "cells", "n", "n_expected"),
    *("estimate", "std", "low", "high", "confidence"),
    *("test", "exact", "p", "p_holm", "smallest_p", "note"),
]

CROSSED = "class_term"
"""The factor whose interactions with every other one are measured."""

_SIGNS = {2: (1, -1), 4: (1, -1, -1, 1)}
"""Of level and base level; of both levels, each of them with the other's base level, and both base levels."""

_Combination = tuple[str, ...]


@dataclass(frozen=True)
class _Contrast:
    """A contrast: its name, and the keys of cells whose metrics are added with the signs of `_SIGNS`."""

    scope: str
    factor: str
    level: str
    base: str
    cells: list[tuple[str, ...]]


def grid_effects(
    metrics: pd.DataFrame,
    *,
    blocks: Sequence[Block],
    base: Mapping[str, str],
    statistics: Statistics,
    allow_missing: bool,
) -> pd.DataFrame:
    """Compute the gain of every level of a full factorial over its base level, on the metrics `GRID_METRICS`.

    Each effect is a number within a seed, and is then tested over seeds. Of which cells it is, its scope says:

    average : the mean over all cells of the other factors of metric(level) minus metric(base level).
    configured : the same of one pair of cells: all other factors are at their base levels.
    interaction : of a level a of `CROSSED` and a level b of another factor, the mean over all cells of the other
        factors of [metric(a, b) - metric(base a, b)] - [metric(a, base b) - metric(base a, base b)]. The factors are
        named as "class_term x schedule", and levels as "a, b".

    A cell with level "any" counts once for each level that it stands for, so that every combination of the other
    factors weighs the same; it says nothing about that factor's own levels and is left out there.

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
        One row per metric, scope, factor, level and test, with the columns `COLUMNS`. ``cells`` is over how many pairs
        or, in an interaction, fours of cells the mean is, ``std`` the standard deviation of the effect over seeds;
        `fossil.evaluation.paired_tests.analyse_pairs` describes the rest. p_holm is corrected within metric, test and
        scope over all effects that have a p. No row of scope configured or interaction where the grid lacks the cells,
        and none at all where it has base levels only.

    Raises
    ------
    StatisticsError
        Where there is not one study and one grid of the base's factors, two cells have the same levels, a level has no
        partner with the base level, or a run is repeated, or missing and may not be.
    """
    study = _only_study(metrics)
    grid, cells = _grid(blocks, base)
    contrasts = _contrasts(cells, base)
    if not contrasts:
        return pd.DataFrame(columns=COLUMNS)
    keys = [cell.key for cell in cells]
    values = run_values(metrics, keys=keys, seeds=grid.seeds, names=GRID_METRICS, allow_missing=allow_missing)
    compared = [(metric, contrast) for metric in GRID_METRICS for contrast in contrasts]
    effects = [_effect(values.loc[metric], contrast) for metric, contrast in compared]
    facts = pd.DataFrame(
        {
            **{"metric": metric, "scope": contrast.scope},
            **{"factor": contrast.factor, "level": contrast.level, "base": contrast.base},
            "cells": len(contrast.cells),
            "std": effect.std(ddof=1) if effect.size > 1 else np.nan,
        }
        for (metric, contrast), effect in zip(compared, effects, strict=True)
    )
    expected = [len(values.loc[metric]) for metric, _ in compared]
    table = analyse_pairs(effects, expected=expected, statistics=statistics).join(facts, on="comparison")
    table["p_holm"] = table.groupby(["metric", "test", "scope"])["p"].transform(holm)
    return table.assign(study=study)[COLUMNS]


def _grid(blocks: Sequence[Block], base: Mapping[str, str]) -> tuple[Block, list[Row]]:
    """Return the block that has levels, and its cells."""
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
    """Compute the mean over the contrast's cells, for every seed with all cells."""
    of_cells = np.array([values[list(keys)].to_numpy() for keys in contrast.cells])
    effect = (of_cells @ np.array(_SIGNS[of_cells.shape[-1]])).mean(axis=0)
    return effect[~np.isnan(effect)]


def _contrasts(cells: Sequence[Row], base: Mapping[str, str]) -> list[_Contrast]:
    """Return the contrasts by scope, then by factor in the order of base, then by level in that of the cells."""
    full = _full_factorial(cells, base)
    every = {factor: dict.fromkeys(cell.levels[factor] for cell in cells) for factor in base}
    levels = {factor: [x for x in names if x not in (base[factor], ANY)] for factor, names in every.items()}
    single = [(factor, level) for factor in base for level in levels[factor]]
    averages = [_average(full, base, factor=factor, level=level) for factor, level in single]
    configured = [_configured(full, base, factor=factor, level=level) for factor, level in single]
    interactions = [
        _interaction(full, base, factors=(CROSSED, factor), levels=(of_crossed, level))
        for of_crossed in levels.get(CROSSED, [])
        for factor, level in single
        if factor != CROSSED
    ]
    return averages + [contrast for contrast in configured + interactions if contrast.cells]


def _average(full: Mapping[_Combination, Row], base: Mapping[str, str], *, factor: str, level: str) -> _Contrast:
    pairs = _paired_cells(full, base, levels={factor: level})
    if not pairs:
        raise StatisticsError(
            f"factor {factor}: no cell with level {level} has a partner with the base level {base[factor]}; "
            "put both into the grid"
        )
    return _Contrast("average", factor, level, base[factor], list(pairs.values()))


def _configured(full: Mapping[_Combination, Row], base: Mapping[str, str], *, factor: str, level: str) -> _Contrast:
    changed = tuple({**base, factor: level}.values())
    pairs = _paired_cells(full, base, levels={factor: level})
    return _Contrast("configured", factor, level, base[factor], [pairs[changed]] if changed in pairs else [])


def _interaction(
    full: Mapping[_Combination, Row], base: Mapping[str, str], *, factors: tuple[str, str], levels: tuple[str, str]
) -> _Contrast:
    fours = _paired_cells(full, base, levels=dict(zip(factors, levels, strict=True)))
    bases = ", ".join(base[factor] for factor in factors)
    return _Contrast("interaction", " x ".join(factors), ", ".join(levels), bases, list(fours.values()))


def _paired_cells(
    full: Mapping[_Combination, Row], base: Mapping[str, str], *, levels: Mapping[str, str]
) -> dict[_Combination, tuple[str, ...]]:
    """Return cells of some factors' levels with their partners at base levels, in the order of `_SIGNS`.

    Returns their keys by the combination of the first cell, where all cells exist and each factor plays its role in
    each of them.
    """
    wanted = [dict(zip(levels, choice, strict=True)) for choice in product(*((x, base[f]) for f, x in levels.items()))]
    paired = {}
    for combination in full:
        of_factors = dict(zip(base, combination, strict=True))
        partners = [full.get(tuple((of_factors | changes).values())) for changes in wanted]
        if of_factors.items() >= levels.items() and all(
            partner and partner.levels.items() >= changes.items()
            for partner, changes in zip(partners, wanted, strict=True)
        ):
            paired[combination] = tuple(partner.key for partner in partners if partner)
    return paired


def _full_factorial(cells: Sequence[Row], base: Mapping[str, str]) -> dict[_Combination, Row]:
    """Return the cell of each combination of levels, in the order of base; a cell with "any" stands for several."""
    levels = {factor: {cell.levels[factor]: None for cell in cells} for factor in base}
    full: dict[_Combination, Row] = {}
    for cell in cells:
        stands_for = [
            [cell.levels[factor]] if cell.levels[factor] != ANY else [x for x in names if x != ANY] or [base[factor]]
            for factor, names in levels.items()
        ]
        for combination in product(*stands_for):
            if combination in full:
                raise StatisticsError(f"{cell.key} and {full[combination].key} both have the levels {combination}")
            full[combination] = cell
    return full
