"""Write a LaTeX document of all tables and figures of the run."""

from __future__ import annotations

from pathlib import Path

from fossil.config.strict import Strict
from fossil.reporting.paper import DocumentSection, paper_document
from fossil.runtime.files import write_text


class Settings(Strict):
    """Title, facts and warning of the first page, the protocol (heading, sentences), and the sections."""

    title: str
    facts: list[list[str]]
    warning: str
    protocol: list[list[str]]
    sections: list[DocumentSection]


def run(settings: Settings, *, document: Path) -> None:
    """Write LaTeX."""
    text = paper_document(
        title=settings.title,
        facts=dict(settings.facts),
        warning=settings.warning,
        protocol={heading: sentences for heading, *sentences in settings.protocol},
        sections=settings.sections,
    )
    write_text(document, text)
