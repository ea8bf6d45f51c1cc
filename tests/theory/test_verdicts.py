"""A verdict follows from what was found: each check says something else when what it checks is broken."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from fossil.config.methods.fossil import FossilOptions
from fossil.hypergradient import Solution, hessian_vector_product, upper_level
from fossil.hypergradient.problem import BilevelProblem
from fossil.hypergradient.upper_level import BilevelWeights
from fossil.methods.base import Batch, Progress
from fossil.theory import (
    bilevel,
    curvature,
    generalisation,
    regret,
    sample_size,
    special_cases,
    stability,
    uniform,
    updates,
    weights,
)
from fossil.theory import statement as statement_module
from fossil.theory.curvature import Cost
from fossil.theory.equation import printed_weights, trained_weights
from fossil.theory.statement import STATEMENTS, Outcome, Statement, decide, loglog_slope, statement
from fossil.theory.streams import Trace

ROUNDS = np.arange(1.0, 20_001)


def turned_round(batch: Batch, options: FossilOptions, progress: Progress) -> Tensor:
    """Weights for which the printed Lemma 3.2 is true: they fall as the temperature rises."""
    plain = dataclasses.replace(batch, difficulty=torch.zeros_like(batch.difficulty))
    cap = trained_weights(plain, options, progress)
    return cap * (1 - trained_weights(batch, options, progress) / cap)


def peaked(batch: Batch, options: FossilOptions, progress: Progress) -> Tensor:
    """Weights that rise and then fall with the temperature."""
    return trained_weights(batch, options, progress) * turned_round(batch, options, progress)


def doubled(batch: Batch, options: FossilOptions, progress: Progress) -> Tensor:
    return 2 * trained_weights(batch, options, progress)


def equal(batch: Batch, options: FossilOptions, progress: Progress) -> Tensor:
    return torch.ones_like(batch.difficulty)


def trace(regrets: np.ndarray, path: np.ndarray | None = None, name: str = "made up") -> Trace:
    return Trace(name, regrets, 1.0, 2.0, path)


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


@pytest.mark.parametrize(
    ("printed", "corrected", "as_printed", "correction"),
    [
        (True, False, "verified", ""),
        (True, True, "verified", ""),
        (False, True, "refuted", "another"),
        (False, False, "refuted", "another"),
    ],
)
def test_a_statement_is_as_printed_whatever_its_corrected_form_and_has_a_correction_unless_it_is_verified(
    monkeypatch: pytest.MonkeyPatch, printed: bool, corrected: bool, as_printed: str, correction: str
) -> None:
    monkeypatch.setattr(statement_module, "STATEMENTS", {})

    @statement("s", order=1, place="p", claim="c", correction="another")
    def check() -> Outcome:
        return Outcome(printed=printed, corrected=corrected, evidence="e")

    checked = check()
    assert (checked.as_printed, checked.correction) == (as_printed, correction)
    assert math.isnan(checked.measured)


def test_every_statement_has_a_place_of_its_own_in_the_papers_order() -> None:
    assert sorted(entry.order for entry in STATEMENTS.values()) == list(range(1, 28))


def test_slope_of_a_power_law_is_its_exponent() -> None:
    x = np.array([1.0, 10.0, 300.0])
    assert loglog_slope(x, 7 * x**-1.5) == pytest.approx(-1.5)


@pytest.mark.parametrize(
    ("check", "broken"),
    [
        (partial(weights.lemma_3_1, seed=1, cases=60), doubled),
        (partial(weights.lemma_3_1, seed=1, cases=60), equal),
        (partial(weights.lemma_3_1, seed=1, cases=60), printed_weights),
        (partial(weights.lemma_3_2, seed=1, pairs=20), peaked),
        (partial(special_cases.corollary_3_1_class_balance, seed=1), doubled),
        (special_cases.corollary_3_1_focal, equal),
        (partial(special_cases.corollary_3_1_curriculum, seed=1), equal),
        (partial(stability.theorem_3_1, seed=1), doubled),
        (partial(sample_size.corollary_4_1, seed=1), doubled),
        (partial(stability.proposition_4_1, seed=1), lambda *a: 100 * trained_weights(*a)),
    ],
)
def test_weights_that_are_not_eq_1_are_found_out(check: Callable[..., Statement], broken: object) -> None:
    assert check().verdict != "refuted"
    assert check(weigh=broken).verdict == "refuted"


def test_printed_lemma_on_the_temperature_would_be_verified_if_weights_fell_with_it() -> None:
    found = weights.lemma_3_2(seed=1, pairs=20)
    assert (found.as_printed, found.verdict) == ("refuted", "verified in corrected form")
    assert weights.lemma_3_2(seed=1, pairs=20, weigh=turned_round).as_printed == "verified"


def test_printed_gap_would_be_verified_if_the_training_loss_were_unweighted() -> None:
    assert generalisation.theorem_4_2(seed=1).verdict == "verified in corrected form"
    assert generalisation.theorem_4_2(seed=1, weigh=equal).verdict == "verified"


def test_printed_uniform_bound_would_be_verified_if_the_training_loss_were_unweighted() -> None:
    found = uniform.uniform_convergence(seed=1)
    assert (found.as_printed, found.verdict) == ("refuted", "verified in corrected form")
    assert found.bound < 0.02 < found.measured
    assert uniform.uniform_convergence(seed=1, weigh=equal).as_printed == "verified"


def copied_inputs(rng: np.random.Generator, repeats: int, classes: np.ndarray) -> np.ndarray:
    """All samples of a class have one input: losses that are not independent."""
    return rng.normal(size=(repeats, 1)) + uniform.CENTRES[classes]


@pytest.mark.parametrize("broken", [{"draw": copied_inputs}, {"count": lambda w: torch.tensor(100.0 * len(w))}])
def test_corrected_uniform_bound_fails_for_dependent_losses_and_for_too_large_a_sample_size(
    broken: dict[str, object],
) -> None:
    assert uniform.uniform_convergence(seed=1, **broken).verdict == "refuted"


def test_weighted_minimiser_is_consistent_for_the_loss_that_is_weighted_alike_only() -> None:
    found = uniform.consistency(seed=1)
    assert (found.as_printed, found.verdict) == ("refuted", "verified in corrected form")
    assert uniform.consistency(seed=1, weigh_validation=equal).verdict == "refuted"
    assert uniform.consistency(seed=1, weigh=equal).as_printed == "verified"


def test_class_balance_would_be_verified_as_printed_if_effective_numbers_were_inverse_frequencies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert special_cases.corollary_3_1_class_balance(seed=1).verdict == "verified in corrected form"
    monkeypatch.setattr(special_cases, "effective_number_ratio", lambda large, small, *, beta: large / small)
    assert special_cases.corollary_3_1_class_balance(seed=1).verdict == "verified"


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


@pytest.mark.parametrize(("error", "good"), [(0.0, "verified"), (0.5, "verified in corrected form")])
def test_static_regret_holds_at_the_rate_of_the_root_and_is_refuted_above_the_bound_or_beside_the_rate(
    error: float, good: str
) -> None:
    # As printed only if Algorithm 1 steps along the gradient of its own loss, as the proof assumes.
    bound = 1.5 * 2 * np.sqrt(ROUNDS)
    verdicts = [
        regret.static_regret(traces, one_step_error=error).verdict
        for traces in (
            [trace(0.9 * bound)],
            [trace(0.9 * bound), trace(1.1 * bound, name="too much")],
            [trace(0.01 * ROUNDS)],
        )
    ]
    assert verdicts == [good, "refuted", "refuted"]


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
    checks = (
        bilevel.hypergradient,
        bilevel.hypergradient_of_penalties,
        bilevel.null_direction,
        bilevel.truncated_implicit,
    )
    right = ["verified", "verified in corrected form", "verified", "verified"]
    assert [check(seed=1).verdict for check in checks] == right
    solve = bilevel.Bilevel.solve
    monkeypatch.setattr(bilevel.Bilevel, "solve", lambda self, c: 0.9 * solve(self, c) + 0.1)
    assert [check(seed=1).verdict for check in checks] == ["refuted"] * 4


def test_unrolled_hypergradients_of_a_descent_that_does_not_converge_are_found_out() -> None:
    assert bilevel.truncated_implicit(seed=1, stretch=30.0).verdict == "refuted"


def steepest_descent(product: Callable[..., object], target: tuple[Tensor], **options: object) -> Solution:
    """Solve by gradient steps of length 1/(1 + damping), which is slower than conjugate gradient."""
    x = torch.zeros_like(target[0])
    for _ in range(options["iterations"]):
        x = x + (target[0] - product((x,))[0] - options["damping"] * x) / (1 + options["damping"])
    none = torch.zeros(len(x))
    return Solution((x,), none, none, none)


def test_a_slower_solver_than_conjugate_gradient_is_found_out() -> None:
    assert curvature.conjugate_gradient_accuracy(seed=1).verdict == "verified"
    assert curvature.conjugate_gradient_accuracy(seed=1, solve=steepest_descent).verdict == "refuted"


@pytest.mark.parametrize("name", ["project_simplex", "project_box"])
def test_updates_without_a_projection_are_found_out(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert updates.update_rules(seed=1).verdict == "verified"
    monkeypatch.setattr(upper_level, name, lambda values, **_: values)
    assert updates.update_rules(seed=1).verdict == "refuted"


class HeavyBall(BilevelWeights):
    """Momentum that adds the whole hypergradient, as in heavy-ball descent."""

    def update(self, problem: BilevelProblem) -> None:
        before, beta = self.weights_momentum, self.options.momentum
        super().update(problem)
        self.weights_momentum = beta * before + (self.weights_momentum - beta * before) / (1 - beta)


class Frozen(BilevelWeights):
    """Weights that never move."""

    def update(self, problem: BilevelProblem) -> None:
        kept = self.weights
        super().update(problem)
        self.weights = kept


@pytest.mark.parametrize("broken", [HeavyBall, Frozen])
def test_updates_that_do_not_average_or_do_not_move_are_found_out(broken: type[BilevelWeights]) -> None:
    assert updates.update_rules(seed=1, make=broken).verdict == "refuted"


def test_convexity_would_be_verified_for_an_upper_loss_that_is_convex(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bilevel.convexity(seed=1, problems=3).verdict == "refuted"
    monkeypatch.setattr(bilevel.Bilevel, "upper", lambda self, w: float(w @ w))
    assert bilevel.convexity(seed=1, problems=3).verdict == "verified"


def test_that_bounded_weights_suffice_for_a_minimiser_is_refuted_by_separable_data_only() -> None:
    assert stability.theorem_3_1_divergence(seed=1).verdict == "refuted"
    assert stability.theorem_3_1_divergence(seed=1, turned=3).verdict == "verified"
