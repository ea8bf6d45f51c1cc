"""Derivatives and implicit gradients, against dense linear algebra and finite differences of the re-solved problem."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call, jacrev
from torch.nn import functional

from fossil.hypergradient import (
    Product,
    Solution,
    conjugate_gradient,
    finite_difference_jvp,
    finite_difference_product,
    gradient,
    hessian_vector_product,
    inner,
    per_sample_jvp,
    sensitivities,
)
from fossil.problem import BilevelProblem, Part, Vector

F64 = torch.float64
EXACT = partial(conjugate_gradient, iterations=500, tolerance=1e-14)


# --- A small network of which everything is known densely -------------------------------------------------------------


SHAPES = [(4, 5), (1, 5), (5, 1), (1, 1)]
SIZE = sum(np.prod(shape) for shape in SHAPES)


def network(parameters: Vector, inputs: Tensor) -> Tensor:
    first, first_bias, second, second_bias = parameters
    return ((inputs @ first + first_bias).tanh() @ second + second_bias).squeeze(-1)


def data(models: int, count: int = 30, seed: int = 0) -> tuple[Tensor, Tensor, Vector]:
    """Inputs (M, n, 4), targets (M, n) and parameters of M networks."""
    generator = torch.Generator().manual_seed(seed)
    draw = partial(torch.randn, generator=generator, dtype=F64)
    targets = (torch.rand(models, count, generator=generator) < 0.3).to(F64)
    return draw(models, count, 4), targets, tuple(draw(models, *shape) for shape in SHAPES)


def losses_of(inputs: Tensor, targets: Tensor) -> Callable[[Vector], Tensor]:
    return lambda parameters: functional.binary_cross_entropy_with_logits(
        network(parameters, inputs), targets, reduction="none"
    )


def flat(vector: Vector) -> Tensor:
    return torch.cat([part.flatten() for part in vector])


def unflat(values: Tensor) -> Vector:
    return tuple(
        part.view(shape) for part, shape in zip(values.split([int(np.prod(s)) for s in SHAPES]), SHAPES, strict=True)
    )


def dense(inputs: Tensor, targets: Tensor, parameters: Vector, coefficients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Hessian of sum_i c_i l_i, Jacobian of the losses and gradient of their mean, for one network."""
    losses = losses_of(inputs, targets)
    hessian = torch.autograd.functional.hessian(lambda v: (coefficients * losses(unflat(v))).sum(), flat(parameters))
    jacobian = torch.autograd.functional.jacobian(lambda v: losses(unflat(v)), flat(parameters))
    return hessian, jacobian, jacobian.mean(0)


def of_model(vector: Vector, model: int) -> Vector:
    return tuple(part[model] for part in vector)


def whole_problem(inputs: Tensor, targets: Tensor, parameters: Vector, *, cut: int | None = None) -> BilevelProblem:
    """The same samples train and validate; cut in two parts where asked."""
    index = torch.arange(inputs.shape[1]).expand(inputs.shape[:2])
    pieces = [slice(None)] if cut is None else [slice(0, cut), slice(cut, None)]
    parts = [Part(losses_of(inputs[:, piece], targets[:, piece]), index[:, piece]) for piece in pieces]
    return BilevelProblem(parameters, parts, parts, stack=1)


# --- Derivatives ------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_hessian_vector_product_is_the_dense_hessian_times_the_vector(seed: int) -> None:
    inputs, targets, parameters = data(1, seed=seed)
    coefficients = torch.linspace(0, 2, 30, dtype=F64)
    losses = losses_of(inputs[0], targets[0])
    vector = unflat(torch.randn(SIZE, generator=torch.Generator().manual_seed(seed), dtype=F64))
    product = hessian_vector_product(lambda p: (coefficients * losses(p)).sum(), of_model(parameters, 0))
    hessian, *_ = dense(inputs[0], targets[0], of_model(parameters, 0), coefficients)
    torch.testing.assert_close(flat(product(vector)), hessian @ flat(vector), rtol=1e-11, atol=1e-11)


def test_product_of_a_stack_is_that_of_each_model() -> None:
    inputs, targets, parameters = data(3)
    vector = tuple(torch.ones_like(part) for part in parameters)
    together = hessian_vector_product(lambda p: losses_of(inputs, targets)(p).sum(-1), parameters)(vector)
    for m in range(3):
        hessian, *_ = dense(inputs[m], targets[m], of_model(parameters, m), torch.ones(30, dtype=F64))
        expected = hessian @ torch.ones(SIZE, dtype=F64)
        torch.testing.assert_close(flat(of_model(together, m)), expected, rtol=1e-11, atol=1e-11)


def test_product_with_a_parameter_that_enters_linearly_is_zero() -> None:
    product = hessian_vector_product(
        lambda p: p[0].sum() + (p[1] ** 3).sum(), (torch.ones(2), torch.tensor([1.0, 2.0]))
    )
    first, second = product((torch.ones(2), torch.ones(2)))
    assert first.tolist() == [0.0, 0.0]
    assert second.tolist() == [6.0, 12.0]


def test_per_sample_derivative_is_the_jacobian_times_the_vector() -> None:
    inputs, targets, parameters = data(3)
    generator = torch.Generator().manual_seed(1)
    tangent = tuple(torch.randn(part.shape, generator=generator, dtype=F64) for part in parameters)
    found = per_sample_jvp(losses_of(inputs, targets), parameters, tangent)
    assert found.shape == (3, 30)
    assert not found.requires_grad
    for m in range(3):
        _, jacobian, _ = dense(inputs[m], targets[m], of_model(parameters, m), torch.ones(30, dtype=F64))
        torch.testing.assert_close(found[m], jacobian @ flat(of_model(tangent, m)), rtol=1e-11, atol=1e-11)


def test_per_sample_derivative_of_losses_without_the_parameters_is_zero() -> None:
    found = per_sample_jvp(lambda _: torch.ones(4), (torch.ones(2),), (torch.ones(2),))
    assert found.tolist() == [0.0] * 4


def test_central_differences_come_close_to_the_exact_derivatives() -> None:
    inputs, targets, parameters = data(3)
    losses = losses_of(inputs, targets)
    # Lengths from 1e-3 to 1e3: the step must follow the vector's length.
    scale = torch.tensor([1e-3, 1.0, 1e3], dtype=F64).view(3, 1, 1)
    vector = tuple(scale * torch.ones_like(part) for part in parameters)
    exact = hessian_vector_product(lambda p: losses(p).sum(-1), parameters)(vector)
    near = finite_difference_product(lambda p: losses(p).sum(-1), parameters, stack=1)(vector)
    for a, b in zip(exact, near, strict=True):
        torch.testing.assert_close(b / scale, a / scale, rtol=1e-6, atol=1e-6)
    jvp = per_sample_jvp(losses, parameters, vector)
    difference = finite_difference_jvp(losses, parameters, vector, stack=1)
    torch.testing.assert_close(difference / scale.squeeze(-1), jvp / scale.squeeze(-1), rtol=1e-7, atol=1e-7)


def test_central_differences_along_nothing_are_zero() -> None:
    inputs, targets, parameters = data(2)
    nothing = tuple(torch.zeros_like(part) for part in parameters)
    product = finite_difference_product(lambda p: losses_of(inputs, targets)(p).sum(-1), parameters, stack=1)
    assert all((part == 0).all() for part in product(nothing))
    assert (finite_difference_jvp(losses_of(inputs, targets), parameters, nothing, stack=1) == 0).all()


def test_inner_product_is_taken_model_by_model() -> None:
    a = (torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[5.0], [6.0]]))
    assert inner(a, a, stack=1).tolist() == [1 + 4 + 25, 9 + 16 + 36]
    assert inner(a, a).item() == 91.0
    assert inner((torch.tensor(3.0),), (torch.tensor(2.0),)).item() == 6.0


def test_per_sample_derivative_goes_through_fused_attention() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 5, 8).unbind(0)
    direction = torch.randn(2, 4, 5, 8)

    def attend(parameters: Vector) -> Tensor:
        return functional.scaled_dot_product_attention(parameters[0], key, value).mean((1, 2, 3))

    found = per_sample_jvp(attend, (query,), (direction,))
    difference = finite_difference_jvp(attend, (query,), (direction,))
    torch.testing.assert_close(found, difference, rtol=1e-2, atol=1e-4)
    assert found.abs().min() > 0


# --- The implicit gradient --------------------------------------------------------------------------------------------


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
    some = [Part(losses_of(inputs[:, ::3], targets[:, ::3]), index)]
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
        [Part(regression_losses(inputs, targets), torch.arange(20))],
        [Part(validation, torch.arange(15))],
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
        [Part(regression_losses(inputs, targets), torch.arange(60))],
        [Part(regression_losses(*regression_data(30, 2)), torch.arange(30))],
    )
    found, _ = sensitivities(problem, coefficients, damped(stack=0, damping=0.0))
    assert abs(float(coefficients @ found)) < 1e-12
    assert float(found.norm()) > 1e-3


def test_per_sample_derivative_leaves_running_statistics_of_batch_normalisation_alone() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1)).double()
    inputs = torch.randn(8, 3, dtype=F64)
    names = [name for name, _ in model.named_parameters()]
    values = tuple(p.detach() for p in model.parameters())
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}

    def outputs(parameters: Vector) -> Tensor:
        buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
        return functional_call(model, dict(zip(names, parameters, strict=True)) | buffers, (inputs,)).squeeze(-1)

    tangent = tuple(torch.randn_like(p) for p in values)
    found = per_sample_jvp(outputs, values, tangent)
    jacobian = jacrev(outputs)(values)
    expected = sum((j.flatten(1) @ t.flatten()) for j, t in zip(jacobian, tangent, strict=True))
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    assert all(torch.equal(buffer, before[name]) for name, buffer in model.named_buffers())


def test_gradient_of_a_stack_is_that_of_each_model() -> None:
    inputs, targets, parameters = data(2)
    together = gradient(lambda p: losses_of(inputs, targets)(p).mean(-1), parameters)
    for m in range(2):
        *_, slope = dense(inputs[m], targets[m], of_model(parameters, m), torch.ones(30, dtype=F64))
        torch.testing.assert_close(flat(of_model(together, m)), slope, rtol=1e-11, atol=1e-12)
