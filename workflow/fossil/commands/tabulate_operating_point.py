"""Make the table of operating points."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fossil.config.strict import Fraction, Strict
from fossil.design.comparisons import Block
from fossil.reporting.tables._operating_point import operating_point_table
from fossil.runtime.files import write_csv, write_text


class Settings(Strict):
    """The table's name, the start of its caption, its rows, and the wanted recall."""

    table: str
    title: str
    block: Block
    recall: Fraction


def run(settings: Settings, *, metrics: Path, tex: Path, csv: Path) -> None:
    """Read metrics (Parquet), write LaTeX and CSV."""
    table, latex = operating_point_table(
        pd.read_parquet(metrics),
        table=settings.table,
        title=settings.title,
        block=settings.block,
        recall=settings.recall,
    )
    write_csv(csv, table)
    write_text(tex, latex)
