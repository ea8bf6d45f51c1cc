"""Draw regret against performance for the runs of the image study."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fossil.config import Strict
from fossil.reporting.figures.padufes_tradeoff import draw
from fossil.reporting.style import save_figure


class Settings(Strict):
    """What the figure needs to know."""

    methods: list[str]
    dataset: str


def run(settings: Settings, *, metrics: Path, pdf: Path, png: Path) -> None:
    """Read the metrics (Parquet), write the figure as PDF and PNG."""
    title = "regret in training against performance in the test"
    figure = draw(pd.read_parquet(metrics), methods=settings.methods, dataset=settings.dataset, title=title)
    save_figure(figure, pdf, png)
