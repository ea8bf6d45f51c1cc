"""The paper's statements, each checked by computing: as printed and, where that fails, in a corrected form.

============================  ==========================================================================
module                        statements
============================  ==========================================================================
``weights``                   Lemmas 3.1 and 3.2
``stability``                 Theorem 3.1, Proposition 4.1
``special_cases``             Corollary 3.1
``generalisation``            Theorem 4.2
``sample_size``               N_eff, the variance that it stands for, Corollary 4.1
``uniform``                   Uniform convergence, consistency
``streams``, ``regret``       Theorem 4.3
``bilevel``                   Eq. 6, convexity of the upper level, unrolled hypergradients
``curvature``                 Proposition 4.4, projections
``updates``                   Momentum of weights and penalties
============================  ==========================================================================

``runs`` describes what the trained runs show; no verdict rests on it.
"""

from __future__ import annotations

from collections.abc import Sequence

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
from fossil.theory.statement import Statement

ROUNDS = 100_000
"""Rounds of online gradient descent."""


def verify_theory(
    runs: pd.DataFrame,
    *,
    seed: int,
    comparable: Sequence[str] | None = None,
    rounds: int = ROUNDS,
    sizes: tuple[int, ...] = curvature.SIZES,
) -> tuple[list[Statement], pd.DataFrame]:
    """Check every statement.

    Parameters
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

    Returns
    -------
    list of Statement, DataFrame
        In the order of the paper; and the curves of the figure (see ``curves``).
    """
    static = streams.static_traces(seed=seed, rounds=rounds)
    dynamic = streams.dynamic_traces(seed=seed, rounds=rounds)
    costs = curvature.measure_costs(seed=seed, sizes=sizes)
    found = [
        weights.lemma_3_1(seed=seed),
        weights.lemma_3_2(seed=seed),
        stability.theorem_3_1(seed=seed),
        stability.theorem_3_1_divergence(seed=seed),
        special_cases.corollary_3_1_class_balance(seed=seed),
        special_cases.corollary_3_1_focal(),
        special_cases.corollary_3_1_curriculum(seed=seed),
        stability.proposition_4_1(seed=seed),
        generalisation.theorem_4_2(seed=seed, runs=runs, comparable=comparable),
        sample_size.corollary_4_1(seed=seed, runs=runs),
        uniform.uniform_convergence(seed=seed),
        uniform.consistency(seed=seed),
        sample_size.n_eff_range(seed=seed),
        sample_size.variance_decomposition(seed=seed),
        regret.static_regret(static, one_step_error=bilevel.one_step_error(seed=seed)),
        regret.dynamic_regret(dynamic),
        regret.vanishing_regret(dynamic),
        bilevel.convexity(seed=seed),
        bilevel.hypergradient(seed=seed),
        bilevel.hypergradient_of_penalties(seed=seed),
        bilevel.null_direction(seed=seed),
        bilevel.truncated_implicit(seed=seed),
        curvature.hessian_vector_identity(seed=seed),
        curvature.iteration_cost(costs),
        curvature.conjugate_gradient_accuracy(seed=seed),
        updates.update_rules(seed=seed),
        curvature.projections(seed=seed),
    ]
    return found, collect_curves(runs, static, dynamic, costs)
