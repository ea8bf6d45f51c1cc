"""All figures and tables of a run, read from the modules that make them: none is named anywhere else."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Any, TypeVar, get_args

import fossil.reporting.figures
import fossil.reporting.tables
from fossil.reporting.entries import Entry, FigureEntry, Section, TableEntry
from fossil.reporting.experiment import Experiment

AnyEntry = TypeVar("AnyEntry", bound=Entry)

SECTIONS: tuple[Section, ...] = get_args(Section)


def figures(experiment: Experiment) -> dict[str, FigureEntry]:
    """Return the figures of a run by name, in the order of the document."""
    return by_name(_described(fossil.reporting.figures, "figures", experiment))


def tables(experiment: Experiment) -> dict[str, TableEntry]:
    """Return the tables of a run by name, in the order of the document."""
    return by_name(_described(fossil.reporting.tables, "tables", experiment))


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


def document_sections(figures: Mapping[str, FigureEntry], tables: Mapping[str, TableEntry]) -> list[dict[str, Any]]:
    """Return the sections of the document in their order, each with its tables and figures, as `write_paper` takes it.

    The paper's claims are a file of their own, which no module of tables makes.
    """
    entries = in_order([*figures.values(), *tables.values()])
    parts: dict[Section, list[dict[str, str]]] = {section: [] for section in SECTIONS}
    for entry in entries:
        figure = {"figure": entry.name, "caption": f"{entry.title.rstrip('.')}. {entry.caption}"}
        parts[entry.section].append(figure if isinstance(entry, FigureEntry) else {"table": f"tables/{entry.name}.tex"})
    parts["Claims"].append({"table": "claims.tex"})
    return [{"title": section, "parts": of_section} for section, of_section in parts.items() if of_section]


def by_name(entries: Iterable[AnyEntry]) -> dict[str, AnyEntry]:
    """Return entries in their order, by name.

    Raises
    ------
    ValueError
        Where two have the same name, and would write the same files.
    """
    named: dict[str, AnyEntry] = {}
    for entry in in_order(entries):
        if entry.name in named:
            raise ValueError(f"{entry.module} and {named[entry.name].module} both make {entry.name}; rename one")
        named[entry.name] = entry
    return named


def _described(package: ModuleType, function: str, experiment: Experiment) -> Iterator[Any]:
    """Yield what each module of a package describes, with the module's name."""
    for module in modules(package):
        for entry in getattr(module, function)(experiment):
            yield replace(entry, module=module.__name__)
