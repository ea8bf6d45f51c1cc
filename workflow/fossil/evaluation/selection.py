"""Selection of a method's best candidate, by its models' mean AUC on validation images alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from fossil.design.models import Candidate

CRITERION = "auc"


class SelectionError(ValueError):
    """No candidate can be chosen; the message says which trials lack and what to do."""


@dataclass(frozen=True)
class Selection:
    """A chosen candidate, the mean and deviation of the criterion over its trials, and ties."""

    candidate: Candidate
    mean: float
    std: float
    n: int
    tied: list[str]


def score_candidates(metrics: pd.DataFrame, candidates: Sequence[Candidate]) -> pd.DataFrame:
    """Summarise the trials of a method's candidates, one row each, in their order.

    Parameters
    ----------
    metrics : DataFrame
        Long table of trials, measured on validation images: method, variant, fold, seed, metric, value, status.

    Returns
    -------
    DataFrame
        variant, trained_as, may_win, in_budget, n (trials that are ok), n_expected, mean and std of the AUC over these.
    """
    rows = []
    for candidate in candidates:
        trials = metrics[
            (metrics["method"] == candidate.method)
            & (metrics["variant"] == candidate.trained_as)
            & (metrics["metric"] == CRITERION)
        ]
        values = trials.loc[trials["status"] == "ok", "value"]
        about = candidate.model_dump(include={"variant", "trained_as", "may_win", "in_budget"})
        summary = {"n": len(values), "n_expected": len(trials), "mean": values.mean(), "std": values.std()}
        rows.append({**about, **summary})
    return pd.DataFrame(rows)


def select(metrics: pd.DataFrame, candidates: Sequence[Candidate], *, rule: str) -> Selection:
    """Choose a candidate by a rule of ``RULES``.

    A candidate whose trials are not all there, or of which one failed, is out. Of candidates with equal means the first
    is chosen.

    Raises
    ------
    SelectionError
        If no candidate is left.
    """
    scored = score_candidates(metrics, candidates)
    allowed = RULES[rule](scored)
    complete = allowed[(allowed["n"] == allowed["n_expected"]) & (allowed["n"] > 0)]
    if complete.empty:
        raise SelectionError(
            f"{candidates[0].method}: none of {len(allowed)} candidates has all its trials, so that none can be "
            "chosen; lower images.training.learning_rate if they failed, or take tuned out of images.variants"
        )
    best = complete[complete["mean"] == complete["mean"].max()]
    first = best.iloc[0]
    return Selection(
        candidate=candidates[best.index[0]],
        mean=float(first["mean"]),
        std=float(first["std"]),
        n=int(first["n"]),
        tied=list(best["variant"][1:]),
    )


def whole_grid(scored: pd.DataFrame) -> pd.DataFrame:
    """Return all candidates of the grid."""
    return scored[scored["may_win"]]


def equal_budget(scored: pd.DataFrame) -> pd.DataFrame:
    """Return the candidates within the budget, which is the same for every method."""
    return scored[scored["may_win"] & scored["in_budget"]]


RULES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {"tuned": whole_grid, "equal-budget": equal_budget}
"""Rules by the variant whose options they choose."""
