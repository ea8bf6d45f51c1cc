"""LaTeX of cells, rows and the environment around them; needs booktabs only."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from fossil.config.methods import METHODS
from fossil.evaluation.metrics import Best
from fossil.evaluation.p_values import p_text

_SPECIALS = {character: rf"\{character}" for character in "&%$#_{}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "<": "$<$",
    ">": "$>$",
}

_FOOTNOTES = {
    "static_inverted": r"$^\dagger$ Weights follow the class frequency instead of its inverse.",
}

_LEARNT = r"$^\ddagger$ Learns its weights on the validation split."


class TableError(ValueError):
    """A table cannot be made of these results; the message says what is missing."""


LABEL_WIDTH = 19
"""Letters of a row's label in one line; what is longer breaks."""

NOTHING = "--"
"""Cell without a value."""


def environment(
    *,
    caption: str,
    label: str,
    body: Sequence[str],
    notes: Iterable[str],
    gap: float,
) -> str:
    r"""Return a table environment.

    Parameters
    ----------
    caption, notes : str, iterable of str
        LaTeX; empty notes are left out.
    body : sequence of str
        Lines: tabular environments and what stands between them.
    gap : float
        Half of the space between columns, in points.
    """
    lines = [
        r"\begin{table}[!ht]",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{label}}}",
        r"\smallskip\scriptsize",
        rf"\setlength{{\tabcolsep}}{{{gap:g}pt}}",
        r"\renewcommand{\arraystretch}{0.85}",
        *body,
        "",
        r"\smallskip",
        rf"\parbox{{\linewidth}}{{\scriptsize {' '.join(filter(None, notes))}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def tabular(columns: str, lines: Iterable[str]) -> list[str]:
    """Return lines as a tabular environment with a rule above and below."""
    return [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *lines, r"\bottomrule", r"\end{tabular}"]


def row(cells: Iterable[str], *, below: str = "") -> str:
    r"""Return cells as a row; ``below`` is extra space such as "2pt"."""
    return " & ".join(cells) + r" \\" + (f"[{below}]" if below else "")


def spanning(width: int, text: str, *, align: str = "c") -> str:
    """Return a cell that spans columns."""
    return rf"\multicolumn{{{width}}}{{{align}}}{{{text}}}"


def groups_over(groups: Sequence[tuple[int, str]], *, name: str = "") -> list[str]:
    """Return headings of groups of columns, from the second on, with rules under those that have a text.

    ``name`` stands over the first column.
    """
    cells, rules, first = [name], "", 2
    for width, text in groups:
        cells.append(spanning(width, text))
        rules += rf"\cmidrule(lr){{{first}-{first + width - 1}}}" if text else ""
        first += width
    return [row(cells), rules]


def stacked(heading: str) -> str:
    r"""Return a heading that ``\\`` breaks, with its last line level with the others."""
    return rf"\shortstack{{{heading}}}" if r"\\" in heading else heading


def number(value: float, decimals: int) -> str:
    """Format a number; "" for NaN."""
    return "" if np.isnan(value) else f"{value:.{decimals}f}"


def mean_cells(values: Iterable[float], *, decimals: int, best: Best) -> list[str]:
    """Format means, the best of them at the printed precision bold, ties included; none where most of them tie."""
    texts = [number(value, decimals) for value in values]
    numbers = [float(text) for text in texts if text]
    extreme = None if best == "none" else (min if best == "lowest" else max)(numbers, default=None)
    told_apart = extreme is None or 2 * numbers.count(extreme) <= len(texts)
    bold = [bool(text) and told_apart and float(text) == extreme for text in texts]
    return [rf"\textbf{{{text}}}" if of_best else text or NOTHING for text, of_best in zip(texts, bold, strict=True)]


def deviation_cell(text: str) -> str:
    """Format what stands below a mean; "" stays empty."""
    return rf"{{\tiny $\pm${text}}}" if text else ""


def entry_lines(
    entry: pd.Series, upper: Iterable[str], lower: Iterable[str], *, label_width: int = LABEL_WIDTH
) -> list[str]:
    """Format a row of a summary in two lines, means and below them deviations, or more where its label is long.

    Parameters
    ----------
    entry : Series
        method, label, n, n_expected; where runs lack the label says how many there are.
    upper, lower : iterable of str
        Cells to the right of the label.
    label_width : int
        Letters of the label in one line.
    """
    labels = [escape(line) for line in textwrap.wrap(entry.label, label_width)]
    labels[-1] += mark(entry.method)
    if entry.n < entry.n_expected:
        labels.append(rf"{{\tiny $n$ = {entry.n} of {entry.n_expected}}}")
    first, second, *further = [*labels, *[""] * (2 - len(labels))]
    return [row([first, *upper]), row([second, *lower]), *(row([line]) for line in further), r"\addlinespace[1.5pt]"]


def p_cell(p: float) -> str:
    """Format a p-value; `NOTHING` for NaN."""
    return NOTHING if np.isnan(p) else escape(p_text(p))


def signed(value: float, decimals: int) -> str:
    """Format a difference with its sign; `NOTHING` for NaN."""
    if np.isnan(value):
        return NOTHING
    text = f"{value:.{decimals}f}"
    # What rounds to zero has no sign.
    return text.lstrip("-") if float(text) == 0 else f"$-${text[1:]}" if value < 0 else f"+{text}"


def escape(text: str) -> str:
    """Return plain text as LaTeX."""
    return "".join(_SPECIALS.get(character, character) for character in text)


def mark(method: str) -> str:
    """Return the sign that leads from a method's label to its footnote."""
    if method in _FOOTNOTES:
        return r"\smash{$^\dagger$}"
    return r"\smash{$^\ddagger$}" if METHODS[method].uses_validation_split else ""


def footnotes(methods: Iterable[str]) -> list[str]:
    """Return what the signs at the labels of methods mean."""
    present = set(methods)
    notes = [note for method, note in _FOOTNOTES.items() if method in present]
    return notes + [_LEARNT] * any(METHODS[method].uses_validation_split for method in present)
