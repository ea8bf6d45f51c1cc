"""What stacked training hands to methods that learn their weights, against automatic differentiation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fossil.config.methods.base import NoOptions
from fossil.config.synthetic import SyntheticScenario, SyntheticTraining
from fossil.data.splits import Split
from fossil.data.synthetic import make_synthetic
from fossil.hypergradient import gradient, per_sample_jvp
from fossil.hypergradient.problem import BilevelProblem, Vector
from fossil.likelihood import cross_entropy
from fossil.methods.base import Batch, Lookahead, MakeProblem, Method, ParameterSet, Progress
from fossil.training.perceptron import activations
from fossil.training.stacked import train_stacked
from tests.unit.training.test_perceptron_curvature import assert_close, check_closed_forms

SEEDS = [3, 4]
TRAINING = SyntheticTraining(hidden=[6, 5], epochs=1, batch_size=32)
DATA = [make_synthetic(SyntheticScenario(n_samples=400, imbalance_ratio=4.0), seed=seed) for seed in SEEDS]
TRAIN, VALIDATION = [item.train for item in DATA], [item.validation for item in DATA]


def stacked(splits: Sequence[Split], index: Tensor) -> tuple[Tensor, Tensor]:
    """Inputs and targets of samples of each problem at an index of shape (M, n)."""
    rows = [(split, chosen.numpy()) for split, chosen in zip(splits, index, strict=True)]
    inputs, targets = (np.stack([getattr(split, name)[at] for split, at in rows]) for name in ("inputs", "targets"))
    return torch.from_numpy(inputs), torch.from_numpy(targets)


def losses_at(splits: Sequence[Split], index: Tensor, at: Vector) -> Tensor:
    inputs, targets = stacked(splits, index)
    return cross_entropy(activations(at, inputs)[-1], targets)


def moved(parameters: Vector, seed: int) -> Vector:
    draws = torch.Generator().manual_seed(seed)
    return tuple(p + 0.1 * torch.randn(p.shape, generator=draws, dtype=p.dtype) for p in parameters)


class Watcher(Method):
    """Empirical risk minimisation that keeps what it is shown."""

    def __init__(self, *wanted: tuple[ParameterSet | None, int | None]) -> None:
        super().__init__(NoOptions())
        self.wanted = wanted
        self.problems: list[BilevelProblem] = []
        self.steps = 0

    def start(self, generators: Sequence[torch.Generator], **_: Any) -> None:
        self.generators = generators

    def before_step(self, batch: Batch, losses: Tensor, lookahead: Lookahead) -> None:
        here = tuple(p.clone() for p in lookahead.parameters)
        torch.testing.assert_close(losses, losses_at(TRAIN, batch.index, here))
        weights = torch.rand(losses.shape, generator=torch.Generator().manual_seed(self.steps), dtype=losses.dtype)
        expected = gradient(lambda at: (weights * losses_at(TRAIN, batch.index, at)).mean(-1), here)
        assert_close(lookahead.gradient(weights), expected)
        tangent = moved(here, self.steps)
        slopes = per_sample_jvp(lambda at: losses_at(TRAIN, batch.index, at), here, tangent)
        torch.testing.assert_close(lookahead.derivative(tangent), slopes, rtol=1e-9, atol=1e-12)
        self.compare_validation(lookahead, moved(here, self.steps + 100))
        self.steps += 1

    def compare_validation(self, lookahead: Lookahead, ahead: Vector) -> None:
        """Draw the same samples again and differentiate their mean loss away from where the model stands."""
        states = [generator.get_state() for generator in self.generators]
        value, slope = lookahead.validation_gradient(ahead, 7)
        for generator, state in zip(self.generators, states, strict=True):
            generator.set_state(state)
        count = len(VALIDATION[0].targets)
        drawn = torch.stack([torch.randint(count, (7,), generator=generator) for generator in self.generators])

        def loss(at: Vector) -> Tensor:
            return losses_at(VALIDATION, drawn, at).mean(-1)

        torch.testing.assert_close(value, loss(ahead))
        assert_close(slope, gradient(loss, ahead))

    def after_epoch(self, make_problem: MakeProblem, progress: Progress) -> None:
        self.problems = [make_problem(*wanted) for wanted in self.wanted]


def test_a_step_is_shown_the_gradients_and_derivatives_of_its_own_batch_and_of_validation_samples() -> None:
    watcher = Watcher()
    train_stacked(DATA, watcher, TRAINING, seeds=SEEDS, proxy="softmax")
    assert watcher.steps == -(-len(TRAIN[0].targets) // 32)


@pytest.fixture(scope="module")
def problems() -> dict[str, BilevelProblem]:
    watcher = Watcher((None, None), ("all", 40), ("head", 40))
    train_stacked(DATA, watcher, TRAINING, seeds=SEEDS, proxy="softmax")
    return dict(zip(("whole", "some", "head"), watcher.problems, strict=True))


@pytest.mark.parametrize("name", ["whole", "some"])
def test_parts_are_the_losses_of_the_samples_that_their_index_names(
    problems: dict[str, BilevelProblem], name: str
) -> None:
    problem = problems[name]
    at = moved(problem.parameters, 5)
    for splits, parts in ((TRAIN, problem.train), (VALIDATION, problem.validation), (TRAIN, problem.curvature)):
        for part in parts:
            torch.testing.assert_close(part.losses(at), losses_at(splits, part.index, at))
    for splits, parts in ((TRAIN, problem.train), (VALIDATION, problem.validation)):
        every = torch.cat([part.index for part in parts], dim=-1)
        assert torch.equal(every, torch.arange(len(splits[0].targets)).expand(2, -1))


@pytest.mark.parametrize(("name", "count"), [("whole", 0), ("some", 40), ("head", 40)])
def test_curvature_is_of_as_many_different_samples_as_are_asked_for(
    problems: dict[str, BilevelProblem], name: str, count: int
) -> None:
    parts = problems[name].curvature
    assert sum(part.index.shape[-1] for part in parts) == count
    if count:
        drawn = torch.cat([part.index for part in parts], dim=-1)
        assert all(len(set(rows.tolist())) == count for rows in drawn)
        assert not torch.equal(drawn[0], drawn[1])


def test_the_head_is_the_last_layer_on_the_outputs_of_the_others(problems: dict[str, BilevelProblem]) -> None:
    head, all_of_them = problems["head"], problems["whole"].parameters
    assert len(head.parameters) == 2
    at = moved(head.parameters, 6)
    for part in [*head.train, *head.curvature]:
        expected = losses_at(TRAIN, part.index, (*all_of_them[:-2], *at))
        torch.testing.assert_close(part.losses(at), expected)


@pytest.mark.parametrize("name", ["whole", "some", "head"])
def test_closed_forms_are_the_derivatives_of_the_losses(problems: dict[str, BilevelProblem], name: str) -> None:
    problem = problems[name]
    for part in [*problem.train[:2], *problem.validation[:1], *problem.curvature]:
        check_closed_forms(part, problem.parameters)
