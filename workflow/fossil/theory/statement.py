"""What the check of a statement says, and how a verdict follows from what was found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

AsPrinted = Literal["verified", "refuted"]
Verdict = Literal["verified", "verified in corrected form", "refuted"]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement of the paper and what its check found; a row of ``theory.csv``.

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
    evidence : str
        The numbers that were measured.
    measured, bound : float
        Where one number tells it, that number and its limit; else NaN.
    """

    statement: str
    place: str
    claim: str
    as_printed: AsPrinted
    verdict: Verdict
    correction: str
    evidence: str
    measured: float = math.nan
    bound: float = math.nan


def decide(*, printed: bool, corrected: bool = False) -> Verdict:
    """Verdict on a statement from whether it held as printed and, if not, whether its corrected form did."""
    if printed:
        return "verified"
    return "verified in corrected form" if corrected else "refuted"


def judge(
    statement: str,
    *,
    place: str,
    claim: str,
    evidence: str,
    printed: bool,
    corrected: bool = False,
    correction: str = "",
    measured: float = math.nan,
    bound: float = math.nan,
) -> Statement:
    """Make the row of a statement; the correction is left out where the claim needs none."""
    verdict = decide(printed=bool(printed), corrected=bool(corrected))
    return Statement(
        statement=statement,
        place=place,
        claim=claim,
        as_printed="verified" if printed else "refuted",
        verdict=verdict,
        correction="" if verdict == "verified" else correction,
        evidence=evidence,
        measured=float(measured),
        bound=float(bound),
    )


def loglog_slope(x: ArrayLike, y: ArrayLike) -> float:
    """Exponent b of the power law y = a x^b that fits best in logarithms; both of shape (n,), positive."""
    return float(np.polyfit(np.log(np.asarray(x, dtype=np.float64)), np.log(np.asarray(y, dtype=np.float64)), 1)[0])
