"""What the documentation points to exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
DOCUMENTS = [*REPOSITORY.glob("*.md"), *(REPOSITORY / name / "README.md" for name in ("config", "data", "results"))]
DOCUMENTS += (REPOSITORY / "workflow/docs").glob("*.md")


def anchors(document: Path) -> set[str]:
    """Anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(REPOSITORY)))
def test_every_link_within_the_repository_leads_to_a_file_and_a_heading(document: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", document.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_readme_is_two_screens_and_names_every_guide() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 130
    for guide in (REPOSITORY / "workflow/docs").glob("*.md"):
        assert f"(workflow/docs/{guide.name})" in text
