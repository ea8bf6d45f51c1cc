"""Write the verdict on the paper's claims into the README."""

from __future__ import annotations

from pathlib import Path

from fossil.claims.ledger import read_ledger
from fossil.config.methods.base import NoOptions
from fossil.reporting.claims import with_verdict_table
from fossil.runtime.files import write_text

Settings = NoOptions


def run(settings: NoOptions, *, ledger: Path, readme: Path) -> None:
    """Read the ledger (CSV) and rewrite the README's table of verdicts."""
    write_text(readme, with_verdict_table(readme.read_text(encoding="utf-8"), read_ledger(ledger)))
