"""Empirical risk minimisation."""

from __future__ import annotations

from fossil.config.methods.base import MethodEntry

METHODS = {
    "erm": MethodEntry(target="fossil.methods.erm:ERM", label="ERM", order=10),
}
