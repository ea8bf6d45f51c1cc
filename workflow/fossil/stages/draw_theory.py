"""Draw what the checks of the paper's statements measured."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fossil.config import Strict
from fossil.reporting.figures.theory import draw
from fossil.reporting.style import save_figure


class Settings(Strict):
    """What the figure needs to know."""

    methods: list[str]
    scenario: str
    imbalance_ratio: float


def run(settings: Settings, *, curves: Path, pdf: Path, png: Path) -> None:
    """Read the curves (Parquet), write the figure as PDF and PNG."""
    runs = f"imbalance ratio {settings.imbalance_ratio:g}:1 (scenario {settings.scenario})"
    title = f"The theory, checked; e and f: synthetic data, {runs}"
    save_figure(draw(pd.read_parquet(curves), methods=settings.methods, title=title), pdf, png)
