"""Empirical risk minimisation: every sample counts the same."""

from __future__ import annotations

from fossil.methods.base import Method


class ERM(Method):
    """Cross-entropy with weights of 1."""
