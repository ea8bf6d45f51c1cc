"""Weights on the simplex and penalties in the box: Algorithm 1's upper level, by hand."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fossil.config.methods.fossil_bilevel import BilevelOptions
from fossil.hypergradient import project_simplex
from fossil.hypergradient.problem import BilevelProblem, Chunk
from fossil.hypergradient.upper_level import BilevelWeights

F64 = torch.float64


def quadratic_problem(count: int, seed: int = 0) -> BilevelProblem:
    """Losses (theta - a_i)^2 / 2 with gradients theta - a_i and Hessian 1: everything by hand."""
    points = torch.randn(count, generator=torch.Generator().manual_seed(seed), dtype=F64)
    return BilevelProblem(
        (torch.tensor([0.5], dtype=F64),),
        [Chunk(lambda p: (p[0] - points) ** 2 / 2, torch.arange(count))],
        [Chunk(lambda p: (p[0] - torch.tensor([2.0, 3.0], dtype=F64)) ** 2 / 2, torch.arange(2))],
    )


def test_update_is_algorithm_1_by_hand() -> None:
    count = 6
    options = BilevelOptions(weights_learning_rate=0.4, penalties_learning_rate=0.2, momentum=0.5, damping=0.1)
    is_augmented = torch.tensor([True, False] * 3)
    start = torch.tensor([1.0, 2.0, 3.0, 1.0, 2.0, 3.0], dtype=F64)
    upper = BilevelWeights(start, is_augmented, penalty=0.3, options=options)
    points = torch.randn(count, generator=torch.Generator().manual_seed(0), dtype=F64)
    # By hand: the mean weight is 1; H = sum_i c_i + .1 with l'' = 1; grad L_val = .5 - 2.5; grad l_i = .5 - a_i.
    weights, penalties = start / 2, 0.3 * is_augmented.to(F64)
    by_weight = by_penalty = torch.zeros(count, dtype=F64)
    for _ in range(3):
        curvature = (weights * (1 - penalties) / count).sum() + 0.1
        s = (0.5 - 2.5) / curvature * (0.5 - points)
        by_weight = 0.5 * by_weight + 0.5 * -(1 - penalties) * s
        by_penalty = 0.5 * by_penalty + 0.5 * weights * is_augmented * s
        weights = project_simplex(weights - 0.4 * by_weight, total=count)
        penalties = (penalties - 0.2 * by_penalty).clamp(0, 1)
        upper.update(quadratic_problem(count))
        torch.testing.assert_close(upper.weights, weights, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(upper.penalties, penalties, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(upper(torch.tensor([4, 1])), (weights * (1 - penalties))[[4, 1]], rtol=1e-9, atol=1e-9)
    assert (upper.penalties[~is_augmented] == 0).all()


@pytest.mark.parametrize("solver", ["conjugate_gradient", "neumann_series"])
@pytest.mark.parametrize("derivatives", ["exact", "finite_difference"])
def test_every_solver_and_kind_of_derivative_gives_the_same_step(solver: str, derivatives: str) -> None:
    shared = {"weights_learning_rate": 0.1, "iterations": 200}
    expected = BilevelWeights(
        torch.ones(6, dtype=F64), torch.zeros(6, dtype=torch.bool), options=BilevelOptions(**shared)
    )
    expected.update(quadratic_problem(6))
    options = BilevelOptions(solver=solver, derivatives=derivatives, neumann_step=0.5, **shared)  # type: ignore[arg-type]
    upper = BilevelWeights(torch.ones(6, dtype=F64), torch.zeros(6, dtype=torch.bool), options=options)
    upper.update(quadratic_problem(6))
    torch.testing.assert_close(upper.weights, expected.weights, rtol=1e-7, atol=1e-7)
    assert not torch.equal(expected.weights, torch.ones(6, dtype=F64))


def test_updates_raise_the_weight_of_samples_that_pull_towards_the_validation_samples() -> None:
    upper = BilevelWeights(
        torch.ones(6, dtype=F64),
        torch.zeros(6, dtype=torch.bool),
        options=BilevelOptions(weights_learning_rate=0.1),
    )
    points = torch.randn(6, generator=torch.Generator().manual_seed(0), dtype=F64)
    upper.update(quadratic_problem(6))
    # Validation lies at 2 and 3, right of theta: the farther right a training point, the more weight.
    assert torch.equal(upper.weights.argsort(), points.argsort())
    assert float(upper.weights.sum()) == pytest.approx(6)


def test_a_model_whose_hypergradient_is_not_finite_keeps_its_weights_and_the_others_go_on() -> None:
    points = torch.tensor([[1.0, 2.0], [float("inf"), 2.0]], dtype=F64)
    index = torch.arange(2).expand(2, 2)
    part = Chunk(lambda p: (p[0] - points) ** 2 / 2, index)
    both = BilevelProblem((torch.zeros(2, 1, dtype=F64),), [part], [part], stack=1)
    upper = BilevelWeights(torch.ones(2, 2, dtype=F64), torch.zeros(2, 2, dtype=torch.bool))
    upper.update(both)
    assert upper.weights[1].tolist() == [1.0, 1.0]
    assert upper.weights[0].tolist() != [1.0, 1.0]


def test_hypergradient_that_is_not_finite_is_an_error_that_leaves_the_weights() -> None:
    part = Chunk(lambda p: p[0] * torch.tensor([float("inf"), 1.0]), torch.arange(2))
    upper = BilevelWeights(torch.ones(2), torch.zeros(2, dtype=torch.bool))
    with pytest.raises(FloatingPointError, match="hypergradient is not finite"):
        upper.update(BilevelProblem((torch.ones(1),), [part], [part]))
    assert upper.weights.tolist() == [1.0, 1.0]


def test_state_continues_as_if_nothing_had_happened() -> None:
    start, nothing = torch.rand(6, dtype=F64) + 0.1, torch.tensor([True, False] * 3)
    upper = BilevelWeights(start, nothing, penalty=0.2)
    upper.update(quadratic_problem(6))
    restored = BilevelWeights(torch.ones(6, dtype=F64), nothing)
    restored.load_state_dict(upper.state_dict())
    for weights in (upper, restored):
        weights.update(quadratic_problem(6))
    for name, value in upper.state_dict().items():
        assert torch.equal(value, restored.state_dict()[name]), name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": torch.tensor([1.0, -1.0])}, "start: weights must be finite and not negative"),
        (
            {"start": torch.tensor([0.0, 0.0])},
            "start: weights must be finite and not negative, and some must be positive",
        ),
        ({"start": torch.tensor([1.0, float("nan")])}, "start"),
        ({"start": torch.tensor([1, 2])}, "start: expected floats"),
        ({"start": torch.ones(0)}, "start: expected floats"),
        ({"is_augmented": torch.zeros(2)}, "is_augmented: expected bool"),
        ({"is_augmented": torch.zeros(3, dtype=torch.bool)}, r"is_augmented: expected bool of shape \(2,\)"),
        ({"penalty": 1.5}, r"penalty must be in \[0, 1\], not 1\.5"),
    ],
)
def test_wrong_start_is_an_error_that_names_the_argument(change: dict[str, object], message: str) -> None:
    arguments = {"start": torch.ones(2), "is_augmented": torch.zeros(2, dtype=torch.bool), "penalty": 0.0} | change
    with pytest.raises(ValueError, match=message):
        BilevelWeights(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": torch.ones(3)}, r"state: weights has shape \(3,\), expected \(2,\)"),
        ({"is_augmented": torch.tensor([True, False])}, "state: other samples are augmented"),
        ({"weights": torch.tensor([1.0, float("nan")])}, "state: weights is not finite"),
        ({"another": torch.ones(2)}, "state has"),
    ],
)
def test_state_of_other_samples_with_other_names_or_that_is_not_finite_is_refused(
    change: dict[str, Tensor], message: str
) -> None:
    upper = BilevelWeights(torch.ones(2), torch.zeros(2, dtype=torch.bool))
    with pytest.raises(ValueError, match=message):
        upper.load_state_dict(upper.state_dict() | change)
    assert upper.weights.tolist() == [1.0, 1.0]


def test_an_enormous_hypergradient_of_one_model_of_a_stack_stops_no_other() -> None:
    points = torch.tensor([[1.0, 2.0], [1e13, -1e13]])
    part = Chunk(lambda p: (p[0] - points) ** 2 / 2, torch.arange(2).expand(2, 2))
    upper = BilevelWeights(torch.ones(2, 2), torch.zeros(2, 2, dtype=torch.bool))
    upper.update(BilevelProblem((torch.zeros(2, 1),), [part], [part], stack=1))
    assert upper.weights.isfinite().all()
    assert upper.weights.sum(-1).tolist() == pytest.approx([2.0, 2.0])
