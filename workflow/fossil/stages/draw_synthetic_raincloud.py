"""Draw the runs of the synthetic study."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fossil.config import Strict
from fossil.reporting.figures.synthetic_raincloud import draw
from fossil.reporting.style import save_figure


class Settings(Strict):
    """What the figure needs to know."""

    methods: list[str]
    scenario: str
    imbalance_ratio: float


def run(settings: Settings, *, metrics: Path, pdf: Path, png: Path) -> None:
    """Read the metrics (Parquet), write the figure as PDF and PNG."""
    title = f"Synthetic data, imbalance ratio {settings.imbalance_ratio:g}:1 (scenario {settings.scenario})"
    save_figure(draw(pd.read_parquet(metrics), methods=settings.methods, title=title), pdf, png)
