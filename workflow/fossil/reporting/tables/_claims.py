"""Tables of the ledger: claims in words, the paper against itself, its theory, and numbers counted by table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from fossil.claims.ledger import CHECK, CLAIM, NUMBER, STATEMENT
from fossil.claims.verdicts import CONSISTENT, CONTRADICTED
from fossil.reporting.claims import ORDER
from fossil.reporting.tables._latex import environment, escape, row, tabular

_LINES_A_PAGE = 58
"""Lines of text that a table on one page may have."""

_WIDTHS = {CLAIM: (34, 20, 64), CHECK: (34, 14, 60), STATEMENT: (48, 20, 48)}
"""Letters in a line of each column of text, about."""

_SHARES = {CLAIM: (0.28, 0.15, 0.47), CHECK: (0.30, 0.11, 0.49), STATEMENT: (0.38, 0.14, 0.38)}
"""Their widths, as shares of the page's."""


def claims_tables(ledger: pd.DataFrame) -> str:
    """Format the ledger as LaTeX tables, each of which fits a page.

    All claims and statements are listed, and the checks that do not agree. Numbers are counted by table; the other
    files of the ledger list each of them.
    """
    claims = ledger[ledger["kind"] == CLAIM]
    checks = ledger[(ledger["kind"] == CHECK) & (ledger["verdict"] != CONSISTENT)]
    agreeing = int(((ledger["kind"] == CHECK) & (ledger["verdict"] == CONSISTENT)).sum())
    statements = ledger[ledger["kind"] == STATEMENT]
    parts = [
        *_text_tables(
            CLAIM,
            [(f"{e.claim} (line {e.line:.0f})", _verdict(e), _evidence(e)) for e in claims.itertuples()],
            caption="Claims that the paper makes in words",
            heads=("Claim", "Verdict", "Measured; in print; remarks"),
            note="Held: beyond chance. Held in direction only: of the right sign. Orders, preferred options, equal "
            "scores and gains in every run are judged by rule, without a test of chance.",
        ),
        *_text_tables(
            CHECK,
            [(f"{e.claim} (line {e.line:.0f})", e.verdict, e.reported) for e in checks.itertuples()],
            caption="The paper against itself: checks that fail, or that cannot tell",
            heads=("What must hold", "Verdict", "Found"),
            note=f"{agreeing} more checks agree.",
        ),
        *_text_tables(
            STATEMENT,
            [(f"{e.place}: {e.claim}", e.verdict, _text(e.how)) for e in statements.itertuples()],
            caption="Statements of the paper's theory",
            heads=("Statement", "Verdict", "What holds instead, or is needed besides"),
            note="The evidence of each is in theory.csv.",
        ),
        _numbers_table(ledger[ledger["kind"] == NUMBER]),
    ]
    return "\n".join(parts)


def _text_tables(
    kind: str, entries: Sequence[tuple[str, ...]], *, caption: str, heads: tuple[str, ...], note: str
) -> list[str]:
    """Break entries into tables of a page each; the first has the label of all, and the last the note."""
    pages = _pages(kind, entries)
    columns = "".join(rf"p{{{share}\linewidth}}" for share in _SHARES[kind])
    tables = []
    for number, page in enumerate(pages):
        rows = [row(map(escape, entry), below="2pt") for entry in page]
        body = tabular(f"@{{}}{columns}@{{}}", [row(heads), r"\midrule", *rows])
        part = f" ({number + 1} of {len(pages)})" if len(pages) > 1 else ""
        label = f"claims-{kind}" + (f"-{number + 1}" if number else "")
        last = number == len(pages) - 1
        tables.append(
            environment(caption=f"{caption}{part}.", label=label, body=body, notes=[note] if last else [], gap=3.0)
        )
    return tables


def _pages(kind: str, entries: Iterable[tuple[str, ...]]) -> list[list[tuple[str, ...]]]:
    pages: list[list[tuple[str, ...]]] = [[]]
    used = 0
    for entry in entries:
        lines = 1 + max(len(text) // width for text, width in zip(entry, _WIDTHS[kind], strict=True))
        if pages[-1] and used + lines > _LINES_A_PAGE:
            pages.append([])
            used = 0
        pages[-1].append(entry)
        used += lines
    return pages


def _numbers_table(numbers: pd.DataFrame) -> str:
    verdicts = ORDER[NUMBER]
    counted = pd.crosstab(numbers["table"], numbers["verdict"]).reindex(columns=list(verdicts), fill_value=0)
    counted = counted.loc[list(dict.fromkeys(numbers["table"]))]
    lines = [
        row(["Table", *map(escape, verdicts), "all"]),
        r"\midrule",
        *(row([escape(str(name)), *map(str, counts), str(sum(counts))]) for name, *counts in counted.itertuples()),
        r"\midrule",
        row(["all", *(str(counted[verdict].sum()) for verdict in verdicts), str(len(numbers))]),
    ]
    body = tabular(f"l{'r' * (len(verdicts) + 1)}", lines)
    note = (
        "SD: reported standard deviations over runs, between reported and measured mean of a cell. p-values are "
        "compared with .05, and say nothing where so few runs cannot give one below. claims.csv and claims.md list "
        "each number."
    )
    caption = "The numbers of the paper's tables, against what was measured in the same cell."
    return environment(caption=caption, label="claims-number", body=body, notes=[escape(note)], gap=4.0)


def _verdict(entry: Any) -> str:
    verdict, measured = entry.verdict, entry.measured_verdict
    return f"{verdict}; measured: {measured}" if verdict == CONTRADICTED else verdict


def _evidence(entry: Any) -> str:
    printed = _text(entry.reported)
    note = _text(entry.how)
    return "; ".join(filter(None, [_text(entry.measured), f"in print: {printed}" if printed else "", note.rstrip(".")]))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
