"""Tables of the studies: every digit as a data frame, and as LaTeX for print.

In print, bold is the best mean of a column at the printed precision, ties included; it is computed, for p-values never.
The LaTeX needs booktabs only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fossil.config import METHODS

TESTED = "balanced_accuracy"
"""The metric whose p-values the tables show."""

_PHANTOM = "Phantom data (drawn by the pipeline, no patients)"
_DATASETS = {"phantom": _PHANTOM, "pad_ufes_20": "PAD-UFES-20"}
_P_COLUMNS = ("p_wilcoxon", "p_permutation", "p_wilcoxon_holm")
_SPECIALS = {character: rf"\{character}" for character in "&%$#_{}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}

_DYNAMIC_REGRET = "Regret is dynamic: how far the validation loss is above its smallest value so far, mean over epochs."
_BALANCED_ERROR = r"BalErr is 1 $-$ BalAcc: the column to hold against the regret that the paper prints."
_INVERTED = (
    r"$^\dagger$ Weights follow the class frequency instead of its inverse; "
    "shown only because the paper's Static row fits this reading."
)
_ALL_REGRETS = (
    "Regret is how far the validation loss is above its smallest value of all epochs (static) or so far (dynamic), "
    "mean over epochs; AURC is the area under the running mean of the latter."
)
_NOT_INDEPENDENT = (
    "Fold-seed pairs are not independent, since folds share training images and seeds share folds: "
    "these $p$-values are too small."
)


class TableError(ValueError):
    """A table cannot be made of these results; the message says what lacks."""


@dataclass(frozen=True)
class Column:
    """A metric of a table: its heading (LaTeX), whether high is good, and the decimals in print."""

    metric: str
    heading: str
    higher_is_better: bool = True
    decimals: int = 2


SYNTHETIC_COLUMNS = (
    Column("auc", "AUC"),
    Column("balanced_accuracy", "BalAcc"),
    Column("recall", "Recall"),
    Column("g_mean", "G-mean"),
    Column("dynamic_regret", "Regret", higher_is_better=False, decimals=3),
    Column("balanced_error", "BalErr", higher_is_better=False),
)

FINAL_TUNING_COLUMNS = (
    Column("auc", "AUC"),
    Column("balanced_accuracy", "BalAcc"),
    Column("g_mean", "G-mean"),
    Column("f1", "F1"),
    Column("recall", "Recall"),
    Column("static_regret", "Static", higher_is_better=False, decimals=3),
    Column("dynamic_regret", "Dynamic", higher_is_better=False, decimals=3),
    Column("area_under_regret_curve", "AURC", higher_is_better=False, decimals=3),
)


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
    summary = _summarise(metrics, statistics, methods, reference, SYNTHETIC_COLUMNS).assign(data="synthetic")
    inverted = [_INVERTED] if "static_inverted" in methods else []
    notes = [_DYNAMIC_REGRET, _BALANCED_ERROR, *_notes_on_tests(summary, statistics, reference), *inverted]
    tex = _latex(
        summary,
        SYNTHETIC_COLUMNS,
        caption=f"Synthetic data, {_escape(scenario_title)}. {_runs_sentence(metrics, summary)}",
        label=f"synthetic-results-{re.sub('[^a-z0-9]+', '-', scenario_title.lower()).strip('-')}",
        groups=[(4, "Higher is better"), (2, "Lower is better"), (3, _p_heading(reference))],
        notes=notes,
    )
    return summary, tex


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
    summary = _summarise(metrics, statistics, methods, reference, FINAL_TUNING_COLUMNS).assign(data=dataset)
    notes = [_ALL_REGRETS, *_notes_on_tests(summary, statistics, reference), _NOT_INDEPENDENT, _escape(note)]
    tex = _latex(
        summary,
        FINAL_TUNING_COLUMNS,
        caption=f"{_escape(_DATASETS.get(dataset, dataset))}. {_runs_sentence(metrics, summary)}",
        label="final-tuning",
        groups=[(5, "Higher is better"), (3, "Regret, lower is better"), (3, _p_heading(reference))],
        notes=notes,
    )
    return summary, tex


# --- Numbers ---------------------------------------------------------------------------------------------------------


def _summarise(
    metrics: pd.DataFrame,
    statistics: pd.DataFrame,
    methods: list[str],
    reference: str,
    columns: tuple[Column, ...],
) -> pd.DataFrame:
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
        return dict.fromkeys(_P_COLUMNS, np.nan)
    found = statistics[
        (statistics["metric"] == TESTED) & (statistics["method"] == method) & (statistics["reference"] == reference)
    ].set_index("test")
    if sorted(found.index) != ["permutation", "wilcoxon"]:
        raise TableError(
            f"method {method}: the statistics have tests {list(found.index)} of {TESTED} against {reference}, "
            "not one of each of permutation and wilcoxon. Run compare_methods with these methods and this reference"
        )
    ps = (found.at["wilcoxon", "p"], found.at["permutation", "p"], found.at["wilcoxon", "p_holm"])
    return dict(zip(_P_COLUMNS, map(float, ps), strict=True))


# --- Print -----------------------------------------------------------------------------------------------------------


def _latex(
    summary: pd.DataFrame,
    columns: tuple[Column, ...],
    *,
    caption: str,
    label: str,
    groups: list[tuple[int, str]],
    notes: list[str],
) -> str:
    over, rules, first = [""], "", 2
    for width, heading in groups:
        over.append(rf"\multicolumn{{{width}}}{{c}}{{{heading}}}")
        rules += rf"\cmidrule(lr){{{first}-{first + width - 1}}}"
        first += width
    upper = [_label_cells(summary), *(_mean_cells(summary, column) for column in columns)]
    upper += [[_p_cell(p) for p in summary[name]] for name in _P_COLUMNS]
    lower = [_count_cells(summary), *(_deviation_cells(summary, column) for column in columns)]
    body = [
        " & ".join(means) + " \\\\\n" + " & ".join(deviations) + r" \\[2pt]"
        for means, deviations in zip(zip(*upper, strict=True), zip(*lower, strict=True), strict=True)
    ]
    lines = [
        r"\begin{table}[!ht]",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{label}}}",
        r"\smallskip\scriptsize",
        r"\setlength{\tabcolsep}{3pt}",
        rf"\begin{{tabular}}{{@{{}}l{'c' * (len(columns) + len(_P_COLUMNS))}@{{}}}}",
        r"\toprule",
        " & ".join(over) + r" \\",
        rules,
        " & ".join(["Method", *(column.heading for column in columns), "Wilc.", "Perm.", "Holm"]) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        "",
        r"\smallskip",
        rf"\parbox{{\linewidth}}{{\scriptsize {' '.join(filter(None, notes))}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _label_cells(summary: pd.DataFrame) -> list[str]:
    daggers = summary["method"].map({"static_inverted": r"$^\dagger$"}).fillna("")
    return [_escape(label) + dagger for label, dagger in zip(summary["label"], daggers, strict=True)]


def _count_cells(summary: pd.DataFrame) -> list[str]:
    counts = zip(summary["n"], summary["n_expected"], strict=True)
    return [rf"{{\tiny $n$ = {n} of {expected}}}" if n < expected else "" for n, expected in counts]


def _mean_cells(summary: pd.DataFrame, column: Column) -> list[str]:
    printed = [_decimal(mean, column.decimals) for mean in summary[f"{column.metric}_mean"]]
    numbers = [float(text) for text in printed if text]
    best = (max if column.higher_is_better else min)(numbers, default=None)
    return [rf"\textbf{{{text}}}" if text and float(text) == best else text or "--" for text in printed]


def _deviation_cells(summary: pd.DataFrame, column: Column) -> list[str]:
    printed = [_decimal(deviation, column.decimals) for deviation in summary[f"{column.metric}_std"]]
    return [rf"{{\tiny $\pm$ {text}}}" if text else "" for text in printed]


def _decimal(value: float, decimals: int) -> str:
    return "" if np.isnan(value) else f"{value:.{decimals}f}"


def _p_cell(p: float) -> str:
    if np.isnan(p):
        return "--"
    return f"{p:.3f}" if p >= 0.0005 else "$<$0.001"


def _p_heading(reference: str) -> str:
    return f"$p$ against {_escape(METHODS[reference].label)}"


def _runs_sentence(metrics: pd.DataFrame, summary: pd.DataFrame) -> str:
    """Say over how many runs the means are, of how many folds and seeds."""
    runs = metrics[metrics["method"].isin(summary["method"])]
    folds, seeds, expected = runs["fold"].nunique(), runs["seed"].nunique(), int(summary["n_expected"].iloc[0])
    counted = f"{folds} folds $\\times$ {seeds} seeds" if folds else f"{seeds} seeds"
    sentence = rf"Mean $\pm$ standard deviation over {counted} ($n$ = {expected}); the best mean of a column is bold."
    if (summary["n"] < summary["n_expected"]).any():
        sentence += " Runs are missing: such rows give their own $n$."
    return sentence


def _notes_on_tests(summary: pd.DataFrame, statistics: pd.DataFrame, reference: str) -> list[str]:
    shown = statistics[(statistics["metric"] == TESTED) & statistics["method"].isin(summary["method"])]
    flips = "exact" if shown.loc[shown["test"] == "permutation", "exact"].all() else "random flips"
    tests = (
        f"$p$-values are two-sided and of BalAcc: Wilcoxon signed-rank test, sign-flip permutation test ({flips}), "
        f"and Holm's correction of the former over {len(summary) - 1} methods."
    )
    notes = [tests]
    if (shown["n"] < shown["n_expected"]).any():
        notes.append(f"Tests use the pairs that the method shares with {_escape(METHODS[reference].label)}.")
    return notes


def _escape(text: str) -> str:
    return "".join(_SPECIALS.get(character, character) for character in text)
