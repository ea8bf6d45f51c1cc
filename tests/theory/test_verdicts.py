"""A verdict follows from what was found: each check says something else when what it checks is broken."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from fossil.config import FossilOptions
from fossil.evaluation.theory import (
    bilevel,
    curvature,
    generalisation,
    regret,
    sample_size,
    special_cases,
    stability,
    weights,
)
from fossil.evaluation.theory.curvature import Cost
from fossil.evaluation.theory.equation import printed_weights, trained_weights
from fossil.evaluation.theory.statement import Statement, decide, judge, loglog_slope
from fossil.evaluation.theory.streams import Trace
from fossil.hypergradient import hessian_vector_product
from fossil.methods.base import Batch, Progress

ROUNDS = np.arange(1.0, 20_001)


def turned_round(batch: Batch, options: FossilOptions, progress: Progress) -> Tensor:
    """Weights for which the printed Lemma 3.2 is true: they fall as the temperature rises."""
    plain = dataclasses.replace(batch, difficulty=torch.zeros_like(batch.difficulty))
    cap = trained_weights(plain, options, progress)
    return cap * (1 - trained_weights(batch, options, progress) / cap)


def doubled(batch: Batch, options: FossilOptions, progress: Progress) -> Tensor:
    return 2 * trained_weights(batch, options, progress)


def equal(batch: Batch, options: FossilOptions, progress: Progress) -> Tensor:
    return torch.ones_like(batch.difficulty)


def trace(regrets: np.ndarray, path: np.ndarray | None = None, name: str = "made up") -> Trace:
    return Trace(name, regrets, 1.0, 2.0, path)


def runs(gap_of: Callable[[float], float], n_eff: list[float]) -> pd.DataFrame:
    """Runs of one epoch, one a seed, with a chosen N_eff and gap."""
    rows = [
        {
            **{"method": "fossil", "seed": seed, "epoch": 0, "samples": 1000, "n_eff": count},
            **{"validation_loss": 1 + gap_of(count), "weighted_train_loss": 0.5, "weight_mean": 0.5},
        }
        for seed, count in enumerate(n_eff)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("printed", "corrected", "verdict"),
    [
        (True, False, "verified"),
        (True, True, "verified"),
        (False, True, "verified in corrected form"),
        (False, False, "refuted"),
    ],
)
def test_a_statement_is_refuted_only_if_neither_form_holds(printed: bool, corrected: bool, verdict: str) -> None:
    assert decide(printed=printed, corrected=corrected) == verdict


def test_what_is_verified_has_no_correction() -> None:
    words = {"place": "p", "claim": "c", "evidence": "e", "correction": "another"}
    assert judge("s", **words, printed=True).correction == ""
    assert judge("s", **words, printed=False).correction == "another"
    assert math.isnan(judge("s", **words, printed=True).measured)


def test_slope_of_a_power_law_is_its_exponent() -> None:
    x = np.array([1.0, 10.0, 300.0])
    assert loglog_slope(x, 7 * x**-1.5) == pytest.approx(-1.5)


@pytest.mark.parametrize(
    ("check", "broken"),
    [
        (partial(weights.lemma_3_1, seed=1, cases=60), doubled),
        (partial(weights.lemma_3_1, seed=1, cases=60), equal),
        (partial(weights.lemma_3_1, seed=1, cases=60), printed_weights),
        (partial(weights.lemma_3_2_corrected, seed=1, pairs=20), turned_round),
        (partial(special_cases.corollary_3_1_class_balance, seed=1), doubled),
        (special_cases.corollary_3_1_focal, equal),
        (partial(special_cases.corollary_3_1_curriculum, seed=1), equal),
        (partial(stability.theorem_3_1, seed=1), lambda *a: 100 * trained_weights(*a)),
        (partial(stability.proposition_4_1, seed=1), lambda *a: 100 * trained_weights(*a)),
    ],
)
def test_weights_that_are_not_eq_1_are_found_out(check: Callable[..., Statement], broken: object) -> None:
    assert check().verdict != "refuted"
    assert check(weigh=broken).verdict == "refuted"


def test_printed_lemma_on_the_temperature_would_be_verified_if_weights_fell_with_it() -> None:
    assert weights.lemma_3_2().verdict == "refuted"
    assert weights.lemma_3_2(weigh=turned_round).verdict == "verified"


def test_printed_gap_would_be_verified_if_the_training_loss_were_unweighted() -> None:
    assert generalisation.theorem_4_2(seed=1).verdict == "verified in corrected form"
    assert generalisation.theorem_4_2(seed=1, weigh=equal).verdict == "verified"


def test_printed_growth_of_the_effective_sample_size_would_be_verified_for_equal_weights() -> None:
    assert sample_size.corollary_4_1(seed=1).verdict == "verified in corrected form"
    assert sample_size.corollary_4_1(seed=1, weigh=equal).verdict == "verified"


@pytest.mark.parametrize(
    "count",
    [
        lambda w: torch.tensor(float(len(w))),
        lambda w: w.square().sum() / w.sum().square(),
        lambda w: w.sum() / w.max(),
    ],
)
def test_other_sample_sizes_than_kishs_are_found_out(count: Callable[[Tensor], Tensor]) -> None:
    assert sample_size.n_eff_range(seed=1).verdict == "verified"
    assert sample_size.n_eff_range(seed=1, count=count).verdict == "refuted"


def test_static_regret_is_verified_at_the_rate_of_the_root_and_refuted_above_the_bound_or_beside_the_rate() -> None:
    bound = 1.5 * 2 * np.sqrt(ROUNDS)
    assert regret.static_regret([trace(0.9 * bound)]).verdict == "verified"
    assert regret.static_regret([trace(0.9 * bound), trace(1.1 * bound, name="too much")]).verdict == "refuted"
    assert regret.static_regret([trace(0.01 * ROUNDS)]).verdict == "refuted"


def test_dynamic_regret_is_verified_at_the_printed_rate_corrected_at_the_proofs_and_else_refuted() -> None:
    path = ROUNDS**0.25
    root = np.sqrt(ROUNDS)
    assert regret.dynamic_regret([trace(root + path, path)]).verdict == "verified"
    assert regret.dynamic_regret([trace(root * (1 + path) / 2, path)]).verdict == "verified in corrected form"
    assert regret.dynamic_regret([trace(5 * root * (1 + path), path)]).verdict == "refuted"


def test_average_regret_is_said_to_vanish_only_if_it_does_on_every_sublinear_path() -> None:
    slow, fast = 10 * ROUNDS**0.25, 10 * ROUNDS**0.5
    falls, stays = trace(ROUNDS**0.75, slow), trace(0.5 * ROUNDS, fast, name="stays")
    assert regret.vanishing_regret([falls]).verdict == "verified"
    assert regret.vanishing_regret([falls, stays]).verdict == "verified in corrected form"
    assert regret.vanishing_regret([trace(0.5 * ROUNDS, slow)]).verdict == "refuted"


def test_a_path_of_linear_length_is_no_counterexample_to_vanishing_regret() -> None:
    falls, wild = trace(ROUNDS**0.75, 10 * ROUNDS**0.25), trace(0.5 * ROUNDS, 0.1 * ROUNDS, name="wild")
    assert regret.vanishing_regret([falls, wild]).verdict == "verified"


def test_curvature_products_that_are_wrong_are_found_out() -> None:
    def wrong(objective: object, parameters: object) -> object:
        product = hessian_vector_product(objective, parameters)
        return lambda v: tuple(1.001 * part for part in product(v))

    assert curvature.hessian_vector_identity(seed=1).verdict == "verified"
    assert curvature.hessian_vector_identity(seed=1, make_product=wrong).verdict == "refuted"


@pytest.mark.parametrize(
    ("seconds", "operations", "verdict"), [(1, 1, "verified"), (2, 1, "refuted"), (1, 2, "refuted")]
)
def test_cost_of_an_iteration_is_refuted_where_time_or_operations_grow_faster_than_linearly(
    seconds: int, operations: int, verdict: str
) -> None:
    costs = [Cost(d, 1e-9 * d**seconds, 6 * d**operations) for d in (10, 1000, 100_000)]
    assert curvature.iteration_cost(costs).verdict == verdict


@pytest.mark.parametrize(
    "broken",
    [
        {"onto_simplex": lambda z: z.clamp_min(0) / z.clamp_min(0).sum(-1, keepdim=True)},  # feasible, not nearest
        {"onto_simplex": lambda z: z.clamp_min(0)},
        {"onto_box": torch.sigmoid},
        {"onto_box": lambda z: z.clamp(0, 2)},
    ],
)
def test_projections_that_are_not_feasible_or_not_nearest_are_found_out(broken: dict[str, object]) -> None:
    assert curvature.projections(seed=1).verdict == "verified"
    assert curvature.projections(seed=1, **broken).verdict == "refuted"


def test_hypergradients_are_found_out_where_the_lower_level_is_not_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = (bilevel.hypergradient, bilevel.hypergradient_of_penalties, bilevel.null_direction)
    assert [check(seed=1).verdict for check in checks] == ["verified", "verified in corrected form", "verified"]
    solve = bilevel.Bilevel.solve
    monkeypatch.setattr(bilevel.Bilevel, "solve", lambda self, c: 0.9 * solve(self, c) + 0.1)
    assert [check(seed=1).verdict for check in checks] == ["refuted"] * 3


def test_convexity_would_be_verified_for_an_upper_loss_that_is_convex(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bilevel.convexity(seed=1, problems=3).verdict == "refuted"
    monkeypatch.setattr(bilevel.Bilevel, "upper", lambda self, w: float(w @ w))
    assert bilevel.convexity(seed=1, problems=3).verdict == "verified"


def test_that_bounded_weights_suffice_for_a_minimiser_is_refuted_by_separable_data_only() -> None:
    assert stability.theorem_3_1_divergence(seed=1).verdict == "refuted"
    assert stability.theorem_3_1_divergence(seed=1, turned=3).verdict == "verified"


def test_gaps_of_runs_are_verified_where_they_grow_with_one_over_the_root_of_n_eff_and_refuted_where_not() -> None:
    counts = [100.0, 200.0, 400.0, 800.0, 900.0]
    grow = generalisation.theorem_4_2_runs(runs(lambda count: 3 / math.sqrt(count), counts), seed=1)
    fall = generalisation.theorem_4_2_runs(runs(lambda count: count / 1000, counts), seed=1)
    assert grow is not None
    assert fall is not None
    assert (grow.verdict, fall.verdict) == ("verified", "refuted")
    assert grow.measured == pytest.approx(1)
    assert "slope in logarithms 1.00" in grow.evidence


@pytest.mark.parametrize("counts", [[], [100.0, 200.0], [100.0] * 6])
def test_nothing_is_said_of_runs_that_are_too_few_or_have_the_same_n_eff(counts: list[float]) -> None:
    table = runs(lambda count: 0.1, counts) if counts else runs(lambda count: 0.1, [1.0]).iloc[:0]
    assert generalisation.theorem_4_2_runs(table, seed=1) is None


def test_a_run_in_which_one_sample_has_half_of_the_weight_refutes_that_none_dominates() -> None:
    calm = sample_size.corollary_4_1_runs(runs(lambda count: 0.1, [500.0, 300.0]))
    wild = sample_size.corollary_4_1_runs(runs(lambda count: 0.1, [500.0, 3.0]))
    assert calm is not None
    assert wild is not None
    assert (calm.verdict, wild.verdict) == ("verified", "refuted")
    assert "fossil 0.300" in calm.evidence


def of_method(name: str, gap_of: Callable[[float], float], n_eff: list[float]) -> pd.DataFrame:
    return runs(gap_of, n_eff).assign(method=name)


def test_gaps_that_differ_among_methods_only_do_not_verify_the_relation() -> None:
    # Two methods far apart; within each the gap goes the other way.
    table = pd.concat(
        [
            of_method("low", lambda count: 1.0 + count / 1000, [10.0, 11.0, 12.0, 13.0, 14.0, 15.0]),
            of_method("high", lambda count: 0.1 + count / 100_000, [900.0, 910.0, 920.0, 930.0, 940.0, 950.0]),
        ],
        ignore_index=True,
    )
    found = generalisation.theorem_4_2_runs(table, seed=1)
    assert found is not None
    assert found.measured > 0.4  # all together the correlation is positive
    assert found.verdict == "refuted"
    assert "low -1.00, high -1.00" in found.evidence


def test_methods_whose_gap_cannot_be_compared_are_left_out_and_named() -> None:
    counts = [100.0, 200.0, 400.0, 800.0, 900.0]
    good = of_method("erm", lambda count: 3 / math.sqrt(count), counts)
    learnt = of_method("meta", lambda count: count / 100, counts)
    found = generalisation.theorem_4_2_runs(pd.concat([good, learnt], ignore_index=True), seed=1, comparable=["erm"])
    assert found is not None
    assert found.verdict == "verified"
    assert "Over 5 runs" in found.evidence
    assert "meta left out" in found.evidence
