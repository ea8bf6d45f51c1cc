"""Put the summary of the paper's claims into the README."""

from __future__ import annotations

from pathlib import Path

from fossil.config import NoOptions
from fossil.evaluation.claims.ledger import read_ledger
from fossil.files import write_text
from fossil.reporting.claims import with_summary

Settings = NoOptions


def run(settings: NoOptions, *, ledger: Path, readme: Path) -> None:
    """Read the ledger (CSV) and write the README anew."""
    write_text(readme, with_summary(readme.read_text(encoding="utf-8"), read_ledger(ledger)))
