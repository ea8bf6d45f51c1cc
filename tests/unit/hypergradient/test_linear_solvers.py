"""Conjugate gradient and the Neumann series, against dense solves."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fossil.hypergradient import (
    Product,
    conjugate_gradient,
    neumann_series,
)

F64 = torch.float64
EXACT = partial(conjugate_gradient, iterations=500, tolerance=1e-14)


def matrices(*models: Tensor) -> Product:
    stacked = torch.stack(models)
    return lambda v: ((stacked @ v[0].unsqueeze(-1)).squeeze(-1),)


def random_symmetric(size: int, eigenvalues: Tensor, seed: int) -> Tensor:
    basis, _ = torch.linalg.qr(torch.randn(size, size, generator=torch.Generator().manual_seed(seed), dtype=F64))
    return basis @ torch.diag(eigenvalues) @ basis.T


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), condition=st.floats(1, 1e4), damping=st.floats(0, 2))
def test_conjugate_gradient_solves_what_a_dense_solver_solves(seed: int, condition: float, damping: float) -> None:
    matrix = random_symmetric(12, torch.logspace(0, np.log10(condition), 12, dtype=F64), seed)
    target = torch.randn(1, 12, generator=torch.Generator().manual_seed(seed + 1), dtype=F64)
    found = EXACT(matrices(matrix), (target,), damping=damping, stack=1)
    expected = torch.linalg.solve(matrix + damping * torch.eye(12, dtype=F64), target[0])
    torch.testing.assert_close(found.solution[0][0], expected, rtol=1e-8, atol=1e-8)
    assert not found.negative_curvature.any()
    assert found.residual.item() < 1e-13


def test_conjugate_gradient_needs_as_many_steps_as_there_are_eigenvalues() -> None:
    matrix = random_symmetric(20, torch.tensor([1.0, 5.0, 9.0, 9.0] * 5, dtype=F64), 3)
    found = conjugate_gradient(
        matrices(matrix), (torch.ones(1, 20, dtype=F64),), iterations=20, tolerance=1e-10, stack=1
    )
    assert found.iterations.tolist() == [3]


def test_conjugate_gradient_stops_each_model_by_itself() -> None:
    eye = torch.eye(6, dtype=F64)
    slow = random_symmetric(6, torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], dtype=F64), 0)
    indefinite = torch.diag(torch.tensor([4.0, 3.0, 2.0, 1.0, 1.0, -8.0], dtype=F64))
    target = torch.ones(4, 6, dtype=F64)
    target[3] = 0
    found = conjugate_gradient(matrices(eye, slow, indefinite, eye), (target,), iterations=50, tolerance=1e-12, stack=1)
    assert found.iterations.tolist()[0] == 1
    assert 2 <= found.iterations.tolist()[1] <= 6
    assert found.iterations.tolist()[3] == 0
    assert found.negative_curvature.tolist() == [False, False, True, False]
    torch.testing.assert_close(found.solution[0][1], torch.linalg.solve(slow, target[1]), rtol=1e-9, atol=1e-9)
    assert found.solution[0][0].tolist() == [1.0] * 6
    assert found.solution[0][3].tolist() == [0.0] * 6
    # What is kept of the indefinite model is a step that lowers its quadratic.
    step = found.solution[0][2]
    assert (0.5 * step @ indefinite @ step - target[2] @ step) < 0


def test_negative_curvature_in_the_first_direction_leaves_the_target_itself() -> None:
    found = conjugate_gradient(
        matrices(-torch.eye(3, dtype=F64)), (torch.tensor([[1.0, 2.0, 3.0]], dtype=F64),), stack=1
    )
    assert found.solution[0].tolist() == [[1.0, 2.0, 3.0]]
    assert found.iterations.tolist() == [0]
    assert found.negative_curvature.tolist() == [True]
    assert found.residual.tolist() == [2.0]  # |b + b| / |b|


def test_negative_curvature_in_the_first_direction_divides_the_target_by_the_damping() -> None:
    target = (torch.tensor([[3.0, 4.0], [1.0, 1.0]], dtype=F64),)
    found = conjugate_gradient(
        matrices(-2 * torch.eye(2, dtype=F64), torch.eye(2, dtype=F64)), target, damping=0.5, stack=1
    )
    assert found.solution[0][0].tolist() == [6.0, 8.0]
    assert found.residual.tolist() == pytest.approx([4.0, 0.0])  # |b - (-2 + .5) b / .5| = 4 |b|
    assert found.solution[0][1].tolist() == pytest.approx([2 / 3, 2 / 3])
    assert found.negative_curvature.tolist() == [True, False]


def test_damping_turns_an_indefinite_system_into_one_that_is_solved() -> None:
    matrix = torch.diag(torch.tensor([-0.5, 1.0], dtype=F64))
    found = EXACT(matrices(matrix), (torch.ones(1, 2, dtype=F64),), damping=1.0, stack=1)
    assert found.solution[0][0].tolist() == pytest.approx([2.0, 0.5])
    assert not found.negative_curvature.any()


def test_residual_is_that_of_the_solution() -> None:
    matrix = random_symmetric(10, torch.linspace(1, 50, 10, dtype=F64), 2)
    target = torch.ones(1, 10, dtype=F64)
    for found in (
        conjugate_gradient(matrices(matrix), (target,), damping=0.5, iterations=4, stack=1),
        neumann_series(matrices(matrix), (target,), damping=0.5, iterations=4, step=0.03, stack=1),
    ):
        left = target[0] - (matrix + 0.5 * torch.eye(10, dtype=F64)) @ found.solution[0][0]
        assert found.residual.item() == pytest.approx(float(left.norm() / target.norm()), rel=1e-9)
        assert found.iterations.item() == 4


def test_neumann_series_is_its_sum_of_powers_and_comes_to_the_inverse() -> None:
    matrix = random_symmetric(5, torch.linspace(1, 3, 5, dtype=F64), 1)
    target, eye = torch.ones(1, 5, dtype=F64), torch.eye(5, dtype=F64)
    damped = matrix + 0.1 * eye
    few = neumann_series(matrices(matrix), (target,), damping=0.1, iterations=3, step=0.2, stack=1)
    factor = eye - 0.2 * damped
    expected = 0.2 * (eye + factor + factor @ factor) @ target[0]
    torch.testing.assert_close(few.solution[0][0], expected, rtol=1e-12, atol=1e-12)
    many = neumann_series(matrices(matrix), (target,), damping=0.1, iterations=400, step=0.2, stack=1)
    torch.testing.assert_close(many.solution[0][0], torch.linalg.solve(damped, target[0]), rtol=1e-10, atol=1e-10)


def test_neumann_series_with_too_long_a_step_says_so_by_its_residual() -> None:
    matrix = torch.diag(torch.tensor([1.0, 10.0], dtype=F64))
    found = neumann_series(matrices(matrix), (torch.ones(1, 2, dtype=F64),), iterations=20, step=0.5, stack=1)
    assert found.residual.item() > 1
