"""Tests of the differences between rows of a study and their reference, paired by run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fossil.config.statistics import Statistics
from fossil.design.comparisons import Block
from fossil.evaluation.fold_tests import FOLD_TESTS, analyse_folds
from fossil.evaluation.paired_tests import analyse_pairs, holm
from fossil.evaluation.run_values import NO_FOLD, StatisticsError, run_values

COLUMNS = [
    *("study", "block", "metric", "scenario", "method", "variant", "reference", "n", "n_expected"),
    *("reference_mean", "method_mean", "estimate", "low", "high", "confidence"),
    *("test", "exact", "p", "p_holm", "smallest_p", "effect_size", "note"),
]

_DEPENDENT = "fold-seed pairs are not independent: p is too small, the interval too narrow"


def compare(
    metrics: pd.DataFrame,
    *,
    study: str,
    blocks: Sequence[Block],
    statistics: Statistics,
    allow_missing: bool,
    metrics_tested: Sequence[str] | None = None,
    test_train_ratio: float | None = None,
) -> pd.DataFrame:
    """Compare every row of a block with the block's reference, on every metric, over the runs that both have.

    Parameters
    ----------
    metrics : DataFrame
        Long: study, scenario, method, variant, fold (missing in a study without folds), seed, metric, value, status. A
        value counts where its status is "ok" and it is a number.
    blocks : sequence of Block
        What is compared with what. Where a block has seeds, only runs of these count.
    allow_missing : bool
        Drop a pair of which one run is missing, failed or undefined; then n < n_expected. Otherwise an error.
    metrics_tested : sequence of str or None
        The metrics; None for all available ones.
    test_train_ratio : float or None
        Images that test in a fold over images that train there, of the folds in which the models were trained; None
        for a study without several. It decides whether there are tests that mind what folds share.

    Returns
    -------
    DataFrame
        One row per block, metric, row and test ("wilcoxon", "permutation"; with test_train_ratio also "corrected_t",
        "fold_means"), with the columns `COLUMNS`; none for a block that has its reference only. ``estimate`` and
        ``effect_size`` are of reference minus method, and `fossil.evaluation.paired_tests.analyse_pairs` and
        `fossil.evaluation.fold_tests.analyse_folds` describe them and the rest. p_holm is corrected within block,
        metric and test, over the rows that have a p.

    Raises
    ------
    StatisticsError
        Where study or block is absent, a run is repeated, a pair is incomplete and may not be, or there is a
        test_train_ratio and no folds.

    Notes
    -----
    Fold-seed pairs of a cross-validation are not independent: folds share training images, and seeds share folds.
    p and interval of such pairs are too small and too narrow, in "wilcoxon" and "permutation"; the other two tests are
    there for that. Pairs of a study that draws new data with each seed are independent.
    """
    rows = metrics[metrics["study"] == study]
    if rows.empty:
        studies = ", ".join(sorted(metrics["study"].astype(str).unique())) or "none"
        raise StatisticsError(f"study {study}: no rows. Studies found: {studies}. Give the metrics of that study")
    pairs: list[tuple[dict[str, Any], NDArray[np.float64], NDArray[np.int64]]] = []
    for block in blocks:
        values = run_values(
            rows,
            keys=[row.key for row in block.rows],
            seeds=block.seeds,
            names=metrics_tested,
            allow_missing=allow_missing,
        )
        pairs += _pairs(values, block)
    if not pairs:
        return pd.DataFrame(columns=COLUMNS)
    facts, differences, folds = zip(*pairs, strict=True)
    compared = pd.DataFrame(facts).assign(study=study)
    expected, folds_expected = compared.pop("expected"), compared.pop("folds_expected")
    tested = analyse_pairs(differences, expected=expected, statistics=statistics)
    if test_train_ratio is not None:
        if any((of_pair == NO_FOLD).any() for of_pair in folds):
            raise StatisticsError(f"study {study}: a test_train_ratio is that of folds, and these runs have none")
        further = analyse_folds(
            *(differences, folds),
            expected=expected,
            folds_expected=folds_expected,
            test_train_ratio=test_train_ratio,
            statistics=statistics,
        )
        tested = pd.concat([tested, further]).sort_values("comparison", kind="stable", ignore_index=True)
    table = tested.join(compared, on="comparison")
    table["p_holm"] = table.groupby(["block", "metric", "test"])["p"].transform(holm)
    warnings = table["warning"].mask(table["test"].isin(FOLD_TESTS), "")
    notes = zip(warnings, table["note"], strict=True)
    return table.assign(note=["; ".join(filter(None, both)) for both in notes])[COLUMNS]


def _pairs(
    values: pd.DataFrame, block: Block
) -> Iterator[tuple[dict[str, Any], NDArray[np.float64], NDArray[np.int64]]]:
    """Yield each comparison of a metric and row: facts, differences over complete runs, and the folds of these."""
    warning = _DEPENDENT if (values.index.get_level_values("fold") != NO_FOLD).any() else ""
    reference_at = values.columns.get_loc(block.reference)
    names = values.index.unique("metric")
    folds = values.index.get_level_values("fold").to_numpy()[: len(values) // len(names)]
    for metric, runs in zip(names, np.split(values.to_numpy(), len(names)), strict=True):
        for row, method_values in zip(block.rows, runs.T, strict=True):
            if row.key == block.reference:
                continue
            complete = ~(np.isnan(runs[:, reference_at]) | np.isnan(method_values))
            reference, method = runs[complete, reference_at], method_values[complete]
            facts = {
                **{"block": block.name, "metric": metric, "reference": block.reference},
                **{"scenario": row.scenario, "method": row.method, "variant": row.variant},
                "reference_mean": reference.mean() if reference.size else np.nan,
                "method_mean": method.mean() if method.size else np.nan,
                **{"expected": len(runs), "folds_expected": len(np.unique(folds)), "warning": warning},
            }
            yield facts, reference - method, folds[complete]
