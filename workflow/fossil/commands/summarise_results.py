"""Write one page on the run for a terminal."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fossil.claims.ledger import read_ledger
from fossil.config.strict import Strict
from fossil.reporting.summary import Tables, summary_page
from fossil.runtime.files import write_text


class Settings(Strict):
    """The study and its data, the first synthetic scenario, the reference and the level."""

    facts: list[list[str]]
    warning: str
    headline: str
    reference: str
    drawn: bool
    alpha: float


def run(
    settings: Settings,
    *,
    synthetic: list[Path],
    internal: list[Path],
    external: list[Path],
    metrics: list[Path],
    theory: Path,
    claims: list[Path],
    summary: Path,
) -> None:
    """Read tables, ledger (CSV; no path where the run has none) and metrics (Parquet); write Markdown."""
    tables = Tables(
        synthetic=_table(synthetic),
        internal=_table(internal),
        external=_table(external),
        metrics=[pd.read_parquet(path) for path in metrics],
        theory=pd.read_csv(theory),
        claims=read_ledger(claims[0]) if claims else None,
    )
    page = summary_page(
        tables,
        facts=dict(settings.facts),
        warning=settings.warning,
        headline=settings.headline,
        reference=settings.reference,
        drawn=settings.drawn,
        alpha=settings.alpha,
    )
    write_text(summary, page)


def _table(paths: list[Path]) -> pd.DataFrame | None:
    return pd.read_csv(paths[0]) if paths else None
