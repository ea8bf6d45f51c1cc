"""Numbers of a table: means and deviations over the runs of each row, and p-values against the block's reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fossil.design.comparisons import Block, Row
from fossil.reporting.tables._latex import TableError

P_COLUMNS = ("p_wilcoxon", "p_wilcoxon_holm", "p_permutation", "p_permutation_holm")
"""p-values that a table shows."""

FOLD_P_COLUMNS = ("p_wilcoxon", "p_wilcoxon_holm", "p_corrected_t", "p_corrected_t_holm")
"""p-values that a table of a study in folds shows, whose statistics have the tests that mind what folds share."""

_TESTS = ("wilcoxon", "permutation")
_FOLD_TESTS = (*_TESTS, "corrected_t", "fold_means")

_ROW = ["scenario", "method", "variant"]
_RUN = ["fold", "seed"]


def study_of(metrics: pd.DataFrame) -> str:
    """Return the study that the metrics are of.

    Raises
    ------
    TableError
        Where they are of more than one, or of none.
    """
    studies = sorted(metrics["study"].unique())
    if len(studies) != 1:
        raise TableError(f"a table is of one study; the metrics are of {studies}. Give the metrics of one")
    return studies[0]


def runs_of(metrics: pd.DataFrame, block: Block) -> pd.DataFrame:
    """Select what the metrics have of a block's rows and seeds.

    Raises
    ------
    TableError
        Where a row or a seed of the block does not occur; a run that failed or lacks is a row that says so.
    """
    rows = pd.DataFrame([(row.scenario, row.method, row.variant) for row in block.rows], columns=_ROW)
    runs = metrics.merge(rows, on=_ROW)
    there = set(runs[_ROW].itertuples(index=False, name=None))
    absent = [row.key for row in block.rows if (row.scenario, row.method, row.variant) not in there]
    if absent:
        raise TableError(f"block {block.name}: the metrics have nothing of {', '.join(absent)}. Collect them again")
    if block.seeds is None:
        return runs
    absent_seeds = sorted(set(block.seeds) - set(runs["seed"]))
    if absent_seeds:
        raise TableError(f"block {block.name}: the metrics have no seeds {absent_seeds}. Collect them again")
    return runs[runs["seed"].isin(block.seeds)]


def summarise(metrics: pd.DataFrame, blocks: Sequence[Block], *, names: Sequence[str]) -> pd.DataFrame:
    """Summarise the runs of a study, a row for each row of each block.

    Parameters
    ----------
    metrics : DataFrame
        Long: study, scenario, method, variant, fold (missing in a study without folds), seed, metric, value, status.
    names : sequence of str
        Metrics of the table.

    Returns
    -------
    DataFrame
        block, scenario, method, variant, label, n, n_expected; mean and standard deviation (ddof 1) of each metric as
        ``{metric}_mean`` and ``{metric}_std``. A run counts in n, and in the means, where it has every metric.

    Raises
    ------
    TableError
        Where a row or a seed of a block does not occur in the metrics.
    """
    return pd.DataFrame([entry for block in blocks for entry in _of_block(metrics, block, list(names))])


def shown_statistics(
    statistics: pd.DataFrame, blocks: Sequence[Block], *, study: str, metric: str
) -> dict[tuple[str, str], pd.DataFrame]:
    """Return the comparisons of every row with its block's reference, in one metric.

    Returns
    -------
    dict
        By block and key of the row: what `fossil.evaluation.statistics` found, indexed by test ("permutation",
        "wilcoxon", of a study in folds also "corrected_t", "fold_means"). The reference has none.

    Raises
    ------
    TableError
        Where a row was not compared with the reference by each test that there is of the study.
    """
    mine = statistics[(statistics["study"] == study) & (statistics["metric"] == metric)]
    tests = _FOLD_TESTS if set(mine["test"]) - set(_TESTS) else _TESTS
    return {
        (block.name, row.key): _comparison(mine, block, row, tests)
        for block in blocks
        for row in block.rows
        if row.key != block.reference
    }


def minds_folds(shown: dict[tuple[str, str], pd.DataFrame]) -> bool:
    """Check whether comparisons have the tests that mind what folds share."""
    return any("corrected_t" in tests.index for tests in shown.values())


def p_values(shown: dict[tuple[str, str], pd.DataFrame], blocks: Sequence[Block]) -> pd.DataFrame:
    """Arrange p-values of all tests, a row for each row of each block; NaN for references.

    The columns are `P_COLUMNS`, and of a study in folds then those of its further tests, named alike.
    """
    names = _FOLD_TESTS if minds_folds(shown) else _TESTS
    columns = {f"p_{test}{suffix}": (test, f"p{suffix}") for test in names for suffix in ("", "_holm")}
    rows = []
    for block in blocks:
        for row in block.rows:
            tests = shown.get((block.name, row.key))
            if tests is None:
                rows.append(dict.fromkeys(columns, np.nan))
            else:
                rows.append({column: float(tests.at[place]) for column, place in columns.items()})
    return pd.DataFrame(rows)


def _of_block(metrics: pd.DataFrame, block: Block, names: list[str]) -> list[dict[str, str | float]]:
    runs = runs_of(metrics, block)
    expected = len(runs[_RUN].drop_duplicates())
    entries = []
    for row in block.rows:
        mine = (runs["scenario"] == row.scenario) & (runs["method"] == row.method) & (runs["variant"] == row.variant)
        ok = runs[mine & (runs["status"] == "ok")].set_index([*_RUN, "metric"])["value"]
        values = ok.unstack("metric").reindex(columns=names).dropna()
        entry: dict[str, str | float] = {
            "block": block.name,
            "scenario": row.scenario,
            "method": row.method,
            "variant": row.variant,
        }
        entry |= {"label": row.label, "n": len(values), "n_expected": expected}
        for name in names:
            entry |= {f"{name}_mean": values[name].mean(), f"{name}_std": values[name].std(ddof=1)}
        entries.append(entry)
    return entries


def _comparison(statistics: pd.DataFrame, block: Block, row: Row, tests: tuple[str, ...]) -> pd.DataFrame:
    found = statistics[
        (statistics["block"] == block.name)
        & (statistics["reference"] == block.reference)
        & (statistics["scenario"] == row.scenario)
        & (statistics["method"] == row.method)
        & (statistics["variant"] == row.variant)
    ].set_index("test")
    if sorted(found.index) != sorted(tests):
        raise TableError(
            f"block {block.name}, row {row.key}: the statistics have tests {list(found.index)} against "
            f"{block.reference}, not one of each of {', '.join(sorted(tests))}. Compare these blocks again"
        )
    return found
