"""Write a LaTeX document of all tables and figures of the run."""

from __future__ import annotations

from pathlib import Path

from fossil.config.strict import Strict
from fossil.reporting.paper import Picture, paper_document
from fossil.runtime.files import write_text


class Settings(Strict):
    """Title, facts and warning of the first page, the tables' files in the results, and the figures' captions."""

    title: str
    facts: list[list[str]]
    warning: str
    tables: list[str]
    figures: dict[str, str]


def run(settings: Settings, *, document: Path) -> None:
    """Write LaTeX."""
    write_text(
        document,
        paper_document(
            title=settings.title,
            facts=dict(settings.facts),
            warning=settings.warning,
            tables=settings.tables,
            figures=[Picture(name, caption) for name, caption in settings.figures.items()],
        ),
    )
