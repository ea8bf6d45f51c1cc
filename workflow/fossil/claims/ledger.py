"""The ledger: the paper's claims, numbers and statements next to the measured results."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import yaml
from pydantic import Field, ValidationError

from fossil.claims.evidence import Evidence
from fossil.claims.numbers import judge_numbers
from fossil.claims.orders import OptionPreferred, RanksAgree, SmallerGap, StageWiseMatches
from fossil.claims.parts import Better, Difference, EveryRun, Insignificant, NotWorse, Spread
from fossil.claims.reported import Paper
from fossil.claims.self_checks import Check, Finding, run_checks
from fossil.claims.verdicts import CONTRADICTED, NOT_RUN, reported_worst, worst
from fossil.config.strict import Strict

COLUMNS = [
    *("kind", "id", "place", "line", "claim", "reported", "measured", "verdict", "measured_verdict", "how"),
    *("table", "imbalance_ratio", "method", "variant", "metric", "reported_std", "measured_std", "n"),
    *("difference", "in_sd", "in_se", "row", "nearest", "nearest_row"),
]

NUMBER, CLAIM, CHECK, STATEMENT = "number", "claim", "check", "statement"

ClaimPart = Annotated[
    Better
    | NotWorse
    | Difference
    | Insignificant
    | Spread
    | EveryRun
    | RanksAgree
    | SmallerGap
    | OptionPreferred
    | StageWiseMatches,
    Field(discriminator="kind"),
]


class ClaimsError(ValueError):
    """The list of claims cannot be used; the message names the entry and the key."""


class Claim(Strict):
    """A claim that the paper makes in words.

    Attributes
    ----------
    line, place : int, str
        Where: abstract, text, caption, discussion, appendix.
    claim : str
        What it says, in our words.
    parts : list
        Tests of which all must hold.
    note : str
        What a reader of the verdict must know.
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    line: Annotated[int, Field(ge=1)]
    place: str
    claim: str
    parts: Annotated[list[ClaimPart], Field(min_length=1)]
    note: str = ""


class Claims(Strict):
    """All claims, as the file of claims lists them."""

    claims: list[Claim]


def read_claims(path: Path) -> list[Claim]:
    """Read the list of claims (YAML).

    Raises
    ------
    ClaimsError
        Where an entry is wrong, or two have one id.
    """
    try:
        claims = Claims.model_validate(yaml.safe_load(path.read_text(encoding="utf-8"))).claims
    except (ValidationError, yaml.YAMLError) as error:
        raise ClaimsError(f"{path}: {error}") from None
    ids = [claim.id for claim in claims]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise ClaimsError(f"{path}: more than one claim is called {', '.join(twice)}")
    return claims


def read_ledger(path: Path) -> pd.DataFrame:
    """Read a ledger (CSV), with what the paper prints as text."""
    return pd.read_csv(path, dtype=dict.fromkeys(("reported", "reported_std", "imbalance_ratio"), str))


def judge(
    claims: Sequence[Claim],
    evidence: Evidence,
    *,
    checks: Sequence[Check],
    reported: pd.DataFrame,
    text: pd.DataFrame,
    theory: pd.DataFrame,
) -> pd.DataFrame:
    """Judge every claim, check, statement and number of the paper.

    Parameters
    ----------
    checks : list of Check
        Self-checks of the paper.
    reported : DataFrame
        From `fossil.claims.reported.read_reported`.
    text : DataFrame
        Numbers of the paper's text: place, line, quantity, value.
    theory : DataFrame
        Checked statements: statement, place, claim, as_printed, verdict, correction, evidence; may be empty.

    Returns
    -------
    DataFrame
        `COLUMNS`; a row for each reported number, claim, check of the paper against itself, and statement of its
        theory. ``verdict`` of a claim is "contradicted by the paper's own table" where the printed numbers already
        disagree with it; ``measured_verdict`` says what the runs say all the same.
    """
    paper = Paper(reported)
    rows = chain(
        (_claim_row(claim, paper, evidence) for claim in claims),
        map(_check_row, run_checks(checks, paper, text)),
        map(_statement_row, theory.to_dict("records")),
        map(_number_row, judge_numbers(reported, evidence).to_dict("records")),
    )
    return pd.DataFrame(rows, columns=COLUMNS)


def _claim_row(claim: Claim, paper: Paper, evidence: Evidence) -> dict[str, Any]:
    printed = reported_worst([part.on_paper(paper) for part in claim.parts])
    measured = worst([part.on_runs(evidence) for part in claim.parts])
    tables = dict.fromkeys(table for part in claim.parts for table in part.on_tables())
    differing = [evidence.protocol(table) for table in tables] if measured.verdict != NOT_RUN else []
    how = "; ".join(dict.fromkeys(filter(None, [claim.note, *differing])))
    return {
        **{"kind": CLAIM, "id": claim.id, "place": claim.place, "line": claim.line, "claim": claim.claim},
        **{"reported": printed.text, "measured": measured.text, "how": how},
        "verdict": CONTRADICTED if printed.verdict == CONTRADICTED else measured.verdict,
        "measured_verdict": measured.verdict,
    }


def _check_row(finding: Finding) -> dict[str, Any]:
    return {
        **{"kind": CHECK, "id": finding.name, "place": "the paper against itself"},
        **{"line": finding.line, "claim": finding.rule, "reported": finding.found, "verdict": finding.verdict},
    }


def _statement_row(statement: dict[str, Any]) -> dict[str, Any]:
    corrected = statement["correction"]
    return {
        **{"kind": STATEMENT, "id": statement["statement"], "place": statement["place"], "claim": statement["claim"]},
        **{"measured": statement["evidence"], "verdict": statement["verdict"]},
        "reported": f"{statement['as_printed']} as printed",
        "how": corrected if isinstance(corrected, str) else "",
    }


def _number_row(number: dict[str, Any]) -> dict[str, Any]:
    row = " ".join(filter(None, [number["method"], number["variant"]]))
    ratio = f" at {number['imbalance_ratio']}:1" if number["imbalance_ratio"] else ""
    name = "-".join(filter(None, [number["table"], number["imbalance_ratio"], row, number["metric"]]))
    shared = {name: number[name] for name in COLUMNS if name in number and name not in ("reported", "line")}
    return {
        **shared,
        **{"kind": NUMBER, "id": name.lower().replace(" ", "-"), "place": f"table {number['table']}"},
        "line": int(number["line"]),
        "claim": f"{row}{ratio}: {number['metric'].replace('_', ' ')}",
        "reported": number["reported"],
        "measured": number["measured"] if number["n"] else np.nan,
        "measured_verdict": number["verdict"],
    }
