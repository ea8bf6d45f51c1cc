"""Make the table of the synthetic study."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fossil.config import Strict
from fossil.files import write_csv, write_text
from fossil.reporting.tables.synthetic_results import synthetic_results


class Settings(Strict):
    """What the table needs to know."""

    methods: list[str]
    reference: str
    scenario: str
    imbalance_ratio: float


def run(settings: Settings, *, metrics: Path, statistics: Path, tex: Path, csv: Path) -> None:
    """Read the metrics (Parquet) and comparisons (CSV), write the table as LaTeX and CSV."""
    table, latex = synthetic_results(
        pd.read_parquet(metrics),
        pd.read_csv(statistics),
        methods=settings.methods,
        reference=settings.reference,
        scenario_title=f"imbalance ratio {settings.imbalance_ratio:g}:1 (scenario {settings.scenario})",
    )
    write_csv(csv, table)
    write_text(tex, latex)
