"""Claims about one table, as tests of the paper's numbers and of measured runs."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy import stats

from fossil.claims.evidence import Evidence, Pairs, row_of
from fossil.claims.reported import PAPER_LEVEL, Paper, ReportedMean, RowName, row_name
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
from fossil.claims.wording import intervals, label, place, runs_text
from fossil.config.strict import Strict
from fossil.design.comparisons import Block, Row
from fossil.evaluation.metrics import METRICS
from fossil.evaluation.p_values import p_text

Named = Annotated[list[str], Field(min_length=1, max_length=2)]
"""A row of the paper's table: the method, and the variant where the paper names one."""

_HARM = 0.01
"""A loss of a metric that counts as none: one unit of the last digit that the paper prints."""


class _TablePart(Strict):
    """Rows of a table of the paper and a metric.

    Attributes
    ----------
    metric : str
        As the paper's table names it.
    measured_as : str
        The measured metric, where that is another one: "" for the same.
    block : str
        The block whose rows are compared; "" for the first that has them, one of all seeds if there is any.
    """

    table: str
    ratio: str = ""
    metric: str
    measured_as: str = ""
    block: str = ""
    row: Named

    @property
    def measured_metric(self) -> str:
        """Return the name of the measured metric."""
        return self.measured_as or self.metric

    @property
    def lower(self) -> bool:
        """Return whether less is better."""
        return METRICS[self.metric].lower_is_better

    def named(self) -> list[RowName]:
        """Return every row that the part is about, the row under test first."""
        return [row_name(self.row)]

    def on_tables(self) -> list[str]:
        """Return the tables that the part is about."""
        return [self.table]

    def on_paper(self, paper: Paper) -> Answer:
        """Test the paper's own numbers."""
        cells = [paper.cell(self.table, self.ratio, self.metric, name) for name in self.named()]
        if not all(cells):
            return Answer(CANNOT_TELL, "")
        return self._reported(dict(zip(self.named(), filter(None, cells), strict=True)), paper)

    def on_runs(self, evidence: Evidence) -> Answer:
        """Test the measured results."""
        if reason := evidence.why_not(self.table):
            return Answer(NOT_RUN, reason)
        blocks = evidence.blocks(self.table, self.ratio, self.named())
        blocks = [block for block in blocks if self.block in ("", block.name)]
        if not blocks:
            return Answer(NOT_RUN, "rows that the claim compares are not configured")
        rows = [row for one in self.named() if (row := row_of(blocks[0], one))]
        return self._measured(evidence, blocks[0], rows)

    def _reported(self, cells: dict[RowName, ReportedMean], paper: Paper) -> Answer:
        raise NotImplementedError

    def _measured(self, evidence: Evidence, block: Block, rows: list[Row]) -> Answer:
        raise NotImplementedError

    def _pairs(self, evidence: Evidence, block: Block, rows: list[Row]) -> list[Pairs]:
        return [evidence.pairs(self.table, block, rows[0], other, self.measured_metric) for other in rows[1:]]

    def _reported_at(self) -> str:
        return place(self.metric, self.ratio)

    def _measured_at(self) -> str:
        return place(self.measured_metric, self.ratio)

    def _better(self, difference: float) -> bool:
        return difference < 0 if self.lower else difference > 0


class _AgainstOthers(_TablePart):
    """A part that compares its row with each of several others."""

    than: Annotated[list[Named], Field(min_length=1)]

    def named(self) -> list[RowName]:
        return [row_name(self.row), *map(row_name, self.than)]


class Better(_AgainstOthers):
    """The row has a better mean than each of the others, beyond chance: every p is below the level.

    No correction for the number of tests is due, since all must be below: the claim is wrong as soon as one of the
    others is as good (an intersection-union test, Berger 1982). In print, a strictly better mean of another row
    contradicts it. So does a reported p, of a test that the claim names, that is not below the level. Equal means, and
    tables without these p, cannot tell.

    Attributes
    ----------
    p_below : float or None
        The level that the claim itself names; without one that of the study (``statistics.alpha``), in print .05.
    by : list of str
        Tests that the claim names, of which all must be below the level, also where pairs are not independent; without
        any it is the one that `fossil.claims.evidence.Pairs` calls p.
    """

    kind: Literal["better"]
    p_below: float | None = None
    by: list[Literal["wilcoxon", "permutation"]] = Field([])

    def _reported(self, cells: dict[RowName, ReportedMean], paper: Paper) -> Answer:
        (name_of_row, row), *others = cells.items()
        at, level = self._reported_at(), self.p_below or PAPER_LEVEL
        losing = [f"{label(name)} {cell.mean:g}" for name, cell in others if self._better(cell.mean - row.mean)]
        if losing:
            return Answer(CONTRADICTED, f"{at}: {label(name_of_row)} {row.mean:g}, {', '.join(losing)}")
        ps = [
            (name, test, paper.cell(self.table, self.ratio, f"p_{test}", name))
            for name, _ in others
            for test in self.by
        ]
        failing = [
            f"{label(name)} p = {cell.mean:g} ({test})" for name, test, cell in ps if cell and cell.mean >= level
        ]
        if failing:
            return Answer(CONTRADICTED, ", ".join(failing))
        equal = [label(name) for name, cell in others if cell.mean == row.mean]
        if equal:
            return Answer(CANNOT_TELL, f"{at}: {row.mean:g} as {', '.join(equal)}")
        return Answer(CONSISTENT if all(cell for *_, cell in ps) else CANNOT_TELL, "")

    def _measured(self, evidence: Evidence, block: Block, rows: list[Row]) -> Answer:
        pairs = self._pairs(evidence, block, rows)
        if min(pair.n for pair in pairs) == 0:
            return Answer(NOT_RUN, "no complete pairs of runs")
        level = self.p_below or evidence.statistics.alpha
        ps = [max([getattr(pair, f"p_{name}") for name in self.by] or [pair.p]) for pair in pairs]
        right = all(self._better(pair.estimate) for pair in pairs)
        verdict = NOT_HELD if not right else HELD if all(p < level for p in ps) else DIRECTION
        best = (min if self.lower else max)(pair.second for pair in pairs)
        label_of_best = next(row.label for row, pair in zip(rows[1:], pairs, strict=True) if pair.second == best)
        text = f"{self._measured_at()}, n {pairs[0].n_expected}: {rows[0].label} {pairs[0].first:.3f}, "
        text += f"{'the other is' if len(pairs) == 1 else 'best other'} {label_of_best} {best:.3f}; "
        text += self._remark(rows[1:], pairs, ps, level)
        least = max(pair.smallest_p for pair in pairs)
        text += "; no data of so few runs could be beyond chance" if least >= level else ""
        return Answer(verdict, text)

    def _remark(self, rows: list[Row], pairs: list[Pairs], ps: list[float], level: float) -> str:
        """Return the rows that are not beaten or not beyond chance, or the largest p."""
        every = list(zip(rows, pairs, ps, strict=True))
        lacking = "".join(dict.fromkeys(runs_text(pair) for pair in pairs))
        if ahead := [(row, p) for row, pair, p in every if not self._better(pair.estimate)]:
            return f"not ahead of {', '.join(f'{row.label} (p {p_text(p)})' for row, p in ahead)}{lacking}"
        if near := [(row, p) for row, _, p in every if not p < level]:
            return f"not beyond chance: {', '.join(f'{row.label} (p {p_text(p)})' for row, p in near)}{lacking}"
        return f"every p at most {p_text(max(ps))}{lacking}"


class NotWorse(_AgainstOthers):
    """The row loses at most .01 to others: the interval of the difference excludes more."""

    kind: Literal["not_worse"]

    def _reported(self, cells: dict[RowName, ReportedMean], paper: Paper) -> Answer:
        row, *others = cells.values()
        lost = [abs(row.mean - cell.mean) for cell in others if self._better(cell.mean - row.mean)]
        worst = max(lost, default=0.0)
        verdict = CONTRADICTED if worst > _HARM + 1e-9 else CONSISTENT
        return Answer(verdict, f"{self._reported_at()}: loses {worst:.3f}" if lost else "")

    def _measured(self, evidence: Evidence, block: Block, rows: list[Row]) -> Answer:
        pairs = self._pairs(evidence, block, rows)
        if min(pair.n for pair in pairs) == 0:
            return Answer(NOT_RUN, "no complete pairs of runs")
        # Gains, of which the least that the interval allows counts.
        gains = [(-pair.estimate, -pair.high) if self.lower else (pair.estimate, pair.low) for pair in pairs]
        held = all(low > -_HARM for _, low in gains)
        verdict = HELD if held else DIRECTION if all(gain > -_HARM for gain, _ in gains) else NOT_HELD
        return Answer(verdict, f"{self._measured_at()}, {rows[0].label} minus: {intervals(rows[1:], pairs)}")


class Difference(_TablePart):
    """The row differs from another by a certain amount: the interval of the difference has it, and not zero."""

    kind: Literal["difference"]
    minus: Named
    amount: float

    def named(self) -> list[RowName]:
        return [row_name(self.row), row_name(self.minus)]

    def _reported(self, cells: dict[RowName, ReportedMean], paper: Paper) -> Answer:
        row, other = cells.values()
        difference = row.mean - other.mean
        # Each of the two is rounded by half a unit.
        verdict = CONSISTENT if abs(difference - self.amount) <= row.unit + 1e-9 else CONTRADICTED
        return Answer(verdict, f"{self._reported_at()}: {difference:+.3f} in print")

    def _measured(self, evidence: Evidence, block: Block, rows: list[Row]) -> Answer:
        (pair,) = self._pairs(evidence, block, rows)
        if not pair.n:
            return Answer(NOT_RUN, "no complete pairs of runs")
        same_sign = pair.estimate * self.amount > 0
        beyond = pair.low > 0 or pair.high < 0
        held = same_sign and beyond and pair.low <= self.amount <= pair.high
        text = f"{self._measured_at()}, n {pair.n}: {pair.estimate:+.3f} [{pair.low:+.3f}, {pair.high:+.3f}]"
        return Answer(HELD if held else DIRECTION if same_sign else NOT_HELD, text)


class Insignificant(_AgainstOthers):
    """Differences to others have p above a level."""

    kind: Literal["insignificant"]
    p_above: float
    reported_p: str

    def _reported(self, cells: dict[RowName, ReportedMean], paper: Paper) -> Answer:
        ps = {name: paper.cell(self.table, self.ratio, self.reported_p, name) for name in self.named()[1:]}
        below = [f"{label(name)} p = {cell.mean:g}" for name, cell in ps.items() if cell and cell.mean <= self.p_above]
        told = CONSISTENT if all(ps.values()) else CANNOT_TELL
        return Answer(CONTRADICTED if below else told, ", ".join(below))

    def _measured(self, evidence: Evidence, block: Block, rows: list[Row]) -> Answer:
        pairs = self._pairs(evidence, block, rows)
        if min(pair.n for pair in pairs) == 0:
            return Answer(NOT_RUN, "no complete pairs of runs")
        ps = [f"{row.label} p {p_text(pair.p)}" for row, pair in zip(rows[1:], pairs, strict=True)]
        text = f"{self._measured_at()}, n {pairs[0].n}: {', '.join(ps)}"
        if any(np.isnan(pair.p) for pair in pairs):
            return Answer(NOT_RUN, text)
        least = max(pair.smallest_p for pair in pairs)
        if least > self.p_above:
            return Answer(NOT_RUN, f"{text}; p cannot be below {least:g}, whatever the data")
        return Answer(HELD if all(pair.p > self.p_above for pair in pairs) else NOT_HELD, text)


class Spread(_AgainstOthers):
    """The row has the least, or the most, deviation over runs: beyond chance where every `spread_p` is below the level.

    In a study in folds runs are not independent, and these p are too small. In print equal deviations cannot tell.
    """

    kind: Literal["spread"]
    most: bool = False

    def _reported(self, cells: dict[RowName, ReportedMean], paper: Paper) -> Answer:
        (name, row), *others = cells.items()
        if any(np.isnan(cell.std) for cell in cells.values()):
            return Answer(CANNOT_TELL, "")
        sign = -1 if self.most else 1
        at = f"{self._reported_at()}: {label(name)} SD {row.std:g}"
        losing = [f"{label(one)} SD {cell.std:g}" for one, cell in others if sign * (cell.std - row.std) < 0]
        if losing:
            return Answer(CONTRADICTED, f"{at}, {', '.join(losing)}")
        equal = [label(one) for one, cell in others if cell.std == row.std]
        return Answer(CANNOT_TELL, f"{at} as {', '.join(equal)}") if equal else Answer(CONSISTENT, "")

    def _measured(self, evidence: Evidence, block: Block, rows: list[Row]) -> Answer:
        values = evidence.values(self.table, block, rows, self.measured_metric)
        values = values[~np.isnan(values).any(axis=1)]
        if len(values) < 2:
            return Answer(NOT_RUN, "fewer than two complete runs")
        stds = values.std(axis=0, ddof=1)
        right = stds[0] >= stds.max() if self.most else stds[0] <= stds.min()
        ps = [spread_p(values[:, 0], other) for other in values[:, 1:].T]
        verdict = NOT_HELD if not right else HELD if all(p < evidence.statistics.alpha for p in ps) else DIRECTION
        text = [f"{rows[0].label} SD {stds[0]:.3f}"]
        text += [
            f"{row.label} SD {std:.3f} (p {p_text(p)})" for row, std, p in zip(rows[1:], stds[1:], ps, strict=True)
        ]
        return Answer(verdict, f"{self._measured_at()}, n {len(values)}: {', '.join(text)}")


class EveryRun(_TablePart):
    """The row is better than another in every single run; in direction where it is in most."""

    kind: Literal["every_run"]
    than: Named

    def named(self) -> list[RowName]:
        return [row_name(self.row), row_name(self.than)]

    def _reported(self, cells: dict[RowName, ReportedMean], paper: Paper) -> Answer:
        return Answer(CANNOT_TELL, "")

    def _measured(self, evidence: Evidence, block: Block, rows: list[Row]) -> Answer:
        values = evidence.values(self.table, block, rows, self.measured_metric)
        values = values[~np.isnan(values).any(axis=1)]
        if not len(values):
            return Answer(NOT_RUN, "no complete pairs of runs")
        wins = sum(self._better(difference) for difference in values[:, 0] - values[:, 1])
        verdict = HELD if wins == len(values) else DIRECTION if wins > len(values) / 2 else NOT_HELD
        better = f"{rows[0].label} better than {rows[1].label} in {wins} of {len(values)} runs"
        return Answer(verdict, f"{self._measured_at()}: {better}")


def spread_p(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Compute the two-sided p of equal deviations of paired values (Pitman 1939, Morgan 1939); NaN below n = 3."""
    sums, differences = first + second, first - second
    if len(first) < 3 or np.ptp(sums) == 0 or np.ptp(differences) == 0:
        return float("nan")
    return float(stats.pearsonr(sums, differences).pvalue)
