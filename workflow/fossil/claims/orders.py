"""Claims across tables and about the search: orders that agree, gaps, options that win."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pydantic import Field
from scipy import stats

from fossil.claims.evidence import Evidence, Pairs, row_of
from fossil.claims.measured import SWEEP
from fossil.claims.numbers import reported_options
from fossil.claims.parts import Named
from fossil.claims.reported import Paper, RowName, row_name
from fossil.claims.verdicts import (
    CANNOT_TELL,
    CONSISTENT,
    CONTRADICTED,
    DIRECTION,
    HELD,
    NOT_HELD,
    NOT_RUN,
    Answer,
)
from fossil.config.strict import Strict
from fossil.design.candidates import STAGE_WISE
from fossil.design.image_studies import REPORTED_METHODS
from fossil.design.models import Search, option_at
from fossil.evaluation.selection import score_candidates

_CLOSE = 0.01
"""How far two AUCs may differ that a claim calls equal."""

_EQUAL = 1e-9
"""Means that differ by less are equal but for rounding."""


class RanksAgree(Strict):
    """Methods have one order in two tables: Spearman's rho of their means is at least ``at_least``.

    Means that are equal in print may be in any order: the paper's tables tell only what all their orders agree on.

    Attributes
    ----------
    rows : list of pairs
        A method's row in the first table, and in the second.
    """

    kind: Literal["ranks_agree"]
    tables: Annotated[list[str], Field(min_length=2, max_length=2)]
    metric: str
    rows: Annotated[list[Annotated[list[Named], Field(min_length=2, max_length=2)]], Field(min_length=3)]
    at_least: float = 0.7

    def on_tables(self) -> list[str]:
        """Return the tables that the part is about."""
        return self.tables

    def on_paper(self, paper: Paper) -> Answer:
        """Test the paper's own numbers."""
        means = [
            [paper.cell(table, "", self.metric, row_name(row)) for table, row in zip(self.tables, pair, strict=True)]
            for pair in self.rows
        ]
        first, second = ([cell.mean if cell else np.nan for cell in column] for column in zip(*means, strict=True))
        return self._judged(first, second, contradicted=True)

    def on_runs(self, evidence: Evidence) -> Answer:
        """Test the measured results; for the search and the whole study, all configured and tuned rows."""
        for table in self.tables:
            if reason := evidence.why_not(table):
                return Answer(NOT_RUN, reason)
        if SWEEP in self.tables:
            tuned = evidence.tuning[["trial_auc", "test_auc"]].dropna().drop_duplicates()
            return self._judged(tuned["trial_auc"].tolist(), tuned["test_auc"].tolist(), contradicted=False)
        columns = [[_mean(evidence, t, row_name(row), self.metric) for row in rows] for t, rows in self._by_table()]
        return self._judged(*columns, contradicted=False)

    def _by_table(self) -> list[tuple[str, list[Named]]]:
        return list(zip(self.tables, map(list, zip(*self.rows, strict=True)), strict=True))

    def _judged(self, first: list[float], second: list[float], *, contradicted: bool) -> Answer:
        pairs = pd.DataFrame({"first": first, "second": second}).dropna()
        if len(pairs) < 3 or (pairs.nunique() < 2).any():
            return Answer(CANNOT_TELL if contradicted else NOT_RUN, "fewer than three rows are available")
        rho = float(stats.spearmanr(pairs["first"], pairs["second"]).statistic)
        text = f"Spearman's rho {rho:.2f} over {len(pairs)} rows"
        if contradicted:
            return self._in_print(pairs, text)
        return Answer(HELD if rho >= self.at_least else DIRECTION if rho > 0 else NOT_HELD, text)

    def _in_print(self, means: pd.DataFrame, text: str) -> Answer:
        """Judge reported means by the least and the largest rho that the order of ties allows."""
        low, high = (rho_of_orders(means["first"], means["second"], agree=agree) for agree in (False, True))
        verdict = CONSISTENT if low >= self.at_least else CONTRADICTED if high < self.at_least else CANNOT_TELL
        ordered = "" if high - low < _EQUAL else f", {low:.2f} to {high:.2f} as equal means are ordered"
        return Answer(verdict, f"{text} in print{ordered}")


class SmallerGap(Strict):
    """The gap between two rows is smaller in one table than in another; beyond chance where intervals are apart."""

    kind: Literal["smaller_gap"]
    tables: Annotated[list[str], Field(min_length=2, max_length=2)]
    ratios: Annotated[list[str], Field(min_length=2, max_length=2)]
    metric: str
    rows: Annotated[list[Named], Field(min_length=2, max_length=2)]
    minus: Annotated[list[Named], Field(min_length=2, max_length=2)]

    def on_tables(self) -> list[str]:
        """Return the tables that the part is about."""
        return self.tables

    def on_paper(self, paper: Paper) -> Answer:
        """Test the paper's own numbers."""
        gaps = []
        for table, ratio, row, other in self._places():
            first, second = (paper.cell(table, ratio, self.metric, name) for name in (row, other))
            if not first or not second:
                return Answer(CANNOT_TELL, "")
            gaps.append(first.mean - second.mean)
        smaller = CONSISTENT if gaps[0] < gaps[1] else CONTRADICTED
        verdict = CANNOT_TELL if abs(gaps[0] - gaps[1]) < _EQUAL else smaller
        return Answer(verdict, f"{gaps[0]:+.3f} against {gaps[1]:+.3f} in print")

    def on_runs(self, evidence: Evidence) -> Answer:
        """Test the measured results."""
        compared: list[Pairs] = []
        for table, ratio, row, other in self._places():
            if reason := evidence.why_not(table):
                return Answer(NOT_RUN, reason)
            blocks = evidence.blocks(table, ratio, [row, other])
            rows = [one for name in (row, other) if blocks and (one := row_of(blocks[0], name))]
            if len(rows) < 2:
                return Answer(NOT_RUN, "rows that the claim compares are not configured")
            compared.append(evidence.pairs(table, blocks[0], rows[0], rows[1], self.metric))
        if not all(pair.n for pair in compared):
            return Answer(NOT_RUN, "no complete pairs of runs")
        small, large = compared
        verdict = HELD if small.high < large.low else DIRECTION if small.estimate < large.estimate else NOT_HELD
        gaps = [f"{pair.estimate:+.3f} [{pair.low:+.3f}, {pair.high:+.3f}]" for pair in compared]
        return Answer(verdict, f"{self.metric.replace('_', ' ')}: {gaps[0]} against {gaps[1]}")

    def _places(self) -> list[tuple[str, str, RowName, RowName]]:
        return [
            (table, ratio, row_name(row), row_name(other))
            for table, ratio, row, other in zip(self.tables, self.ratios, self.rows, self.minus, strict=True)
        ]


class OptionPreferred(Strict):
    """The search prefers the highest or lowest value of an option.

    Held where a best candidate has it and candidates that have it are the best on average; in direction where one of
    both is so. Where every value has the same mean the option changes nothing, and nothing is preferred.

    Attributes
    ----------
    reported_extreme : float
        The highest or lowest value of the paper's grid.
    """

    kind: Literal["option_preferred"]
    method: str
    option: str
    value: Literal["highest", "lowest"]
    reported_extreme: float

    def on_tables(self) -> list[str]:
        """Return the tables that the part is about."""
        return [SWEEP]

    def on_paper(self, paper: Paper) -> Answer:
        """Test the best line of the paper's table, which reports the best three of each method."""
        lines = [variant for method, variant in paper.rows(SWEEP, "", "auc") if method == self.method]
        best = reported_options(lines[0]).get(self.option) if lines else None
        if best is None:
            return Answer(CANNOT_TELL, "")
        return Answer(CONSISTENT if best == self.reported_extreme else CONTRADICTED, f"best line: {best:g}")

    def on_runs(self, evidence: Evidence) -> Answer:
        """Test the trials."""
        if reason := evidence.why_not(SWEEP):
            return Answer(NOT_RUN, reason)
        scored = _scores(evidence, self.method)
        if scored.empty:
            return Answer(NOT_RUN, "no search of this method")
        scored["value"] = [option_at(one, self.option) for one in scored["options"]]
        scored = scored[scored["may_win"] & scored["value"].notna()]
        averages = scored.groupby("value")["mean"].mean()
        if len(averages) < 2:
            return Answer(NOT_RUN, "the search tries one value only")
        text = f"mean validation AUC by {self.option} " + ", ".join(f"{v:g}: {m:.3f}" for v, m in averages.items())
        if np.ptp(averages) < _EQUAL:
            return Answer(NOT_HELD, f"{text}: the option changes nothing")
        wanted = averages.index.max() if self.value == "highest" else averages.index.min()
        best = set(scored.loc[scored["mean"] > scored["mean"].max() - _EQUAL, "value"])
        votes = [wanted in best, averages[wanted] > averages.max() - _EQUAL]
        verdict = HELD if all(votes) else DIRECTION if any(votes) else NOT_HELD
        return Answer(verdict, f"{text}; best candidates have {', '.join(f'{v:g}' for v in sorted(best))}")


class StageWiseMatches(Strict):
    """The best of FOSSIL's stage-wise variant and of the continuous one have the same validation AUC within .01."""

    kind: Literal["stage_wise_matches"]

    def on_tables(self) -> list[str]:
        """Return the tables that the part is about."""
        return [SWEEP]

    def on_paper(self, paper: Paper) -> Answer:
        """Return no verdict: only the paper's text has the number of the stage-wise variant."""
        return Answer(CANNOT_TELL, "")

    def on_runs(self, evidence: Evidence) -> Answer:
        """Test the trials."""
        if reason := evidence.why_not(SWEEP):
            return Answer(NOT_RUN, reason)
        scored = _scores(evidence, "FOSSIL")
        if scored.empty:
            return Answer(NOT_RUN, "no search of this method")
        staged = scored["variant"].str.startswith(STAGE_WISE)
        best = [scored.loc[rows, "mean"].max() for rows in (staged, ~staged & scored["may_win"])]
        if np.isnan(best).any():
            return Answer(NOT_RUN, "the stage-wise variant is not tried")
        verdict = HELD if abs(best[0] - best[1]) <= _CLOSE else NOT_HELD
        return Answer(verdict, f"validation AUC {best[0]:.3f} stage-wise, {best[1]:.3f} continuous")


def rho_of_orders(first: ArrayLike, second: ArrayLike, *, agree: bool) -> float:
    """Compute Spearman's rho with ties ordered so that it is largest (``agree``) or least; shape (n,) each."""
    one, other = np.asarray(first), np.asarray(second)
    sign, place = 1 if agree else -1, np.arange(len(one))
    ranks = np.argsort(np.lexsort((place, sign * other, one)))
    other_ranks = np.argsort(np.lexsort((sign * place, sign * one, other)))
    return float(stats.spearmanr(ranks, other_ranks).statistic)


def _mean(evidence: Evidence, table: str, name: RowName, metric: str) -> float:
    blocks = evidence.blocks(table, "", [name])
    if not blocks:
        return float("nan")
    row = row_of(blocks[0], name)
    values = evidence.values(table, blocks[0], [row] if row else [], metric)
    return float(np.nanmean(values)) if values.size and not np.isnan(values).all() else float("nan")


def _scores(evidence: Evidence, method: str) -> pd.DataFrame:
    """Score the candidates of a method of the paper whose trials are complete, with their options."""
    trials = evidence.metrics[evidence.metrics["study"] == evidence.trials]
    search: Search | None = next((s for s in evidence.searches if REPORTED_METHODS.get(s.method) == method), None)
    if search is None or not search.candidates:
        return pd.DataFrame()
    scored = score_candidates(trials, search.candidates)
    scored = scored.assign(options=[candidate.options for candidate in search.candidates])
    return scored[(scored["n"] == scored["n_expected"]) & (scored["n"] > 0)].copy()
