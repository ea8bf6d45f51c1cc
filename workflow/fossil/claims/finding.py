"""What a check of the paper against itself found."""

from __future__ import annotations

from dataclasses import dataclass

from fossil.claims.verdicts import CONSISTENT, INCONSISTENT


@dataclass(frozen=True)
class Finding:
    """A check of printed numbers against what must hold among them.

    Attributes
    ----------
    name : str
        The check, with what it looked at.
    line : int
        Line of the paper.
    rule : str
        What must hold.
    found : str
        The numbers.
    verdict : str
        "consistent", "inconsistent", or "says nothing" where it could not be otherwise.
    """

    name: str
    line: int
    rule: str
    found: str
    verdict: str


def verdict_of(holds: bool) -> str:
    """Name whether what must hold does."""
    return CONSISTENT if holds else INCONSISTENT
