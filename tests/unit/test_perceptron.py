"""Stacked perceptrons and their derivatives, against torch's own layers and dual numbers."""

from __future__ import annotations

import pytest
import torch

from fossil.hypergradient import per_sample_jvp
from fossil.training.perceptron import StackedPerceptron, activations, logits_derivative


@pytest.mark.parametrize("hidden", [[7], [7, 5], []])
def test_outputs_and_logits_are_those_of_torchs_own_layers(hidden: list[int]) -> None:
    model = StackedPerceptron([4, *hidden, 1], [torch.Generator().manual_seed(s) for s in (1, 2)], dtype=torch.float64)
    inputs = torch.randn(2, 9, 4, dtype=torch.float64)
    for m in range(2):
        expected, outputs = inputs[m], []
        for place, (weight, bias) in enumerate(model.layers):
            expected = torch.nn.functional.linear(expected, weight[m].T, bias[m, 0])
            expected = expected.relu() if place < len(hidden) else expected
            outputs.append(expected)
        for found, reference in zip(activations(model.parameters(), inputs), outputs, strict=True):
            torch.testing.assert_close(found[m], reference, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(model(inputs)[m], outputs[-1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("hidden", [[7], [7, 5], [7, 6, 5]])
def test_derivative_of_the_logits_from_known_outputs_is_that_of_a_forward_pass_with_dual_numbers(
    hidden: list[int],
) -> None:
    model = StackedPerceptron([4, *hidden, 1], [torch.Generator().manual_seed(s) for s in (1, 2)], dtype=torch.float64)
    inputs = torch.randn(2, 9, 4, dtype=torch.float64)
    parameters = tuple(p.detach() for p in model.parameters())
    tangent = tuple(torch.randn_like(p) for p in parameters)
    found = logits_derivative(parameters, inputs, activations(parameters, inputs), tangent)
    expected = per_sample_jvp(lambda at: activations(at, inputs)[-1], parameters, tangent)
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-11)
