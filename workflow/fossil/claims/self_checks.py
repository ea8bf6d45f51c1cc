"""Consistency of the paper with itself: each row of the file of self-checks, tested on the paper's numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from string import Formatter
from typing import Annotated, Any

import numpy as np
import pandas as pd
import yaml
from pydantic import Field, ValidationError

from fossil.claims.expressions import ExpressionError, evaluate
from fossil.claims.reported import PAPER_LEVEL, Paper, ReportedMean
from fossil.claims.verdicts import CONSISTENT, EMPTY, INCONSISTENT
from fossil.config.strict import Strict

RowKey = tuple[str, ...]
"""Table, imbalance ratio, method and variant."""


class ChecksError(ValueError):
    """The list of self-checks cannot be used; the message names the entry."""


class Corners(Strict):
    """An expression, evaluated where some metrics are at either end of what rounds to them."""

    of: str
    corners: list[str]


class Note(Strict):
    """A text that is added where its condition is true."""

    when: str
    text: str


class Check(Strict):
    """A condition on the paper's numbers; the file of self-checks explains each key."""

    id: str
    line: int | str
    rule: str
    over: list[dict[str, Any]] = Field([{}])
    each: bool = False
    having: list[str] = Field([])
    place: str = ""
    metrics: list[str] = Field([])
    aliases: dict[str, str] = Field({})
    numbers: dict[str, Annotated[list[str], Field(min_length=2, max_length=5)]] = Field({})
    let: dict[str, str | Corners] = Field({})
    holds: str
    says_nothing: str = ""
    found: str
    row_text: str = ""
    notes: list[Note] = Field([])


class Checks(Strict):
    """All checks, as their file lists them."""

    checks: list[Check]


@dataclass(frozen=True)
class Finding:
    """The outcome of a check: its name, the line of the paper, what must hold, the numbers, and the verdict.

    The verdict is "consistent", "inconsistent", or "says nothing" where it could not be otherwise.
    """

    name: str
    line: int
    rule: str
    found: str
    verdict: str


def read_checks(path: Path) -> list[Check]:
    """Read the list of self-checks (YAML).

    Raises
    ------
    ChecksError
        Where an entry is wrong.
    """
    try:
        return Checks.model_validate(yaml.safe_load(path.read_text(encoding="utf-8"))).checks
    except (ValidationError, yaml.YAMLError) as error:
        raise ChecksError(f"{path}: {error}") from None


def run_checks(checks: Sequence[Check], paper: Paper, text: pd.DataFrame) -> Iterator[Finding]:
    """Run every check.

    Parameters
    ----------
    text : DataFrame
        Numbers of the paper's text: place, line, quantity, value.
    """
    quantities = {(entry.place, entry.quantity): entry.value for entry in text.itertuples()}
    for check in checks:
        try:
            for entry in check.over:
                yield from _findings(check, {"ratio": None, "metrics": check.metrics} | entry, paper, quantities)
        except (ExpressionError, KeyError) as error:
            raise ChecksError(f"self-check {check.id!r}: {error}") from None


def _findings(
    check: Check, entry: Mapping[str, Any], paper: Paper, quantities: Mapping[tuple[str, str], str]
) -> Iterator[Finding]:
    rows = _rows(check, entry, paper)
    for group in [[row] for row in rows] if check.each else [rows]:
        names = _names(check, entry, group, paper, quantities)
        for name, rule in check.let.items():
            names[name] = evaluate(rule, names) if isinstance(rule, str) else _at_corners(rule, names)
        empty = bool(check.says_nothing) and evaluate(check.says_nothing, names)
        held = evaluate(check.holds, names)
        names["rows"] = ", ".join(_text(check.row_text, _of_row(names, k)) for k in range(len(group)))
        notes = [_text(note.text, names) for note in check.notes if evaluate(note.when, names)]
        yield Finding(
            name="-".join(_text(check.id, names).lower().split()),
            line=int(evaluate(str(check.line), names)),
            rule=_text(check.rule, names),
            found=_text(check.found, names) + "".join(notes),
            verdict=EMPTY if empty else CONSISTENT if held else INCONSISTENT,
        )


def _rows(check: Check, entry: Mapping[str, Any], paper: Paper) -> list[RowKey]:
    """Return the rows of the entry's tables that report every required metric, in the paper's order."""
    tables = entry.get("table", [])
    tables = [tables] if isinstance(tables, str) else tables
    keys = dict.fromkeys(
        (table, ratio, *name)
        for table, ratio, _, *name in paper.cells
        if table in tables and entry["ratio"] in (None, ratio)
    )
    return [key for key in keys if all(_cell(paper, key, metric) for metric in check.having)]


def _cell(paper: Paper, key: Sequence[str], metric: str) -> ReportedMean | None:
    table, ratio, *name = key
    return paper.cells.get((table, ratio, metric, *name))


def _names(
    check: Check,
    entry: Mapping[str, Any],
    rows: Sequence[RowKey],
    paper: Paper,
    quantities: Mapping[tuple[str, str], str],
) -> dict[str, Any]:
    """Collect the values that expressions and texts of a check may name."""
    names: dict[str, Any] = {
        "paper_level": PAPER_LEVEL,
        **entry,
        "ratio": entry["ratio"] or "",
        "at": f"{entry['ratio']}:1" * bool(entry["ratio"]),
    }
    names |= {quantity: float(value) for (place, quantity), value in quantities.items() if place == check.place}
    columns: dict[str, list[Any]] = {
        "method": [method for *_, method, _ in rows],
        "variant": [variant for *_, variant in rows],
        "alias": [check.aliases.get(method, method) for *_, method, _ in rows],
    }
    for metric in dict.fromkeys(metric for _, _, metric, *_ in paper.cells) if rows else ():
        cells = [_cell(paper, row, metric) for row in rows]
        columns[metric] = [cell.mean if cell else np.nan for cell in cells]
        columns[f"{metric}_std"] = [cell.std if cell else np.nan for cell in cells]
        columns[f"{metric}_unit"] = [cell.unit if cell else np.nan for cell in cells]
        columns[f"{metric}_low"] = [cell.mean - cell.unit / 2 if cell else np.nan for cell in cells]
        columns[f"{metric}_high"] = [cell.mean + cell.unit / 2 if cell else np.nan for cell in cells]
        columns[f"{metric}_bound"] = [bool(cell and cell.is_bound) for cell in cells]
    columns["line"] = [paper.line_of(row) for row in rows]
    for name, reference in check.numbers.items():
        filled = [_reference(reference, names | _of_row(columns, k)) for k in range(len(rows))]
        by_row = bool(rows) and any("{method}" in part or "{alias}" in part for part in reference)
        values = [_number(one, entry["metrics"], paper, quantities) for one in filled] if by_row else []
        if by_row:
            columns[name] = values
        else:
            names[name] = _number(_reference(reference, names), entry["metrics"], paper, quantities)
    return names | {name: values[0] if check.each else np.array(values) for name, values in columns.items()}


def _reference(reference: Sequence[str], names: Mapping[str, Any]) -> list[str]:
    return [_text(part, names) if "{" in part else part for part in reference]


def _number(
    reference: Sequence[str], metrics: Sequence[str], paper: Paper, quantities: Mapping[tuple[str, str], str]
) -> Any:
    """Return a number of the paper's text or a mean of its tables, NaN if missing; without a metric an array."""
    if len(reference) == 2:
        return float(quantities[reference[0], reference[1]])
    *key, metric = reference if len(reference) == 5 else (*reference, "")
    if not metric:
        return np.array([_number([*key, one], metrics, paper, quantities) for one in metrics])
    if metric == "line":
        return paper.line_of(key)
    if key[2] == "best":
        return paper.best(key[0], key[1], metric)
    cell = _cell(paper, key, metric)
    return cell.mean if cell else np.nan


def _at_corners(rule: Corners, names: Mapping[str, Any]) -> Any:
    """Evaluate an expression at both ends of the rounding of its metrics, shape (corners, rows)."""
    ends = product(*([names[f"{metric}_low"], names[f"{metric}_high"]] for metric in rule.corners))
    return np.array([evaluate(rule.of, {**names, **dict(zip(rule.corners, end, strict=True))}) for end in ends])


def _of_row(names: Mapping[str, Any], row: int) -> dict[str, Any]:
    """Replace columns by their value in one row."""
    return {
        name: values[row] if isinstance(values, np.ndarray | list) and row < len(values) else values
        for name, values in names.items()
    }


class _Lists(Formatter):
    """A formatter of arrays and lists: element by element, with commas."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, np.ndarray | list):
            return ", ".join(self.format_field(one, format_spec) for one in value)
        return format(value.replace("_", " ") if isinstance(value, str) else value, format_spec)


def _text(template: str, names: Mapping[str, Any]) -> str:
    return _Lists().vformat(template, (), names)
