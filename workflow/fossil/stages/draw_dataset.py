"""Draw the figure of a data set."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fossil.config.strict import Strict
from fossil.data.fold_data import load_images
from fossil.data.folds import read_folds
from fossil.reporting.dataset_figure import draw_dataset
from fossil.reporting.style import save_figure


class Settings(Strict):
    """The data set's name in the configuration."""

    dataset: str


def run(
    settings: Settings, *, manifest: Path, folds: list[Path], properties: Path, images: Path, pdf: Path, png: Path
) -> None:
    """Read manifest, folds and properties (Parquet) and the decoded images; write the figure as PDF and PNG."""
    table, pixels = load_images(manifest=manifest, images=images)
    figure = draw_dataset(table, read_folds(folds), pd.read_parquet(properties), pixels, dataset=settings.dataset)
    save_figure(figure, pdf, png)
