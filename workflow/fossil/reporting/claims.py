"""The ledger of the paper's claims: a table of five rows for the README, and a page to read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from fossil.claims.ledger import CHECK, CLAIM, NUMBER, STATEMENT
from fossil.claims.verdicts import (
    BEYOND,
    CONSISTENT,
    CONTRADICTED,
    DIRECTION,
    EMPTY,
    HELD,
    INCONSISTENT,
    NOT_HELD,
    NOT_RUN,
    OTHER_SIDE,
    SAME_SIDE,
    WITHIN_1,
    WITHIN_2,
)
from fossil.reporting.marked import put_between

ORDER = {
    CLAIM: (HELD, DIRECTION, NOT_HELD, CONTRADICTED, NOT_RUN),
    CHECK: (INCONSISTENT, EMPTY, CONSISTENT),
    STATEMENT: ("verified", "verified in corrected form", "refuted"),
    NUMBER: (WITHIN_1, WITHIN_2, BEYOND, SAME_SIDE, OTHER_SIDE, EMPTY, NOT_RUN),
}
"""Verdicts on each kind of row, in the order in which tables list them."""

BEGIN, END = "<!-- claims: written by make readme -->", "<!-- end of claims -->"
"""Marks in the README between which the table of verdicts stands."""

_HEADS = ("What the paper says", "All", "Agrees", "In part", "Disagrees", "Undecided")
_CLAIMS = "Claims in words"
_NUMBERS = "Numbers"
_P_VALUES = "p-values"
_THEORY = "Statements of the theory"
_CHECKS = "The paper against itself"

# By row: the texts of the verdicts in each of the last four columns.
_VERDICT_CELLS: dict[str, tuple[dict[str, str], ...]] = {
    _CLAIMS: (
        {HELD: "held"},
        {DIRECTION: "in direction only"},
        {NOT_HELD: "not held", CONTRADICTED: "contradicted by its own tables"},
        {NOT_RUN: "not run"},
    ),
    _NUMBERS: (
        {WITHIN_1: "within 1 reported SD"},
        {WITHIN_2: "within 2"},
        {BEYOND: "beyond 2"},
        {NOT_RUN: "not run"},
    ),
    _P_VALUES: (
        {SAME_SIDE: "on the same side of .05"},
        {},
        {OTHER_SIDE: "on the other side"},
        {EMPTY: "of too few runs for .05", NOT_RUN: "not run"},
    ),
    _THEORY: (
        {"verified": "verified"},
        {"verified in corrected form": "in corrected form"},
        {"refuted": "refuted"},
        {},
    ),
    _CHECKS: ({CONSISTENT: "consistent"}, {}, {INCONSISTENT: "inconsistent"}, {EMPTY: "cannot tell"}),
}


def verdict_table(ledger: pd.DataFrame) -> str:
    """Count the verdicts on claims, numbers, p-values, theory and self-checks, as a Markdown table of five rows."""
    kinds = ledger["kind"]
    is_p = ledger["metric"].astype("string").str.startswith("p_").fillna(False).astype(bool)
    rows = {
        _CLAIMS: kinds == CLAIM,
        _NUMBERS: (kinds == NUMBER) & ~is_p,
        _P_VALUES: (kinds == NUMBER) & is_p,
        _THEORY: kinds == STATEMENT,
        _CHECKS: kinds == CHECK,
    }
    lines = _head(*_HEADS)
    for name, chosen in rows.items():
        verdicts = ledger.loc[chosen, "verdict"].value_counts()
        lines.append(_row(name, str(int(chosen.sum())), *(_counted(verdicts, cell) for cell in _VERDICT_CELLS[name])))
    return "\n".join(lines)


def _counted(verdicts: pd.Series, texts: dict[str, str]) -> str:
    """Format how often each verdict of a cell occurs: those that occur, or the first; "-" where there is none."""
    counts = {text: int(verdicts.get(verdict, 0)) for verdict, text in texts.items()}
    kept = {text: count for text, count in counts.items() if count} or dict(list(counts.items())[:1])
    return ", ".join(f"{count} {text}" for text, count in kept.items()) or "-"


def page(ledger: pd.DataFrame) -> str:
    """Format the whole ledger as Markdown: the table of verdicts, and a table of each kind of row."""
    lines = ["# The paper's claims", "", verdict_table(ledger), "", *_READING, ""]
    lines += ["## In words", "", *_words(ledger), "", "## The paper against itself", "", *_checks(ledger), ""]
    lines += ["## Theory", "", *_statements(ledger), "", "## Numbers", "", *_numbers(ledger)]
    return "\n".join(lines) + "\n"


def with_verdict_table(readme: str, ledger: pd.DataFrame) -> str:
    """Put the table of verdicts between its marks in a README.

    Raises
    ------
    ValueError
        Where the README lacks the marks.
    """
    return put_between(readme, f"{verdict_table(ledger)}\n", begin=BEGIN, end=END, file="README.md")


_READING = (
    "- **Held**: every part of the claim holds beyond chance, at the level `statistics.alpha` against every row "
    "compared. The test is the exact Wilcoxon test, unless the claim names another. Where models were trained in folds "
    "it is the t-test corrected for shared training images. Amounts, and what is kept, are judged by the t-interval of "
    "the difference.",
    "- **In direction only**: the sign is right, and chance may explain it.",
    "- **Contradicted**: the paper's own means or p-values disagree. What was measured stands next to it.",
    "- **Not run**: no measured run can tell. So it is for claims about photographs as long as the images are phantom.",
    "- Orders of methods, preferred options, equal scores and gains in every run are judged by rule, without a test of "
    "chance.",
    "- A number is compared with the mean of the runs in the same cell. Reported deviations are over runs, so that two "
    "means of many runs seldom differ by more than one of them. *In SE* counts standard errors of the difference: "
    "about one cell in twenty is beyond 2 by chance. *Nearest* is the closest of several readings of the paper's row.",
)


def _words(ledger: pd.DataFrame) -> Iterator[str]:
    claims = ledger[ledger["kind"] == CLAIM]
    yield from _head("Line", "Claim", "Verdict", "Measured", "In print")
    for entry in claims.itertuples():
        verdict = entry.verdict
        if verdict == CONTRADICTED:
            verdict += f" (measured: {entry.measured_verdict})"
        claim = ". ".join(filter(None, [entry.claim, _cell(entry.how).rstrip(".")])) + ("." if _cell(entry.how) else "")
        yield _row(f"{entry.line:.0f}, {entry.place}", claim, verdict, _cell(entry.measured), _cell(entry.reported))


def _checks(ledger: pd.DataFrame) -> Iterator[str]:
    checks = ledger[ledger["kind"] == CHECK]
    yield from _head("Line", "What must hold", "Verdict", "Found", "Check")
    for verdict in ORDER[CHECK]:
        for entry in checks[checks["verdict"] == verdict].itertuples():
            yield _row(f"{entry.line:.0f}", entry.claim, entry.verdict, _cell(entry.reported), entry.id)


def _statements(ledger: pd.DataFrame) -> Iterator[str]:
    yield from _head("Place", "Statement", "Verdict", "What holds instead", "Evidence")
    for entry in ledger[ledger["kind"] == STATEMENT].itertuples():
        yield _row(entry.place, entry.claim, entry.verdict, _cell(entry.how), _cell(entry.measured))


def _numbers(ledger: pd.DataFrame) -> Iterator[str]:
    yield from _head("Line", "Cell", "Reported", "Measured", "Verdict", "in SD", "in SE", "Row", "Nearest", "How")
    numbers = ledger[ledger["kind"] == NUMBER]
    for entry in numbers.itertuples():
        reported = " ± ".join(filter(None, [str(entry.reported), _cell(entry.reported_std)]))
        measured = " ± ".join(filter(None, [_number(entry.measured), _number(entry.measured_std)]))
        nearest = (
            f"{_number(entry.nearest)} ({entry.nearest_row})" if _cell(entry.nearest_row) != _cell(entry.row) else ""
        )
        cells = [f"{entry.line:.0f}", f"{entry.table}, {entry.claim}", reported, measured, entry.verdict]
        cells += [
            _number(entry.in_sd, 1),
            _number(entry.in_se, 1),
            _cell(entry.row),
            nearest,
            _cell(entry.how),
        ]
        yield _row(*cells)


def _head(*names: str) -> list[str]:
    return [_row(*names), _row(*["---"] * len(names))]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _cell(value: object) -> str:
    """Return the text of a cell of the ledger; "" where it is missing."""
    return value if isinstance(value, str) else "" if value is None or pd.isna(value) else str(value)


def _number(value: Any, decimals: int = 3) -> str:
    return "" if value is None or pd.isna(value) else f"{float(value):.{decimals}f}"
