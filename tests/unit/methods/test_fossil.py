"""Eq. 1 and curriculum learning, by hand and against a naive implementation."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings

from fossil.config.methods.curriculum import CurriculumOptions
from fossil.config.methods.fossil import FossilOptions
from fossil.config.methods.static import EffectiveNumberOptions
from fossil.config.methods.temperature import TemperatureOptions
from fossil.methods.base import Batch, Progress
from fossil.methods.curriculum import Curriculum
from fossil.methods.fossil import Fossil
from fossil.methods.static import EffectiveNumber
from tests.unit.methods.batches import (
    SCHEDULES,
    START,
    constant,
    fossil_cases,
    make_batch,
    naive_temperature,
    plain_fossil,
)


def test_curriculum_weight_falls_with_difficulty_by_hand() -> None:
    batch = make_batch([0, 1, 0], priors=[0.9, 0.1], difficulty=[0.0, 0.5, 1.0])
    # In the first epoch T = T_0 = 1.
    weights = Curriculum(CurriculumOptions()).weights(batch, START)
    assert weights.tolist() == pytest.approx([1.0, math.exp(-0.5), math.exp(-1)])


@settings(deadline=None, max_examples=150)
@given(case=fossil_cases())
def test_fossil_weight_is_the_product_of_its_four_terms(case: tuple[Batch, FossilOptions, Progress]) -> None:
    batch, options, progress = case
    s = progress.epoch / progress.epochs
    temperature = naive_temperature(options.temperature.schedule, s)
    gamma = max(0.0, min(options.gamma_scale * options.gamma_initial * s, options.gamma_max, 1.0))
    ramp = min(1.0, (progress.epoch + 1) / options.warmup_epochs) if options.warmup_epochs else 1.0
    priors = batch.class_priors.tolist()
    expected = []
    rows = zip(batch.targets.tolist(), batch.difficulty.tolist(), batch.is_augmented.tolist(), strict=True)
    for y, d, augmented in rows:
        class_term = min(1 / (len(priors) * priors[y]), options.class_clamp or math.inf)
        expected.append(class_term * math.exp(-d / temperature) * (1 - gamma * augmented) * ramp)
    weights = Fossil(options).weights(batch, progress)
    assert weights.tolist() == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_penalty_of_one_is_exactly_zero_for_augmented_rows_and_leaves_originals_as_they_are() -> None:
    batch = make_batch(
        [0, 0, 1, 1],
        priors=[0.9, 0.1],
        difficulty=[0.2, 0.2, 0.9, 0.9],
        is_augmented=[True, False, True, False],
    )
    progress = Progress(40, 50)
    full = plain_fossil(gamma_initial=1.0, gamma_scale=10.0, gamma_max=3.0).weights(batch, progress)
    none = plain_fossil().weights(batch, progress)
    assert full[[0, 2]].tolist() == [0.0, 0.0]
    assert torch.equal(full[[1, 3]], none[[1, 3]])
    assert (none > 0).all()


@pytest.mark.parametrize("is_augmented", [False, True])
def test_weight_of_the_hardest_sample_at_the_lowest_temperature_does_not_vanish_in_float32(is_augmented: bool) -> None:
    batch = make_batch(
        [0, 1],
        priors=[0.999, 0.001],
        difficulty=[1.0, 1.0],
        is_augmented=[is_augmented] * 2,
        dtype=torch.float32,
    )
    # T = .05, gamma = .99 * .5 and a warm-up of 1000 epochs, a tenth of it gone.
    method = Fossil(FossilOptions(temperature=constant(0.05), warmup_epochs=1000))
    weights = method.weights(batch, Progress(99, 100))
    assert weights.dtype == torch.float32
    penalty = 1 - 0.495 * is_augmented
    expected = [math.exp(-20) * penalty * 0.1 / (2 * p) for p in (0.999, 0.001)]
    assert weights.tolist() == pytest.approx(expected, rel=1e-4)
    assert (weights > 0).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_fossil_weights_are_finite_in_float32_in_every_epoch(schedule: str) -> None:
    batch = make_batch(
        [0, 1, 0, 1],
        priors=[0.9999, 0.0001],
        difficulty=[0.0, 0.0, 1.0, 1.0],
        is_augmented=[False, True, True, False],
        dtype=torch.float32,
    )
    method = Fossil(FossilOptions(temperature=TemperatureOptions(schedule=schedule), gamma_scale=4.0))
    weights = torch.stack([method.weights(batch, Progress(epoch, 30)) for epoch in range(30)])
    assert weights.isfinite().all()
    assert (weights >= 0).all()


def test_class_term_of_fossil_is_the_one_that_is_asked_for() -> None:
    batch = make_batch([0, 1], priors=[0.9, 0.1])
    assert plain_fossil(class_term="none").weights(batch, START).tolist() == pytest.approx([1.0, 1.0])
    cui = EffectiveNumber(EffectiveNumberOptions(beta=0.99)).weights(batch, START)
    found = plain_fossil(class_term="effective_number", beta=0.99).weights(batch, START)
    assert found.tolist() == pytest.approx(cui.tolist())
    clamped = plain_fossil(class_term="effective_number", beta=0.99, class_clamp=1.5).weights(batch, START)
    assert clamped.tolist() == pytest.approx([min(w, 1.5) for w in cui.tolist()])


def test_stage_multiplier_takes_the_place_of_the_difficulty_term() -> None:
    scores = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    batch = make_batch([0] * 8, priors=[0.5, 0.5], difficulty=scores)
    method = plain_fossil(stage_mode=True)
    method.before_epoch(batch, START)
    # Quartiles of the scores are .175, .35 and .525.
    expected = [0.9, 0.9, 1.0, 1.0, 1.1, 1.1, 1.2, 1.2]
    assert method.weights(batch, START).tolist() == pytest.approx(expected)
    # Of other samples alone, the weights are what they were: stages belong to the training set.
    hard = make_batch([0, 0], priors=[0.5, 0.5], difficulty=[0.6, 0.7])
    assert method.weights(hard, START).tolist() == pytest.approx([1.2, 1.2])


def test_stages_of_a_stack_are_each_models_own() -> None:
    scores = torch.tensor([[0.0, 0.1, 0.2, 0.3], [0.4, 0.6, 0.8, 1.0]], dtype=torch.float64)
    one = make_batch([0] * 4, priors=[0.5, 0.5])
    stack = {name: value.expand(2, *value.shape) for name, value in vars(one).items()} | {"difficulty": scores}
    method = plain_fossil(stage_mode=True)
    method.before_epoch(Batch(**stack), START)
    expected = [[0.9, 1.0, 1.1, 1.2]] * 2
    assert method.weights(Batch(**stack), START).tolist() == [pytest.approx(row) for row in expected]


def test_stage_mode_before_the_first_epoch_is_an_error() -> None:
    with pytest.raises(ValueError, match="thresholds"):
        plain_fossil(stage_mode=True).weights(make_batch([0], priors=[0.5, 0.5]), START)


def test_constant_penalty_holds_from_the_first_epoch() -> None:
    batch = make_batch([0, 0], priors=[0.5, 0.5], is_augmented=[True, False])
    method = plain_fossil(gamma_schedule="constant", gamma_initial=0.4)
    assert [method.weights(batch, Progress(t, 10)).tolist() for t in (0, 9)] == [[pytest.approx(0.6), 1.0]] * 2
