"""The ledger of the paper's claims, counted in a sentence and as a page to read."""

from __future__ import annotations

from collections.abc import Iterator

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
"""Verdicts on each kind of row, in the order in which they are told."""

BEGIN, END = "<!-- claims: written by make readme -->", "<!-- end of claims -->"
"""Marks in the README between which the summary stands."""


def counts(ledger: pd.DataFrame, kind: str) -> dict[str, int]:
    """Count the verdicts on one kind of row, those that do not occur included."""
    found = ledger.loc[ledger["kind"] == kind, "verdict"].value_counts()
    return {verdict: int(found.get(verdict, 0)) for verdict in ORDER[kind]}


def summary(ledger: pd.DataFrame) -> str:
    """Say in one paragraph what became of the paper's claims, its numbers, its theory, and of it against itself."""
    claims, numbers = counts(ledger, CLAIM), counts(ledger, NUMBER)
    statements, checks = counts(ledger, STATEMENT), counts(ledger, CHECK)
    decided = sum(numbers.values()) - numbers[NOT_RUN]
    words, checked = _plural(sum(claims.values()), "reading"), _plural(sum(checks.values()), "check")
    theory = _plural(sum(statements.values()), "statement")
    return (
        f"Of {words} of the paper's claims in words {claims[HELD]} held, {claims[DIRECTION]} held in direction only, "
        f"{claims[NOT_HELD]} did not hold, {claims[CONTRADICTED]} are contradicted by the paper's own tables, and "
        f"{claims[NOT_RUN]} were not run. Of its {sum(numbers.values())} numbers {decided} were measured: "
        f"{numbers[WITHIN_1]} are within one reported deviation, {numbers[WITHIN_2]} within two, {numbers[BEYOND]} "
        f"beyond; of the p-values {numbers[SAME_SIDE]} are on the same side of .05, {numbers[OTHER_SIDE]} are not, and "
        f"{numbers[EMPTY]} say nothing, since so few runs cannot give one below. "
        f"Of {theory} of its theory {statements['verified']} were verified, "
        f"{statements['verified in corrected form']} in corrected form, and {statements['refuted']} refuted. "
        f"Of {checked} of the paper against itself {checks[INCONSISTENT]} failed."
    )


def page(ledger: pd.DataFrame) -> str:
    """Write the whole ledger as Markdown: the summary, and a table of each kind of row."""
    lines = ["# What became of the paper's claims", "", summary(ledger), "", *_READING, ""]
    lines += ["## In words", "", *_words(ledger), "", "## The paper against itself", "", *_checks(ledger), ""]
    lines += ["## Theory", "", *_statements(ledger), "", "## Numbers", "", *_numbers(ledger)]
    return "\n".join(lines) + "\n"


def with_summary(readme: str, ledger: pd.DataFrame) -> str:
    """Put the summary between its marks in a README.

    Raises
    ------
    ValueError
        Where the README lacks the marks.
    """
    return put_between(readme, f"{summary(ledger)}\n", begin=BEGIN, end=END, file="README.md")


_READING = (
    "**Held**: every part of the claim is there and beyond chance (exact Wilcoxon test, p < .05 against every row "
    "that is compared; where models were trained in folds the t-test corrected for shared training images, unless "
    "the claim names Wilcoxon's; of amounts and of what is kept, the t-interval of the difference). **In direction "
    "only**: it is there, and chance may have made it. **Contradicted**: the paper's own means or p-values "
    "disagree with it; what was measured stands beside it. **Not run**: nothing was measured that could tell, "
    "which is so of everything that the paper claims of photographs as long as the images are phantom. Claims "
    "about orders of methods, preferred options, equal scores and gains in every run are held where their rule is "
    "met; there is no test of chance in them.",
    "",
    "Numbers are held against the mean of the runs in the same cell. The reported deviations are over runs, so "
    "that two means of many runs are seldom more than one deviation apart by chance alone; the column *in SE* counts "
    "standard errors of their difference, beyond 2 of which about one cell in twenty is by chance. *Nearest* is "
    "the reading of the paper's row that comes closest, where there are several.",
)


def _words(ledger: pd.DataFrame) -> Iterator[str]:
    claims = ledger[ledger["kind"] == CLAIM]
    yield from _head("Line", "Claim", "Verdict", "Measured", "In print")
    for entry in claims.itertuples():
        verdict = entry.verdict
        if verdict == CONTRADICTED:
            verdict += f" (measured: {entry.measured_verdict})"
        claim = ". ".join(filter(None, [entry.claim, _said(entry.how).rstrip(".")])) + ("." if _said(entry.how) else "")
        yield _row(f"{entry.line:.0f}, {entry.place}", claim, verdict, _said(entry.measured), _said(entry.reported))


def _checks(ledger: pd.DataFrame) -> Iterator[str]:
    checks = ledger[ledger["kind"] == CHECK]
    yield from _head("Line", "What must hold", "Verdict", "Found", "Check")
    for verdict in ORDER[CHECK]:
        for entry in checks[checks["verdict"] == verdict].itertuples():
            yield _row(f"{entry.line:.0f}", entry.claim, entry.verdict, _said(entry.reported), entry.id)


def _statements(ledger: pd.DataFrame) -> Iterator[str]:
    yield from _head("Place", "Statement", "Verdict", "What holds instead", "Evidence")
    for entry in ledger[ledger["kind"] == STATEMENT].itertuples():
        yield _row(entry.place, entry.claim, entry.verdict, _said(entry.how), _said(entry.measured))


def _numbers(ledger: pd.DataFrame) -> Iterator[str]:
    yield from _head("Line", "Cell", "Reported", "Measured", "Verdict", "in SD", "in SE", "Row", "Nearest", "How")
    numbers = ledger[ledger["kind"] == NUMBER]
    for entry in numbers.itertuples():
        reported = " ± ".join(filter(None, [str(entry.reported), _said(entry.reported_std)]))
        measured = " ± ".join(filter(None, [_number(entry.measured), _number(entry.measured_std)]))
        nearest = (
            f"{_number(entry.nearest)} ({entry.nearest_row})" if _said(entry.nearest_row) != _said(entry.row) else ""
        )
        cells = [f"{entry.line:.0f}", f"{entry.table}, {entry.claim}", reported, measured, entry.verdict]
        cells += [_number(entry.in_sd, 1), _number(entry.in_se, 1), _said(entry.row), nearest, _said(entry.how)]
        yield _row(*cells)


def _head(*names: str) -> list[str]:
    return [_row(*names), _row(*["---"] * len(names))]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _said(value: object) -> str:
    """Text of a cell of the ledger; what is missing is "" also where a file was read."""
    return value if isinstance(value, str) else "" if value is None or pd.isna(value) else str(value)


def _number(value: object, decimals: int = 3) -> str:
    return "" if value is None or pd.isna(value) else f"{float(value):.{decimals}f}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
