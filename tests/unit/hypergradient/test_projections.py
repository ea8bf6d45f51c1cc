"""Projections onto the simplex and the box, against bisection and the variational inequality."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.optimize
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fossil.hypergradient import (
    conjugate_gradient,
    project_box,
    project_simplex,
)

F64 = torch.float64
EXACT = partial(conjugate_gradient, iterations=500, tolerance=1e-14)


vectors = st.lists(st.floats(-50, 50), min_size=1, max_size=8)


@settings(deadline=None, max_examples=100)
@given(values=vectors, total=st.floats(0.01, 20))
def test_simplex_projection_is_the_point_that_bisection_finds(values: list[float], total: float) -> None:
    # Its coordinates are max(v - threshold, 0), and the threshold is where they add up (Held et al. 1974).
    def excess(threshold: float) -> float:
        return float(np.maximum(np.array(values) - threshold, 0).sum()) - total

    threshold = scipy.optimize.brentq(excess, min(values) - total - 1, max(values) + 1, xtol=1e-13)
    expected = np.maximum(np.array(values) - threshold, 0)
    found = project_simplex(torch.tensor(values, dtype=F64), total=total)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-9)


@settings(deadline=None, max_examples=50)
@given(values=vectors, seed=st.integers(0, 1000))
def test_no_other_point_of_the_simplex_is_nearer(values: list[float], seed: int) -> None:
    v = torch.tensor(values, dtype=F64)
    p = project_simplex(v)
    others = torch.from_numpy(np.random.default_rng(seed).dirichlet(np.ones(len(values)), size=50))
    assert float(p.sum()) == pytest.approx(1)
    assert (p >= 0).all()
    # Variational inequality of a projection onto a convex set.
    assert ((others - p) @ (v - p) <= 1e-9).all()


def test_simplex_projection_works_row_by_row_and_leaves_its_own_points_alone() -> None:
    rows = torch.tensor([[0.2, 0.3, 0.5], [2.0, 0.0, 0.0], [1.0, 1.0, 1.0]], dtype=F64)
    found = project_simplex(rows)
    expected = torch.tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]], dtype=F64)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_simplex_projection_of_huge_values_is_the_corner_of_the_largest(dtype: torch.dtype) -> None:
    values = torch.tensor([[1e9, 0.0, -1e12], [1e30, 1e29, 0.0], [-1e30, -1e30, -1e31]], dtype=dtype)
    expected = torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]], dtype=dtype)
    torch.testing.assert_close(project_simplex(values), expected)


def test_box_projection_clips() -> None:
    assert project_box(torch.tensor([-1.0, 0.25, 3.0])).tolist() == [0.0, 0.25, 1.0]
    assert project_box(torch.tensor([-1.0, 3.0]), -0.5, 2.0).tolist() == [-0.5, 2.0]


def test_projections_refuse_what_has_no_nearest_point() -> None:
    with pytest.raises(ValueError, match="values: not all of them are finite"):
        project_simplex(torch.tensor([0.0, float("nan")]))
    with pytest.raises(ValueError, match="values"):
        project_box(torch.tensor([float("nan")]))
    with pytest.raises(ValueError, match=r"total must be positive, not 0\.0"):
        project_simplex(torch.ones(2), total=0.0)
    with pytest.raises(ValueError, match=r"low = 2\.0 is above high = 1\.0"):
        project_box(torch.ones(2), 2.0, 1.0)
