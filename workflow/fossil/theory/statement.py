"""The statements of the paper, their checks, and their verdicts.

A check is a function that computes an `Outcome`. The decorator `statement` puts the paper's words next to it, and
`STATEMENTS` has all of them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Literal, ParamSpec

import numpy as np
from numpy.typing import ArrayLike

AsPrinted = Literal["verified", "refuted"]
Verdict = Literal["verified", "verified in corrected form", "refuted"]

P = ParamSpec("P")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The measurements of the check of a statement.

    Attributes
    ----------
    printed, corrected : bool
        Whether the claim holds as the paper prints it, and in its corrected form.
    evidence : str
        The numbers that were measured.
    measured, bound : float
        Where one number decides, that number and its limit; else NaN.
    """

    printed: bool
    evidence: str
    corrected: bool = False
    measured: float = math.nan
    bound: float = math.nan


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement of the paper and the outcome of its check; a row of ``theory.csv``.

    Attributes
    ----------
    statement : str
        Short name.
    place : str
        Where the paper says it.
    claim : str
        What is claimed, in one sentence.
    as_printed : str
        Whether the claim holds as the paper prints it.
    verdict : str
        The same, but for a claim that fails as printed and holds as corrected.
    correction : str
        What holds instead, or is needed besides; empty where the claim is verified.
    evidence, measured, bound
        As in `Outcome`.
    """

    statement: str
    place: str
    claim: str
    as_printed: AsPrinted
    verdict: Verdict
    correction: str
    evidence: str
    measured: float
    bound: float


@dataclass(frozen=True)
class _Entry:
    order: int
    check: Callable[..., Statement]
    parameters: tuple[str, ...]


STATEMENTS: dict[str, _Entry] = {}
"""The check of every statement, by its name; it is complete once the package is imported."""


def statement(
    name: str, *, order: int, place: str, claim: str, correction: str = ""
) -> Callable[[Callable[P, Outcome]], Callable[P, Statement]]:
    """Register the check of a statement, which then returns the `Statement` with its verdict.

    Parameters
    ----------
    order : int
        Where it stands in the paper.
    place, claim, correction : str
        As in `Statement`; the correction is left out where the claim is verified.
    """

    def register(function: Callable[P, Outcome]) -> Callable[P, Statement]:
        @wraps(function)
        def check(*args: P.args, **kwargs: P.kwargs) -> Statement:
            outcome = function(*args, **kwargs)
            verdict = decide(printed=outcome.printed, corrected=outcome.corrected)
            return Statement(
                statement=name,
                place=place,
                claim=claim,
                as_printed="verified" if outcome.printed else "refuted",
                verdict=verdict,
                correction="" if verdict == "verified" else correction,
                evidence=outcome.evidence,
                measured=float(outcome.measured),
                bound=float(outcome.bound),
            )

        STATEMENTS[name] = _Entry(order, check, tuple(inspect.signature(function).parameters))
        return check

    return register


def check_all(inputs: object) -> Iterator[Statement]:
    """Check every statement in the order of the paper; each check gets the attributes of ``inputs`` that it names."""
    for entry in sorted(STATEMENTS.values(), key=lambda entry: entry.order):
        yield entry.check(**{name: getattr(inputs, name) for name in entry.parameters if hasattr(inputs, name)})


def decide(*, printed: bool, corrected: bool = False) -> Verdict:
    """Return the verdict: whether a claim held as printed and, if not, whether its corrected form did."""
    if printed:
        return "verified"
    return "verified in corrected form" if corrected else "refuted"


def loglog_slope(x: ArrayLike, y: ArrayLike) -> float:
    """Return the exponent b of the power law y = a x^b that fits best in logarithms; shape (n,) each, positive."""
    return float(np.polyfit(np.log(np.asarray(x, dtype=np.float64)), np.log(np.asarray(y, dtype=np.float64)), 1)[0])
