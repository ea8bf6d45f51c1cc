"""Tabulate the ledger of the paper's claims."""

from __future__ import annotations

from pathlib import Path

from fossil.claims.ledger import read_ledger
from fossil.config.methods.base import NoOptions
from fossil.reporting.claims import page
from fossil.reporting.tables._claims import claims_tables
from fossil.runtime.files import write_text

Settings = NoOptions


def run(settings: NoOptions, *, ledger: Path, tex: Path, markdown: Path) -> None:
    """Read the ledger (CSV), write LaTeX and Markdown."""
    judged = read_ledger(ledger)
    write_text(tex, claims_tables(judged))
    write_text(markdown, page(judged))
