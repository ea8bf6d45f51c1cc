"""Numbers that the paper prints, beside those that were measured."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fossil.design.comparisons import Block, Row
from fossil.evaluation.metrics import METRICS
from fossil.reporting.tables._latex import TableError

PRINTED_P = ("p_wilcoxon", "p_permutation", "p_aurc")


def printed_columns(reported: pd.DataFrame, *, table: str, blocks: Sequence[Block]) -> pd.DataFrame:
    """Return what the paper prints for each row of each block, as text; "" where it prints nothing.

    Parameters
    ----------
    reported : DataFrame
        From `read_reported`: table, line, imbalance_ratio, method, variant, metric, mean, std.

    Returns
    -------
    DataFrame
        ``{metric}_printed_mean`` and ``{metric}_printed_std`` for each metric that the paper prints for any of the
        rows, in the order of `METRICS`; then {p}_printed for each p of `PRINTED_P`.

    Raises
    ------
    TableError
        Where the paper has nothing of a row that is said to be printed.
    """
    mine = reported[reported["table"] == table]
    rows = [_printed_row(mine, block, row) for block in blocks for row in block.rows]
    there = {metric for row in rows for metric in row}
    columns: dict[str, list[str]] = {}
    for metric in filter(there.__contains__, METRICS):
        columns[f"{metric}_printed_mean"] = [row.get(metric, ("", ""))[0] for row in rows]
        columns[f"{metric}_printed_std"] = [row.get(metric, ("", ""))[1] for row in rows]
    for name in PRINTED_P:
        columns[f"{name}_printed"] = [row.get(name, ("", ""))[0] for row in rows]
    return pd.DataFrame(columns)


def printed_metrics(printed: pd.DataFrame) -> list[str]:
    """Metrics that the paper prints for any row, of what `printed_columns` gives."""
    suffix = "_printed_mean"
    return [name.removesuffix(suffix) for name in printed.columns if name.endswith(suffix)]


def printed_decimals(printed: pd.DataFrame) -> int:
    """Most decimals of a printed mean; 0 where the paper prints none."""
    texts = [text for metric in printed_metrics(printed) for text in printed[f"{metric}_printed_mean"]]
    return max((len(text.partition(".")[2]) for text in texts), default=0)


def regret_gap(printed: pd.DataFrame) -> float:
    """Largest distance of what the paper prints as dynamic regret from 1 minus its balanced accuracy; NaN for none."""
    regret = pd.to_numeric(printed["dynamic_regret_printed_mean"])
    accuracy = pd.to_numeric(printed["balanced_accuracy_printed_mean"])
    return float((regret - (1 - accuracy)).abs().max())


def _printed_row(reported: pd.DataFrame, block: Block, row: Row) -> dict[str, tuple[str, str]]:
    """Mean and deviation by metric."""
    if row.reported is None:
        return {}
    found = reported[
        (reported["method"] == row.reported)
        & (reported["variant"] == row.reported_variant)
        & (reported["imbalance_ratio"] == block.reported_ratio)
    ]
    if found.empty:
        raise TableError(
            f"block {block.name}, row {row.key}: the paper's table has no row {row.reported!r} at imbalance ratio "
            f"{block.reported_ratio!r}, only {sorted(set(reported['method']))}"
        )
    return {entry.metric: (entry.mean, entry.std) for entry in found.itertuples()}
