"""Numbers of a table: means and deviations over the runs of each method, and p-values against the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fossil.config import METHODS

TESTED = "balanced_accuracy"
"""The metric whose p-values the tables show."""

P_COLUMNS = ("p_wilcoxon", "p_permutation", "p_wilcoxon_holm")


class TableError(ValueError):
    """A table cannot be made of these results; the message says what lacks."""


@dataclass(frozen=True)
class Column:
    """A metric of a table: its heading (LaTeX), whether high is good, and the decimals in print."""

    metric: str
    heading: str
    higher_is_better: bool = True
    decimals: int = 2


def summarise(
    metrics: pd.DataFrame,
    statistics: pd.DataFrame,
    *,
    methods: list[str],
    reference: str,
    columns: tuple[Column, ...],
) -> pd.DataFrame:
    """Summarise the runs of a study, a row a method in the given order.

    Parameters
    ----------
    metrics : DataFrame
        Long table of one study: study, method, variant, fold, seed, metric, value, status.
    statistics : DataFrame
        What `fossil.evaluation.statistics.compare_methods` found for it.
    columns : tuple of Column
        Metrics of the table.

    Returns
    -------
    DataFrame
        method, label, variant, n, n_expected; mean and standard deviation (ddof 1) of each metric as ``{metric}_mean``
        and ``{metric}_std``; p_wilcoxon, p_permutation, p_wilcoxon_holm of balanced accuracy against the reference. A
        run counts in n, and in the means, where it has every metric of the table.

    Raises
    ------
    TableError
        Where the metrics are of more than one study, or a method was not compared with the reference.
    """
    studies = sorted(metrics["study"].unique())
    if len(studies) != 1:
        raise TableError(f"a table is of one study; the metrics are of {studies}. Give the metrics of one")
    metrics = metrics[metrics["method"].isin(methods)]
    expected = len(metrics[["fold", "seed"]].drop_duplicates())
    names = [column.metric for column in columns]
    rows = []
    for method in methods:
        ok = metrics[(metrics["method"] == method) & (metrics["status"] == "ok")]
        values = ok.set_index(["fold", "seed", "metric"])["value"].unstack("metric").reindex(columns=names).dropna()
        row = {"method": method, "label": METHODS[method].label, "variant": "baseline"}
        row |= {"n": len(values), "n_expected": expected}
        for name in names:
            row[f"{name}_mean"] = values[name].mean()
            row[f"{name}_std"] = values[name].std(ddof=1)
        rows.append(row | _p_values(statistics, method, reference))
    return pd.DataFrame(rows)


def _p_values(statistics: pd.DataFrame, method: str, reference: str) -> dict[str, float]:
    if method == reference:
        return dict.fromkeys(P_COLUMNS, np.nan)
    found = statistics[
        (statistics["metric"] == TESTED) & (statistics["method"] == method) & (statistics["reference"] == reference)
    ].set_index("test")
    if sorted(found.index) != ["permutation", "wilcoxon"]:
        raise TableError(
            f"method {method}: the statistics have tests {list(found.index)} of {TESTED} against {reference}, "
            "not one of each of permutation and wilcoxon. Run compare_methods with these methods and this reference"
        )
    ps = (found.at["wilcoxon", "p"], found.at["permutation", "p"], found.at["wilcoxon", "p_holm"])
    return dict(zip(P_COLUMNS, map(float, ps), strict=True))
