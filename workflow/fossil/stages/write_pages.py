"""Write the pages of the workflow's report that are no figure: an overview, the claims, the runs and every table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fossil.claims.ledger import read_ledger
from fossil.config.strict import Strict
from fossil.evaluation.records import Trainings, read_records
from fossil.reporting.captions import caption_of
from fossil.reporting.claims import page, verdict_table
from fossil.reporting.html_pages import markdown_page, overview, runs_page, table_page
from fossil.runtime.files import write_text


class Settings(Strict):
    """Of each table title and image data sets, by name; what the report's categories hold; the study's trainings."""

    titles: dict[str, str]
    data: dict[str, list[str]]
    categories: dict[str, str]
    trainings: list[Trainings]


def run(
    settings: Settings,
    *,
    tables: list[Path],
    captions: list[Path],
    summary_page: Path,
    ledger: Path,
    results: Path,
    pages: Path,
) -> None:
    """Read tables (CSV), their captions, the summary (Markdown), the ledger, and below the results records; write HTML.

    Into the folder ``pages``: a page for each table, claims.html, runs.html, and overview.rst, the report's first page.
    """
    texts = {path.stem: path.read_text(encoding="utf-8") for path in captions}
    for path in tables:
        name = path.stem
        page_of_table = table_page(
            _read(path),
            title=settings.titles[name],
            caption=caption_of(name, texts, kind="tables"),
            data=settings.data[name],
        )
        write_text(pages / f"{name}.html", page_of_table)
    judged = read_ledger(ledger)
    write_text(pages / "claims.html", markdown_page(page(judged), title="The paper's claims"))
    write_text(pages / "runs.html", runs_page(read_records(settings.trainings, results)))
    text = summary_page.read_text(encoding="utf-8")
    write_text(pages / "overview.rst", overview(text, verdict_table(judged), settings.categories))


def _read(path: Path) -> pd.DataFrame:
    """Read a table, with what the paper prints as the text that it is."""
    names = pd.read_csv(path, nrows=0).columns
    return pd.read_csv(path, dtype={name: str for name in names if "_printed" in name})
