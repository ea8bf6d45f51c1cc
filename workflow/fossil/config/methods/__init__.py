"""The registry of methods: each module of this package holds the options and the registry entries of a method.

A new method is a module here and a module in ``fossil.methods``.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Literal

from fossil.config.methods.base import MethodEntry


def _entries() -> dict[str, MethodEntry]:
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    entries = {name: entry for module in modules for name, entry in getattr(module, "METHODS", {}).items()}
    return dict(sorted(entries.items(), key=lambda item: item[1].order))


METHODS: dict[str, MethodEntry] = _entries()
"""Entries of all methods, in the order of the default tables."""


def methods_of(study: Literal["synthetic", "images"]) -> list[str]:
    """Return the methods of a study by default, in the registry's order, which is also that of the tables."""
    return [name for name, entry in METHODS.items() if study in entry.studies]
