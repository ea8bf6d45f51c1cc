"""Write the pages of the workflow's report that are not figures: an overview, the claims, the runs and every table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fossil.claims.ledger import read_ledger
from fossil.config.strict import Strict
from fossil.evaluation.records import Trainings, read_records
from fossil.reporting.claims import page, verdict_table
from fossil.reporting.html_pages import markdown_page, overview, protocol_page, runs_page, table_page
from fossil.runtime.files import write_text


class TablePage(Strict):
    """Title and caption of a table's page, and the image data sets that the table is made of."""

    title: str
    caption: str
    datasets: list[str]


class Settings(Strict):
    """The pages of the tables, the contents of the report's categories, the protocol, and the trainings."""

    tables: dict[str, TablePage]
    categories: dict[str, str]
    protocol: list[list[str]]
    trainings: list[Trainings]


def run(
    settings: Settings,
    *,
    tables: list[Path],
    summary_page: Path,
    ledger: Path,
    results: Path,
    pages: Path,
) -> None:
    """Read tables (CSV), the summary (Markdown), the ledger, and below the results records; write HTML.

    Into the folder ``pages``: a page for each table, protocol.html, claims.html, runs.html, and overview.rst, the
    report's first page.
    """
    for path in tables:
        entry = settings.tables[path.stem]
        html = table_page(_read(path), title=entry.title, caption=entry.caption, data=entry.datasets)
        write_text(pages / f"{path.stem}.html", html)
    write_text(
        pages / "protocol.html", protocol_page({heading: sentences for heading, *sentences in settings.protocol})
    )
    judged = read_ledger(ledger)
    write_text(pages / "claims.html", markdown_page(page(judged), title="The paper's claims"))
    write_text(pages / "runs.html", runs_page(read_records(settings.trainings, results)))
    text = summary_page.read_text(encoding="utf-8")
    write_text(pages / "overview.rst", overview(text, verdict_table(judged), settings.categories))


def _read(path: Path) -> pd.DataFrame:
    """Read a table, with the paper's numbers as text."""
    names = pd.read_csv(path, nrows=0).columns
    return pd.read_csv(path, dtype={name: str for name in names if "_printed" in name})
