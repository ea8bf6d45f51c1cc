"""Judge the paper's claims by the results and by the paper itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from fossil.claims.evidence import Evidence
from fossil.claims.ledger import judge, read_claims
from fossil.claims.measured import Measured
from fossil.claims.reported import read_reported
from fossil.claims.self_checks import read_checks
from fossil.config.statistics import Statistics
from fossil.config.strict import Strict
from fossil.design.models import Search
from fossil.runtime.files import write_csv


class Settings(Strict):
    """The study of each table of the paper, and the tests of rows.

    Attributes
    ----------
    tables : dict
        By the name of the paper's table.
    absent, protocols : dict
        Why a table of the paper has no runs, and how its runs differ from the paper's protocol, by its name.
    trials : str
        Study of the search; "" without one.
    """

    tables: dict[str, Measured]
    absent: dict[str, str]
    protocols: dict[str, str]
    searches: list[Search]
    trials: str
    statistics: Statistics


def run(
    settings: Settings,
    *,
    claims: Path,
    checks: Path,
    reported: Path,
    text: Path,
    metrics: list[Path],
    theory: Path,
    tuning: list[Path],
    ledger: Path,
) -> dict[str, Any]:
    """Write the ledger (CSV); returns the number of rows by kind and verdict."""
    evidence = Evidence(
        metrics=pd.concat([pd.read_parquet(path) for path in metrics], ignore_index=True),
        tables=settings.tables,
        statistics=settings.statistics,
        absent=settings.absent,
        protocols=settings.protocols,
        searches=settings.searches,
        trials=settings.trials,
        **({"tuning": pd.read_csv(tuning[0])} if tuning else {}),
    )
    judged = judge(
        read_claims(claims),
        evidence,
        checks=read_checks(checks),
        reported=read_reported(reported),
        text=pd.read_csv(text),
        theory=pd.read_csv(theory),
    )
    write_csv(ledger, judged)
    counts = judged.groupby(["kind", "verdict"]).size()
    return {f"{kind}: {verdict}": int(count) for (kind, verdict), count in counts.items()}
