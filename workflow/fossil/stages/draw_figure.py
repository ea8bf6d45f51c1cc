"""Draw a figure."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import field_validator

import fossil.reporting.figures
from fossil.config.strict import Strict
from fossil.reporting.style import save_figure
from fossil.reporting.tables.statistics import read_statistics


class Settings(Strict):
    """A module of ``fossil.reporting.figures`` and the options that its figure takes."""

    figure: str
    options: dict[str, Any]

    @field_validator("figure")
    @classmethod
    def _there(cls, figure: str) -> str:
        names = sorted(module.name for module in pkgutil.iter_modules(fossil.reporting.figures.__path__))
        there = [name for name in names if not name.startswith("_")]
        if figure not in there:
            raise ValueError(f"there is no figure {figure!r}, only {', '.join(there)}")
        return figure


def run(settings: Settings, *, tables: list[Path], pdf: Path, png: Path) -> None:
    """Read the tables (Parquet, statistics CSV), one below the other, and write the figure as PDF and PNG."""
    if not tables:
        what = "none of its runs is there; set allow_missing_runs: false, so that they are made"
        raise ValueError(f"{settings.figure}: {what}")
    module = importlib.import_module(f"fossil.reporting.figures.{settings.figure}")
    options = module.Options.model_validate(settings.options)
    table = pd.concat([_read(path) for path in tables], ignore_index=True)
    save_figure(module.draw(table, options), pdf, png)


def _read(path: Path) -> pd.DataFrame:
    return read_statistics(path) if path.suffix == ".csv" else pd.read_parquet(path)
