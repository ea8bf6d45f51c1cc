"""Hessian-vector products and per-sample derivatives, against dense matrices and differences."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call, jacrev
from torch.nn import functional

from fossil.hypergradient import (
    finite_difference_jvp,
    finite_difference_product,
    gradient,
    hessian_vector_product,
    inner,
    per_sample_jvp,
)
from fossil.hypergradient.problem import Vector
from tests.unit.hypergradient.networks import (
    F64,
    SIZE,
    data,
    dense,
    flat,
    losses_of,
    of_model,
    unflat,
)


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
