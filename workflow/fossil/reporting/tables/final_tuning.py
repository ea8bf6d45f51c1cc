"""The table of the image study."""

from __future__ import annotations

import pandas as pd

from fossil.config import DATASETS
from fossil.reporting.tables.latex import escape, notes_on_tests, p_heading, runs_sentence, table_environment
from fossil.reporting.tables.summary import Column, summarise

COLUMNS = (
    Column("auc", "AUC"),
    Column("balanced_accuracy", "BalAcc"),
    Column("g_mean", "G-mean"),
    Column("f1", "F1"),
    Column("recall", "Recall"),
    Column("static_regret", "Static", higher_is_better=False, decimals=3),
    Column("dynamic_regret", "Dynamic", higher_is_better=False, decimals=3),
    Column("area_under_regret_curve", "AURC", higher_is_better=False, decimals=3),
)

_ALL_REGRETS = (
    "Regret is how far the validation loss is above its smallest value of all epochs (static) or so far (dynamic), "
    "mean over epochs; AURC is the area under the running mean of the latter."
)
_NOT_INDEPENDENT = (
    "Fold-seed pairs are not independent, since folds share training images and seeds share folds and difficulty "
    "scores: these $p$-values are too small."
)


def final_tuning(
    metrics: pd.DataFrame,
    statistics: pd.DataFrame,
    *,
    methods: list[str],
    reference: str,
    dataset: str,
    note: str = "",
) -> tuple[pd.DataFrame, str]:
    """Tabulate the image study before tuning, a row a method in the given order.

    Parameters, result and errors are those of `synthetic_results`; besides, ``dataset`` is "phantom" or "pad_ufes_20",
    which the caption names, and ``note`` is a sentence (plain text) to put under the table.
    """
    summary = summarise(metrics, statistics, methods=methods, reference=reference, columns=COLUMNS).assign(data=dataset)
    notes = [_ALL_REGRETS, *notes_on_tests(summary, statistics, reference=reference), _NOT_INDEPENDENT, escape(note)]
    tex = table_environment(
        summary,
        COLUMNS,
        caption=f"{escape(DATASETS[dataset])}: every method as configured, before tuning. "
        f"{runs_sentence(metrics, summary)}",
        label="final-tuning",
        groups=[(5, "Higher is better"), (3, "Regret, lower is better"), (3, p_heading(reference))],
        notes=notes,
    )
    return summary, tex
