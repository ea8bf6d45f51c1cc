"""Make the table of the sensitivity study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
from pydantic import Field

from fossil.config.strict import Strict
from fossil.design.comparisons import Block
from fossil.reporting.tables._sensitivity import sensitivity_table
from fossil.reporting.tables._statistics import read_statistics
from fossil.runtime.files import write_csv, write_text


class Settings(Strict):
    """The start of the table's caption, the grid, and its metric."""

    title: str
    blocks: Annotated[list[Block], Field(min_length=1, max_length=1)]
    alpha: float
    metric: str = "balanced_accuracy"


def run(settings: Settings, *, metrics: Path, statistics: Path, effects: Path, tex: Path, csv: Path) -> None:
    """Read metrics (Parquet), comparisons and effects (CSV); write LaTeX and CSV."""
    table, latex = sensitivity_table(
        pd.read_parquet(metrics),
        read_statistics(statistics),
        read_statistics(effects),
        title=settings.title,
        block=settings.blocks[0],
        metric=settings.metric,
        alpha=settings.alpha,
    )
    write_csv(csv, table)
    write_text(tex, latex)
