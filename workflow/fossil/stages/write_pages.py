"""Write the pages of the workflow's report that are no figure: an overview, the claims, the runs and every table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fossil.config import Strict
from fossil.evaluation.claims.ledger import read_ledger
from fossil.files import read_json, write_text
from fossil.reporting.claims import page, summary
from fossil.reporting.html_pages import markdown_page, overview, runs_page, table_page


class Settings(Strict):
    """Titles of the tables by name, and what each category of the report holds."""

    titles: dict[str, str]
    categories: dict[str, str]


def run(
    settings: Settings,
    *,
    tables: list[Path],
    captions: list[Path],
    summary_page: Path,
    ledger: Path,
    results: Path,
    records: list[Path],
    pages: Path,
) -> None:
    """Read tables (CSV), their captions, the summary (Markdown), the ledger and the runs' records; write HTML.

    Into the folder ``pages``: a page for each table, claims.html, runs.html, and overview.rst, the report's first page.
    """
    texts = {path.stem: " ".join(path.read_text(encoding="utf-8").split()) for path in captions}
    for path in tables:
        kind = path.stem if path.stem in texts else path.stem.partition("-")[0]
        title = settings.titles.get(path.stem, path.stem)
        write_text(pages / f"{path.stem}.html", table_page(_read(path), title=title, caption=texts[kind]))
    judged = read_ledger(ledger)
    write_text(pages / "claims.html", markdown_page(page(judged), title="The paper's claims"))
    runs = {str(path.relative_to(results).parent): read_json(path) for path in records}
    write_text(pages / "runs.html", runs_page(runs))
    text = summary_page.read_text(encoding="utf-8")
    write_text(pages / "overview.rst", overview(text, summary(judged), settings.categories))


def _read(path: Path) -> pd.DataFrame:
    """Read a table, with what the paper prints as the text that it is."""
    names = pd.read_csv(path, nrows=0).columns
    return pd.read_csv(path, dtype={name: str for name in names if "_printed" in name})
