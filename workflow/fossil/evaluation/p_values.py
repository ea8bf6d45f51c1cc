"""Formats of p-values."""

from __future__ import annotations

from math import isnan

_SMALLEST = 0.0005


def p_text(p: float) -> str:
    """Format a p-value with three decimals, never as zero."""
    if isnan(p):
        return "undefined"
    return f"{p:.3f}" if p >= _SMALLEST else "<0.001"


def p_equation(p: float) -> str:
    """Format a p-value with its name, as "p = 0.031" or "p < 0.001"."""
    return f"p = {p:.3f}" if p >= _SMALLEST else "p < 0.001"
