"""Rows, places and numbers of claims in sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fossil.claims.evidence import Pairs
from fossil.claims.reported import RowName
from fossil.design.comparisons import Row


def who(named: Sequence[str]) -> RowName:
    """Name of a row as the paper's tables are asked for it."""
    method, *variant = named
    return method, variant[0] if variant else ""


def label(one: RowName) -> str:
    """Name of a row in a sentence."""
    return " ".join(filter(None, one))


def place(metric: str, ratio: str) -> str:
    """Metric and imbalance ratio, at the start of a sentence."""
    name = metric.replace("_", " ")
    return f"{name} at {ratio}:1" if ratio else name


def p_text(p: float) -> str:
    """Print a p-value, never as zero."""
    return "undefined" if np.isnan(p) else "< .001" if p < 0.001 else f"{p:.3f}"


def runs_text(pair: Pairs) -> str:
    """Say how many runs a comparison lacks; "" where it has all."""
    return f", {pair.n} of {pair.n_expected} runs" if pair.n < pair.n_expected else ""


def intervals(rows: Sequence[Row], pairs: Sequence[Pairs]) -> str:
    """Differences to rows with their intervals, in words."""
    return ", ".join(
        f"{row.label} {pair.estimate:+.3f} [{pair.low:+.3f}, {pair.high:+.3f}]"
        for row, pair in zip(rows, pairs, strict=True)
    )
