"""Numerical checks of the paper's statements: as printed and, where that fails, in a corrected form.

Each check stands under its statement in a module of this package (see ``statement``). ``runs`` describes what the
trained runs show; no verdict rests on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from fossil.theory import (
    bilevel,
    curvature,
    generalisation,
    regret,
    sample_size,
    special_cases,
    stability,
    streams,
    uniform,
    updates,
    weights,
)
from fossil.theory.curves import collect_curves
from fossil.theory.statement import Statement, check_all

__all__ = ["Inputs", "verify_theory"]

MODULES = (weights, stability, special_cases, generalisation, sample_size, uniform, regret, bilevel, curvature, updates)
"""Modules with statements; importing them registers their checks."""

ROUNDS = 100_000
"""Rounds of online gradient descent."""


@dataclass(frozen=True)
class Inputs:
    """Inputs of the checks of the statements, by the names of their parameters.

    Attributes
    ----------
    runs : DataFrame
        The histories of the runs, with the columns ``method`` and ``samples`` (training samples) added. They
        are described in the evidence of two statements; without rows that is left out.
    seed : int
        Of everything drawn at random.
    comparable : sequence of str or None
        Methods whose gap between training and validation loss can be compared (see ``runs``).
    rounds : int
        Rounds of online gradient descent.
    sizes : tuple of int
        Numbers of parameters at which an iteration of conjugate gradient is timed.
    """

    runs: pd.DataFrame
    seed: int
    comparable: Sequence[str] | None = None
    rounds: int = ROUNDS
    sizes: tuple[int, ...] = curvature.SIZES

    @cached_property
    def static(self) -> list[streams.Trace]:
        """Compute descent on the streams whose regret is static."""
        return streams.static_traces(seed=self.seed, rounds=self.rounds)

    @cached_property
    def dynamic(self) -> list[streams.Trace]:
        """Compute descent on the streams whose regret is dynamic."""
        return streams.dynamic_traces(seed=self.seed, rounds=self.rounds)

    @cached_property
    def one_step_error(self) -> float:
        """Compute how far Algorithm 1's direction is from the gradient of its loss."""
        return bilevel.one_step_error(seed=self.seed)

    @cached_property
    def costs(self) -> list[curvature.Cost]:
        """Measure an iteration of conjugate gradient."""
        return curvature.measure_costs(seed=self.seed, sizes=self.sizes)


def verify_theory(inputs: Inputs) -> tuple[list[Statement], pd.DataFrame]:
    """Check every statement, in the order of the paper, and collect the curves of the figure (see ``curves``)."""
    statements = list(check_all(inputs))
    return statements, collect_curves(inputs.runs, inputs.static, inputs.dynamic, inputs.costs)
