"""Draw a figure."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import field_validator

from fossil.config.strict import Strict
from fossil.reporting.style import save_figure
from fossil.reporting.tables._statistics import read_statistics

_FIGURES = "fossil.reporting.figures."


class Settings(Strict):
    """The module of a figure, and the options that its ``draw`` takes."""

    module: str
    options: dict[str, Any]

    @field_validator("module")
    @classmethod
    def _of_a_figure(cls, module: str) -> str:
        if not module.startswith(_FIGURES):
            raise ValueError(f"{module} is no module of figures; those are in {_FIGURES.rstrip('.')}")
        return module


def run(settings: Settings, *, files: list[Path], pdf: Path, png: Path) -> None:
    """Read what the figure draws and write it as PDF and PNG.

    A figure whose module has a function ``read`` reads its files by itself. Those of the others are tables (Parquet,
    statistics CSV), which are put one below the other.
    """
    if not files:
        what = "none of its runs is available; set allow_missing_runs: false, so that they are trained"
        raise ValueError(f"{settings.module}: {what}")
    figure = importlib.import_module(settings.module)
    read = getattr(figure, "read", _read_tables)
    save_figure(figure.draw(read(files), figure.OPTIONS.model_validate(settings.options)), pdf, png)


def _read_tables(files: list[Path]) -> pd.DataFrame:
    tables = [read_statistics(path) if path.suffix == ".csv" else pd.read_parquet(path) for path in files]
    return pd.concat(tables, ignore_index=True)
