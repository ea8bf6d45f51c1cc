"""Print of a table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fossil.config import METHODS
from fossil.reporting.tables.summary import P_COLUMNS, TESTED, Column

_SPECIALS = {character: rf"\{character}" for character in "&%$#_{}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}


FOOTNOTES = {
    "static_inverted": r"$^\dagger$ Weights follow the class frequency instead of its inverse; shown only because the "
    "paper's Static row fits this reading.",
}
"""What is to be said of a method under every table that has it, in LaTeX."""

_LEARNT = (
    r"$^\ddagger$ Learns its weights on the validation split, where regrets are measured: they flatter this method."
)


def table_environment(
    summary: pd.DataFrame,
    columns: tuple[Column, ...],
    *,
    caption: str,
    label: str,
    groups: list[tuple[int, str]],
    notes: list[str],
) -> str:
    """Make a LaTeX table environment that needs booktabs only.

    Bold is the best mean of a column at the printed precision, ties included. It is computed, and p-values have none.

    Parameters
    ----------
    summary : DataFrame
        From `summarise`.
    groups : list of (int, str)
        How many columns, metrics first and then the three p-values, stand under which common heading.
    notes : list of str
        Sentences under the table, in LaTeX; empty ones are left out.
    """
    over, rules, first = [""], "", 2
    for width, heading in groups:
        over.append(rf"\multicolumn{{{width}}}{{c}}{{{heading}}}")
        rules += rf"\cmidrule(lr){{{first}-{first + width - 1}}}"
        first += width
    lines = [
        r"\begin{table}[!ht]",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{label}}}",
        r"\smallskip\scriptsize",
        r"\setlength{\tabcolsep}{3pt}",
        rf"\begin{{tabular}}{{@{{}}l{'c' * (len(columns) + len(P_COLUMNS))}@{{}}}}",
        r"\toprule",
        " & ".join(over) + r" \\",
        rules,
        " & ".join(["Method", *(column.heading for column in columns), "Wilc.", "Perm.", "Holm"]) + r" \\",
        r"\midrule",
        *_body(summary, columns),
        r"\bottomrule",
        r"\end{tabular}",
        "",
        r"\smallskip",
        rf"\parbox{{\linewidth}}{{\scriptsize {' '.join([*filter(None, notes), *_footnotes(summary)])}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def runs_sentence(metrics: pd.DataFrame, summary: pd.DataFrame) -> str:
    """Say over how many runs the means are, of how many folds and seeds."""
    runs = metrics[metrics["method"].isin(summary["method"])]
    folds, seeds, expected = runs["fold"].nunique(), runs["seed"].nunique(), int(summary["n_expected"].iloc[0])
    counted = f"{folds} folds $\\times$ {seeds} seeds" if folds else f"{seeds} seeds"
    sentence = rf"Mean $\pm$ standard deviation over {counted} ($n$ = {expected}); the best mean of a column is bold."
    if (summary["n"] < summary["n_expected"]).any():
        sentence += " Runs are missing: such rows give their own $n$."
    return sentence


def notes_on_tests(summary: pd.DataFrame, statistics: pd.DataFrame, *, reference: str) -> list[str]:
    """Say what the p-values are, and where tests had fewer pairs than planned."""
    if len(summary) < 2:
        return []
    shown = statistics[(statistics["metric"] == TESTED) & statistics["method"].isin(summary["method"])]
    flips = "exact" if shown["exact"].all() else "with random flips where 2$^n$ are too many"
    tests = (
        f"$p$-values are two-sided and of BalAcc: Wilcoxon signed-rank and sign-flip permutation test ({flips}), "
        f"and Holm's correction of the former over {len(summary) - 1} methods, all but the reference."
    )
    notes = [tests]
    if (shown["n"] < shown["n_expected"]).any():
        notes.append(f"Tests use the pairs that the method shares with {escape(METHODS[reference].label)}.")
    return notes


def p_heading(reference: str) -> str:
    """Heading of the p-values."""
    return f"$p$ against {escape(METHODS[reference].label)}"


def escape(text: str) -> str:
    """Plain text as LaTeX."""
    return "".join(_SPECIALS.get(character, character) for character in text)


def _footnotes(summary: pd.DataFrame) -> list[str]:
    notes = [note for method, note in FOOTNOTES.items() if method in set(summary["method"])]
    return notes + [_LEARNT] * any(METHODS[method].learns_on_validation for method in summary["method"])


def _body(summary: pd.DataFrame, columns: tuple[Column, ...]) -> list[str]:
    """Two lines a method: means and p-values, and below them deviations."""
    upper = [_label_cells(summary), *(_mean_cells(summary, column) for column in columns)]
    upper += [[_p_cell(p) for p in summary[name]] for name in P_COLUMNS]
    lower = [_count_cells(summary), *(_deviation_cells(summary, column) for column in columns)]
    return [
        " & ".join(means) + " \\\\\n" + " & ".join(deviations) + r" \\[2pt]"
        for means, deviations in zip(zip(*upper, strict=True), zip(*lower, strict=True), strict=True)
    ]


def _label_cells(summary: pd.DataFrame) -> list[str]:
    return [escape(row.label) + _mark(row.method) for row in summary.itertuples()]


def _mark(method: str) -> str:
    if method in FOOTNOTES:
        return r"$^\dagger$"
    return r"$^\ddagger$" if METHODS[method].learns_on_validation else ""


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


def _p_cell(p: float) -> str:
    if np.isnan(p):
        return "--"
    return f"{p:.3f}" if p >= 0.0005 else "$<$0.001"


def _decimal(value: float, decimals: int) -> str:
    return "" if np.isnan(value) else f"{value:.{decimals}f}"
