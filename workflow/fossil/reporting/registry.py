"""All figures and tables of a run, read from the modules that make them: none is named anywhere else."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache
from types import ModuleType
from typing import TypeVar, get_args

import fossil.reporting.figures
import fossil.reporting.tables
from fossil.reporting.entries import Entry, FigureEntry, Section, TableEntry
from fossil.reporting.experiment import Experiment

AnyEntry = TypeVar("AnyEntry", bound=Entry)

SECTIONS: tuple[Section, ...] = get_args(Section)


def figures(experiment: Experiment) -> dict[str, FigureEntry]:
    """Return the figures of a run by name, in the order of the document."""
    return by_name(figure for module in modules(fossil.reporting.figures) for figure in module.figures(experiment))


def tables(experiment: Experiment) -> dict[str, TableEntry]:
    """Return the tables of a run by name, in the order of the document."""
    described = [module.tables for module in modules(fossil.reporting.tables) if hasattr(module, "tables")]
    return by_name(table for tables_of_module in described for table in tables_of_module(experiment))


@cache
def modules(package: ModuleType) -> list[ModuleType]:
    """Import the modules of a package, but those of which the name begins with an underscore: they help the others."""
    names = [module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_")]
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]


def in_order(entries: Iterable[AnyEntry]) -> list[AnyEntry]:
    """Sort figures and tables as the document has them; a table comes before a figure of the same place and name."""
    return sorted(
        entries, key=lambda one: (SECTIONS.index(one.section), one.place, one.name, isinstance(one, FigureEntry))
    )


def by_name(entries: Iterable[AnyEntry]) -> dict[str, AnyEntry]:
    """Put entries in order, by name.

    Raises
    ------
    ValueError
        Where two have the same name, and would write the same files.
    """
    found: dict[str, AnyEntry] = {}
    for entry in in_order(entries):
        if entry.name in found:
            raise ValueError(f"{entry.module} and {found[entry.name].module} both make {entry.name}; rename one")
        found[entry.name] = entry
    return found
