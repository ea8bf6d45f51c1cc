"""Implicit gradients, against dense solves and finite differences of the re-solved problem."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from fossil.hypergradient import (
    Product,
    Solution,
    conjugate_gradient,
    sensitivities,
)
from fossil.hypergradient.problem import BilevelProblem, Chunk, Vector
from tests.unit.hypergradient.networks import (
    F64,
    SIZE,
    data,
    dense,
    losses_of,
    of_model,
    whole_problem,
)

EXACT = partial(conjugate_gradient, iterations=500, tolerance=1e-14)


def damped(stack: int = 1, damping: float = 1.0) -> Callable[[Product, Vector], Solution]:
    return partial(EXACT, damping=damping, stack=stack)


def test_sensitivities_of_a_stack_are_those_of_a_dense_solve() -> None:
    inputs, targets, parameters = data(3)
    coefficients = torch.rand(3, 30, generator=torch.Generator().manual_seed(4), dtype=F64)
    found, solution = sensitivities(whole_problem(inputs, targets, parameters), coefficients, damped(damping=30.0))
    assert not solution.negative_curvature.any()
    for m in range(3):
        hessian, jacobian, slope = dense(inputs[m], targets[m], of_model(parameters, m), coefficients[m])
        assert torch.linalg.eigvalsh(hessian).min() < 0  # not convex, hence the damping
        expected = jacobian @ torch.linalg.solve(hessian + 30 * torch.eye(SIZE, dtype=F64), slope)
        assert float((found[m] - expected).norm() / expected.norm()) < 1e-8


def test_sensitivities_do_not_depend_on_how_samples_are_cut_into_parts() -> None:
    inputs, targets, parameters = data(2)
    coefficients = torch.rand(2, 30, generator=torch.Generator().manual_seed(4), dtype=F64)
    whole, _ = sensitivities(whole_problem(inputs, targets, parameters), coefficients, damped(damping=6.0))
    cut, _ = sensitivities(whole_problem(inputs, targets, parameters, cut=11), coefficients, damped(damping=6.0))
    torch.testing.assert_close(cut, whole, rtol=1e-11, atol=1e-12)


def test_sensitivities_by_finite_differences_come_close() -> None:
    inputs, targets, parameters = data(2)
    coefficients = torch.rand(2, 30, generator=torch.Generator().manual_seed(4), dtype=F64)
    problem = whole_problem(inputs, targets, parameters)
    exact, _ = sensitivities(problem, coefficients, damped(damping=6.0))
    near, _ = sensitivities(
        problem,
        coefficients,
        partial(conjugate_gradient, damping=6.0, iterations=60, tolerance=1e-9, stack=1),
        finite_differences=True,
    )
    assert float((near - exact).norm() / exact.norm()) < 1e-6


def test_curvature_of_some_samples_counts_as_if_there_were_as_many_as_in_training() -> None:
    inputs, targets, parameters = data(1)
    coefficients = torch.rand(1, 30, generator=torch.Generator().manual_seed(4), dtype=F64)
    index = torch.arange(0, 30, 3).unsqueeze(0)
    some = [Chunk(losses_of(inputs[:, ::3], targets[:, ::3]), index)]
    problem = whole_problem(inputs, targets, parameters)
    partly = BilevelProblem(parameters, problem.train, problem.validation, stack=1, curvature=some)
    found, _ = sensitivities(partly, coefficients, damped(damping=10.0))
    hessian, *_ = dense(inputs[0, ::3], targets[0, ::3], of_model(parameters, 0), 3 * coefficients[0, ::3])
    _, jacobian, slope = dense(inputs[0], targets[0], of_model(parameters, 0), coefficients[0])
    expected = jacobian @ torch.linalg.solve(hessian + 10 * torch.eye(SIZE, dtype=F64), slope)
    assert float((found[0] - expected).norm() / expected.norm()) < 1e-8


def test_samples_in_no_part_have_sensitivity_zero() -> None:
    inputs, targets, parameters = data(1)
    problem = whole_problem(inputs, targets, parameters, cut=10)
    found, _ = sensitivities(
        BilevelProblem(parameters, problem.train[:1], problem.validation, stack=1),
        torch.ones(1, 30, dtype=F64),
        damped(),
    )
    assert (found[0, 10:] == 0).all()
    assert (found[0, :10] != 0).all()


# Ridge logistic regression: convex, so that the lower level can be solved to the last digits for any weights.

RIDGE = 0.3


def regression_data(count: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(count, 3, generator=generator, dtype=F64)
    return inputs, (inputs[:, 0] + torch.randn(count, generator=generator, dtype=F64) > 0.8).to(F64)


def regression_losses(inputs: Tensor, targets: Tensor) -> Callable[[Vector], Tensor]:
    return lambda p: functional.binary_cross_entropy_with_logits(inputs @ p[0], targets, reduction="none")


def solve_lower_level(inputs: Tensor, targets: Tensor, coefficients: Tensor, ridge: float = RIDGE) -> Tensor:
    """Newton's method, with derivatives by hand."""
    theta = torch.zeros(inputs.shape[1], dtype=F64)
    for _ in range(60):
        p = (inputs @ theta).sigmoid()
        slope = inputs.T @ (coefficients * (p - targets)) + ridge * theta
        hessian = (inputs.T * (coefficients * p * (1 - p))) @ inputs + ridge * torch.eye(len(theta), dtype=F64)
        theta = theta - torch.linalg.solve(hessian, slope)
    assert slope.norm() < 1e-13
    return theta


@pytest.mark.parametrize("seed", range(5))
def test_hypergradients_are_finite_differences_of_the_solved_problem(seed: int) -> None:
    inputs, targets = regression_data(20, seed)
    validation = regression_losses(*regression_data(15, seed + 100))
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(20, generator=generator, dtype=F64)
    is_augmented = torch.arange(20) % 3 == 0
    penalties = torch.rand(20, generator=generator, dtype=F64) * is_augmented

    def upper(w: Tensor, lam: Tensor) -> Tensor:
        return validation((solve_lower_level(inputs, targets, w * (1 - lam * is_augmented)),)).mean()

    coefficients = weights * (1 - penalties * is_augmented)
    problem = BilevelProblem(
        (solve_lower_level(inputs, targets, coefficients),),
        [Chunk(regression_losses(inputs, targets), torch.arange(20))],
        [Chunk(validation, torch.arange(15))],
    )
    # Damping is the ridge: the lower level's Hessian is that of the weighted losses plus ridge I.
    found, _ = sensitivities(problem, coefficients, damped(stack=0, damping=RIDGE))
    by_weight, by_penalty = -(1 - penalties * is_augmented) * found, weights * is_augmented * found
    h = 1e-5
    steps = h * torch.eye(20, dtype=F64)
    expected_weight = torch.stack([upper(weights + e, penalties) - upper(weights - e, penalties) for e in steps]) / (
        2 * h
    )
    expected_penalty = torch.stack([upper(weights, penalties + e) - upper(weights, penalties - e) for e in steps]) / (
        2 * h
    )
    assert float((by_weight - expected_weight).norm() / expected_weight.norm()) < 1e-6
    assert float((by_penalty - expected_penalty).norm() / expected_penalty.norm()) < 1e-6
    assert (expected_penalty[~is_augmented] == 0).all()


def test_scaling_all_weights_changes_nothing_at_a_minimum_without_ridge() -> None:
    inputs, targets = regression_data(60, 1)
    coefficients = torch.rand(60, generator=torch.Generator().manual_seed(0), dtype=F64)
    theta = solve_lower_level(inputs, targets, coefficients, ridge=0.0)
    problem = BilevelProblem(
        (theta,),
        [Chunk(regression_losses(inputs, targets), torch.arange(60))],
        [Chunk(regression_losses(*regression_data(30, 2)), torch.arange(30))],
    )
    found, _ = sensitivities(problem, coefficients, damped(stack=0, damping=0.0))
    assert abs(float(coefficients @ found)) < 1e-12
    assert float(found.norm()) > 1e-3
