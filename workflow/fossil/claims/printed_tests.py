"""Printed p-values against the values that their tests can take."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from fossil.claims.finding import Finding, verdict_of
from fossil.claims.reported import Paper
from fossil.claims.verdicts import EMPTY

PAIRS = {"synthetic-results": 8, "difficulty-defs": 4, "final-tuning": 15}
"""Paired runs of each table that prints p-values: its seeds, or folds times seeds."""

SHUFFLES = 10_000
"""Sign flips of the paper's permutation tests."""


@cache
def wilcoxon_levels(n: int) -> NDArray[np.float64]:
    """List every two-sided p of the exact signed-rank test of n pairs without ties or zeros, ascending."""
    # Ways to reach each rank sum: the product of the polynomials 1 + x^r.
    ways = np.ones(1)
    for rank in range(1, n + 1):
        ways = np.convolve(ways, np.concatenate([[1.0], np.zeros(rank - 1), [1.0]]))
    lower = np.cumsum(ways) / 2.0**n
    return np.unique(np.minimum(1.0, 2 * lower))


def check_wilcoxon_p(paper: Paper) -> list[Finding]:
    """Find the value that n pairs allow from which a printed Wilcoxon p rounds."""
    findings = []
    for table, n in PAIRS.items():
        levels = wilcoxon_levels(n)
        for (method, variant), cell in paper.rows(table, "", "p_wilcoxon").items():
            nearest = float(levels[np.abs(levels - cell.mean).argmin()])
            bound = paper.is_bound(table, "p_wilcoxon", (method, variant))
            reachable = levels[0] < cell.mean if bound else abs(nearest - cell.mean) <= cell.unit / 2 + 1e-12
            text = f"{'below ' if bound else ''}{cell.mean:g} printed, {nearest:.5f} is the nearest with n = {n}"
            verdict = verdict_of(reachable)
            if levels[0] >= 0.05:
                text += f"; the smallest is {levels[0]:g}, so that no data could be significant"
                verdict = EMPTY if reachable else verdict
            elif nearest == levels[0]:
                text += ", which is the smallest: every pair has the same sign"
            elif not reachable and abs(nearest - cell.mean) < cell.unit:
                text += "; a tie, a zero or rounding twice may explain it"
                verdict = EMPTY
            elif nearest == levels[1] and not bound:
                text += ", which is the second smallest: one pair ties or has the other sign"
            rule = "a Wilcoxon p is one of the values that its number of pairs allows"
            name = " ".join(filter(None, ["wilcoxon", table, method, variant]))
            findings.append(Finding(name, cell.line, rule, text, verdict))
    return findings


def check_permutation_p(paper: Paper) -> list[Finding]:
    """Find the exact value, an even multiple of 2^-n, that a p of random sign flips is near."""
    findings = []
    for table, n in PAIRS.items():
        levels = np.arange(1, 2 ** (n - 1) + 1) / 2.0 ** (n - 1)
        for (method, variant), cell in paper.rows(table, "", "p_permutation").items():
            spread = np.sqrt(levels * (1 - levels) / SHUFFLES)
            # Where 10,000 flips are drawn, three deviations of their share, and the rounding.
            reachable = bool((np.abs(levels - cell.mean) <= 3 * spread + cell.unit / 2).any())
            nearest = float(levels[np.abs(levels - cell.mean).argmin()])
            text = f"{cell.mean:g} printed, {nearest:.4f} is the nearest exact value with n = {n}"
            verdict = EMPTY if reachable and levels[0] >= 0.05 else verdict_of(reachable)
            rule = f"a p of {SHUFFLES} random sign flips is near an exact one"
            name = " ".join(filter(None, ["permutation", table, method, variant]))
            findings.append(Finding(name, cell.line, rule, text, verdict))
    return findings
