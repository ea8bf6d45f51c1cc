"""Rows, places and numbers of claims in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from fossil.claims.evidence import Pairs
from fossil.claims.reported import RowName
from fossil.design.comparisons import Row


def label(name: RowName) -> str:
    """Return the name of a row for a sentence."""
    return " ".join(filter(None, name))


def place(metric: str, ratio: str) -> str:
    """Return metric and imbalance ratio, for the start of a sentence."""
    name = metric.replace("_", " ")
    return f"{name} at {ratio}:1" if ratio else name


def runs_text(pair: Pairs) -> str:
    """Return how many runs a comparison has; "" where it has all."""
    return f", {pair.n} of {pair.n_expected} runs" if pair.n < pair.n_expected else ""


def intervals(rows: Sequence[Row], pairs: Sequence[Pairs]) -> str:
    """Format differences to rows with their intervals."""
    return ", ".join(
        f"{row.label} {pair.estimate:+.3f} [{pair.low:+.3f}, {pair.high:+.3f}]"
        for row, pair in zip(rows, pairs, strict=True)
    )
