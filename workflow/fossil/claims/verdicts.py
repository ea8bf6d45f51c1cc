"""The verdicts on claims, numbers and checks, and how several answers become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

HELD = "held"
DIRECTION = "held in direction only"
NOT_HELD = "not held"
CONTRADICTED = "contradicted by the paper's own table"
NOT_RUN = "not run"

WITHIN_1 = "within 1 SD"
WITHIN_2 = "within 2 SD"
BEYOND = "beyond 2 SD"
SAME_SIDE = "same side of .05"
OTHER_SIDE = "other side of .05"

CONSISTENT = "consistent"
INCONSISTENT = "inconsistent"
EMPTY = "says nothing"

CANNOT_TELL = "cannot be told"

_WORST_FIRST = (NOT_HELD, NOT_RUN, DIRECTION, HELD)


@dataclass(frozen=True)
class Answer:
    """The outcome of a test: a verdict, and the numbers that it rests on, in words."""

    verdict: str
    text: str


def worst(answers: Sequence[Answer]) -> Answer:
    """Combine the answers to all parts of a claim; its weakest part decides."""
    verdict = min((answer.verdict for answer in answers), key=_WORST_FIRST.index)
    return Answer(verdict, "; ".join(dict.fromkeys(answer.text for answer in answers)))


def reported_worst(answers: Sequence[Answer]) -> Answer:
    """Combine the answers of the paper's own tables: contradicted if any part is."""
    verdicts = {answer.verdict for answer in answers}
    verdict = next(v for v in (CONTRADICTED, CANNOT_TELL, CONSISTENT) if v in verdicts)
    return Answer(verdict, "; ".join(dict.fromkeys(answer.text for answer in answers if answer.text)))
