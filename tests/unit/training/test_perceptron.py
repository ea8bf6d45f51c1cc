"""Stacked perceptrons and their derivatives, against torch's own layers and dual numbers."""

from __future__ import annotations

import pytest
import torch

from fossil.hypergradient import per_sample_jvp
from fossil.hypergradient.problem import Vector
from fossil.training.perceptron import StackedPerceptron, Workspace, activations, backward, forward, logits_changes


@pytest.mark.parametrize("hidden", [[7], [7, 5], []])
def test_outputs_and_logits_are_those_of_torchs_own_layers(hidden: list[int]) -> None:
    model = StackedPerceptron([4, *hidden, 1], [torch.Generator().manual_seed(s) for s in (1, 2)], dtype=torch.float64)
    inputs = torch.randn(2, 9, 4, dtype=torch.float64)
    for m in range(2):
        expected, outputs = inputs[m], []
        layers = zip(model.parameters()[::2], model.parameters()[1::2], strict=True)
        for place, (weight, bias) in enumerate(layers):
            expected = torch.nn.functional.linear(expected, weight[m].T, bias[m, 0])
            expected = expected.relu() if place < len(hidden) else expected
            outputs.append(expected)
        for compute in (activations(model.parameters(), inputs), forward(model.parameters(), inputs, Workspace())):
            for found, reference in zip(compute, outputs, strict=True):
                torch.testing.assert_close(found[m], reference, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(model(inputs)[m], outputs[-1], rtol=1e-12, atol=1e-12)


def drawn(hidden: list[int]) -> tuple[StackedPerceptron, Vector, torch.Tensor]:
    """Two perceptrons, a direction of their parameters, and inputs."""
    model = StackedPerceptron([4, *hidden, 1], [torch.Generator().manual_seed(s) for s in (1, 2)], dtype=torch.float64)
    generator = torch.Generator().manual_seed(3)
    direction = tuple(torch.randn(p.shape, generator=generator, dtype=p.dtype) for p in model.parameters())
    return model, direction, torch.randn(2, 9, 4, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("hidden", [[], [7], [7, 5], [7, 6, 5]])
def test_derivative_of_the_logits_from_known_outputs_is_that_of_a_forward_pass_with_dual_numbers(
    hidden: list[int],
) -> None:
    model, direction, inputs = drawn(hidden)
    parameters = tuple(model.parameters())
    found = logits_changes(parameters, inputs, model.forward(inputs), direction, Workspace())[-1]
    expected = per_sample_jvp(lambda at: activations(at, inputs)[-1], parameters, direction)
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("hidden", [[], [7], [7, 5], [7, 6, 5]])
def test_gradient_by_hand_is_that_of_autograd(hidden: list[int]) -> None:
    model, _, inputs = drawn(hidden)
    slopes = torch.rand(2, 9, 1, dtype=torch.float64)
    leaves = [p.clone().requires_grad_() for p in model.parameters()]
    expected = torch.autograd.grad((activations(leaves, inputs)[-1] * slopes).sum(), leaves)
    outputs = model.forward(inputs)
    found = backward(model.parameters(), inputs, outputs, slopes, Workspace())
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-11, atol=1e-12)
    model.backward(inputs, outputs, slopes)
    flat = torch.cat([part.flatten() for part in expected])
    torch.testing.assert_close(model.flat.grad, flat, rtol=1e-11, atol=1e-12)


def test_parameters_are_views_of_the_tensor_that_an_optimiser_steps() -> None:
    model, _, inputs = drawn([7])
    before = model(inputs)
    model.flat.zero_()
    assert before.abs().min() > 0
    assert not model(inputs).any()


def test_logits_of_many_samples_are_those_of_each() -> None:
    model, *_ = drawn([7, 5])
    inputs = torch.randn(2, 700, 4, dtype=torch.float64)  # in several parts
    found = model(inputs)
    torch.testing.assert_close(found, activations(model.parameters(), inputs)[-1], rtol=1e-11, atol=1e-11)
