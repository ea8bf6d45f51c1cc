"""Closed forms of the perceptrons' derivatives, against automatic differentiation."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor

from fossil.hypergradient import conjugate_gradient, gradient, hessian_vector_product, per_sample_jvp, sensitivities
from fossil.hypergradient.problem import BilevelProblem, Chunk, Vector
from fossil.likelihood import cross_entropy
from fossil.training.perceptron import StackedPerceptron, Workspace, activations
from fossil.training.perceptron_curvature import cross_entropy_forms

F64 = torch.float64


class Drawn:
    """Two perceptrons, and samples with coefficients."""

    def __init__(self, hidden: list[int], count: int = 11) -> None:
        generators = [torch.Generator().manual_seed(seed) for seed in (1, 2)]
        self.parameters: Vector = tuple(StackedPerceptron([4, *hidden, 1], generators, dtype=F64).parameters())
        draws = torch.Generator().manual_seed(3)
        self.inputs = torch.randn(2, count, 4, generator=draws, dtype=F64)
        self.targets = torch.randint(2, (2, count), generator=draws)
        self.coefficients = torch.rand(2, count, generator=draws, dtype=F64)

    def losses(self, at: Vector) -> Tensor:
        return cross_entropy(activations(at, self.inputs)[-1], self.targets)

    def objective(self, at: Vector) -> Tensor:
        return (self.coefficients * self.losses(at)).sum(-1)

    def part(self, *, closed: bool) -> Chunk:
        forms = cross_entropy_forms(self.parameters, self.inputs, self.targets, Workspace()) if closed else None
        return Chunk(self.losses, torch.arange(self.inputs.shape[1]).expand(2, -1), forms)


def assert_close(found: Vector, expected: Vector) -> None:
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-10, atol=1e-11)


def check_closed_forms(part: Chunk, parameters: Vector) -> None:
    """Compare with automatic differentiation, twice, since a workspace is shared."""
    draws = torch.Generator().manual_seed(8)
    coefficients = torch.rand(part.index.shape, generator=draws, dtype=F64)
    direction = tuple(torch.randn(p.shape, generator=draws, dtype=p.dtype) for p in parameters)

    def objective(at: Vector) -> Tensor:
        return (coefficients * part.losses(at)).sum(-1)

    assert part.closed is not None
    assert_close(part.closed.gradient(coefficients), gradient(objective, parameters))
    product, expected = part.closed.curvature(coefficients), hessian_vector_product(objective, parameters)
    for vector in (direction, tuple(2 * p for p in direction)):
        assert_close(product(vector), expected(vector))
    assert_close((part.closed.derivative(direction),), (per_sample_jvp(part.losses, parameters, direction),))


@pytest.mark.parametrize("hidden", [[], [7], [7, 5], [7, 6, 5]], ids=str)
def test_closed_forms_are_the_derivatives_of_the_losses(hidden: list[int]) -> None:
    drawn = Drawn(hidden)
    check_closed_forms(drawn.part(closed=True), drawn.parameters)


def test_closed_forms_do_not_follow_later_changes_of_other_outputs() -> None:
    drawn = Drawn([7, 5])
    workspace = Workspace()
    first = cross_entropy_forms(drawn.parameters, drawn.inputs, drawn.targets, workspace)
    other = Drawn([7, 5], count=11)
    cross_entropy_forms(drawn.parameters, other.inputs.flip(1) * 3, other.targets, workspace).gradient(
        drawn.coefficients
    )
    assert_close(first.gradient(drawn.coefficients), gradient(drawn.objective, drawn.parameters))


@pytest.mark.parametrize("parts", [1, 3])
def test_hypergradients_from_closed_forms_are_those_of_automatic_differentiation(parts: int) -> None:
    train = [Drawn([7, 5], count=11 + k) for k in range(parts)]
    validation = Drawn([7, 5], count=6)
    total = sum(item.inputs.shape[1] for item in train)
    solve = partial(conjugate_gradient, damping=5.0, iterations=40, tolerance=1e-14, stack=1)
    coefficients = torch.rand(2, total, dtype=F64)
    found = []
    for closed in (True, False):
        pieces, start = [], 0
        for item in train:
            piece = item.part(closed=closed)
            pieces.append(Chunk(piece.losses, piece.index + start, piece.closed))
            start += item.inputs.shape[1]
        problem = BilevelProblem(train[0].parameters, pieces, [validation.part(closed=closed)], stack=1)
        found.append(sensitivities(problem, coefficients, solve)[0])
    torch.testing.assert_close(found[0], found[1], rtol=1e-8, atol=1e-10)
    assert found[0].abs().max() > 0
