"""Files that the jobs of all studies share, and the effect of allow_missing_runs on them."""

from __future__ import annotations

from pathlib import Path

from fossil.config.methods import METHODS
from fossil.config.root import Config

RUN_FILES = ("run.json", "predictions.parquet", "history.parquet")
"""What every training writes into its folder."""


def existing(paths: list[str], *, config: Config) -> list[str]:
    """Return all paths, so that a missing run is trained; with allow_missing_runs only those of files that exist."""
    return [path for path in paths if Path(path).exists()] if config.allow_missing_runs else paths


def method_module(method: str) -> str:
    """Return the module that a method is defined in."""
    return METHODS[method].target.partition(":")[0]
