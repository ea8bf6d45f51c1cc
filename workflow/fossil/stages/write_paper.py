"""Write a LaTeX document of all tables and figures of the run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fossil.config.strict import Strict
from fossil.reporting.captions import caption_of
from fossil.reporting.paper import Picture, paper_document
from fossil.runtime.files import write_text


class Settings(Strict):
    """Title and facts of the first page, a warning or "", the tables' files below the results, the figures' titles."""

    title: str
    facts: list[list[str]]
    warning: str
    tables: list[str]
    figures: dict[str, str]


def run(settings: Settings, *, captions: list[Path], document: Path) -> None:
    """Read the figures' captions (reStructuredText, one sentence a file); write LaTeX."""
    sentences: Mapping[str, str] = {path.stem: path.read_text(encoding="utf-8") for path in captions}
    figures = [
        Picture(name, f"{title.rstrip('.')}. {caption_of(name, sentences, kind='figures')}")
        for name, title in settings.figures.items()
    ]
    write_text(
        document,
        paper_document(
            title=settings.title,
            facts=dict(settings.facts),
            warning=settings.warning,
            tables=settings.tables,
            figures=figures,
        ),
    )
