"""The table of the synthetic study."""

from __future__ import annotations

import re

import pandas as pd

from fossil.reporting.tables.latex import escape, notes_on_tests, p_heading, runs_sentence, table_environment
from fossil.reporting.tables.summary import Column, summarise

COLUMNS = (
    Column("auc", "AUC"),
    Column("balanced_accuracy", "BalAcc"),
    Column("recall", "Recall"),
    Column("g_mean", "G-mean"),
    Column("dynamic_regret", "Regret", higher_is_better=False, decimals=3),
    Column("balanced_error", "BalErr", higher_is_better=False),
)

_DYNAMIC_REGRET = "Regret is dynamic: how far the validation loss is above its smallest value so far, mean over epochs."
_BALANCED_ERROR = r"BalErr is 1 $-$ BalAcc: the column to hold against the regret that the paper prints."


def synthetic_results(
    metrics: pd.DataFrame, statistics: pd.DataFrame, *, methods: list[str], reference: str, scenario_title: str
) -> tuple[pd.DataFrame, str]:
    """Tabulate the synthetic study, a row a method in the given order.

    Parameters
    ----------
    metrics : DataFrame
        Long table of one study: method, variant, fold, seed, metric, value, status.
    statistics : DataFrame
        What `fossil.evaluation.statistics.compare_methods` found for it.
    scenario_title : str
        What the caption calls the scenario, such as "imbalance ratio 9:1".

    Returns
    -------
    DataFrame
        method, label, variant, n, n_expected; mean and standard deviation (ddof 1) of each metric as ``{metric}_mean``
        and ``{metric}_std``; p_wilcoxon, p_permutation, p_wilcoxon_holm of balanced accuracy against the reference;
        data. A run counts in n, and in the means, where it has every metric of the table.
    str
        A LaTeX table environment.

    Raises
    ------
    TableError
        Where the metrics are of more than one study, or a method was not compared with the reference.
    """
    summary = summarise(metrics, statistics, methods=methods, reference=reference, columns=COLUMNS).assign(
        data="synthetic"
    )
    notes = [_DYNAMIC_REGRET, _BALANCED_ERROR, *notes_on_tests(summary, statistics, reference=reference)]
    tex = table_environment(
        summary,
        COLUMNS,
        caption=f"Synthetic data, {escape(scenario_title)}. {runs_sentence(metrics, summary)}",
        label=f"synthetic-results-{re.sub('[^a-z0-9]+', '-', scenario_title.lower()).strip('-')}",
        groups=[(4, "Higher is better"), (2, "Lower is better"), (3, p_heading(reference))],
        notes=notes,
    )
    return summary, tex
