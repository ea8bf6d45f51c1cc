"""The paper's Lemmas 3.1 and 3.2 and Corollary 3.1, on the weights that are trained with."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fossil.config.methods.curriculum import CurriculumOptions
from fossil.config.methods.focal import FocalOptions
from fossil.config.methods.fossil import FossilOptions
from fossil.config.methods.temperature import TemperatureOptions
from fossil.methods.base import Batch, Progress
from fossil.methods.curriculum import Curriculum
from fossil.methods.focal import Focal
from fossil.methods.fossil import Fossil
from tests.unit.methods.batches import (
    SCHEDULES,
    START,
    constant,
    fossil_cases,
    fossil_weight,
    make_batch,
    plain_fossil,
    temperatures,
    unit,
)


@settings(deadline=None, max_examples=60)
@given(logits=st.lists(st.floats(-8, 8), min_size=1, max_size=6), gamma=st.floats(0.05, 8))
def test_focal_factor_is_the_difficulty_term_of_minus_log_one_minus_p_at_temperature_one_over_gamma(
    logits: list[float], gamma: float
) -> None:
    z = torch.tensor(logits, dtype=torch.float64)
    own = z.sigmoid()
    scores = (-torch.log1p(-own)).tolist()
    batch = make_batch([1] * len(logits), priors=[0.5, 0.5], difficulty=scores, logits=z.unsqueeze(-1))
    method = plain_fossil(temperature=constant(1 / gamma))
    weights = method.weights(batch, START)
    torch.testing.assert_close(weights, (1 - own) ** gamma, rtol=1e-9, atol=1e-14)
    focal = Focal(FocalOptions(gamma=gamma)).losses(batch)
    torch.testing.assert_close(weights * method.losses(batch), focal, rtol=1e-6, atol=1e-12)


@settings(deadline=None, max_examples=60)
@given(scores=st.lists(unit, min_size=1, max_size=6), schedule=st.sampled_from(SCHEDULES), epoch=st.integers(0, 49))
def test_curriculum_is_fossil_with_uniform_priors_no_penalty_and_no_warmup(
    scores: list[float], schedule: str, epoch: int
) -> None:
    course = TemperatureOptions(schedule=schedule)
    batch = make_batch([0] * len(scores), priors=[0.25] * 4, difficulty=scores, is_augmented=[True] * len(scores))
    progress = Progress(epoch, 50)
    theirs = Curriculum(CurriculumOptions(temperature=course)).weights(batch, progress)
    torch.testing.assert_close(plain_fossil(temperature=course).weights(batch, progress), theirs)


@settings(deadline=None, max_examples=150)
@given(case=fossil_cases())
def test_fossil_weight_is_between_zero_and_one_over_the_number_of_classes_times_the_prior(
    case: tuple[Batch, FossilOptions, Progress],
) -> None:
    batch, options, progress = case
    weights = Fossil(options).weights(batch, progress)
    assert (weights >= 0).all()
    assert (weights <= (1 + 1e-12) / (batch.classes * batch.of_class(batch.class_priors))).all()


def test_printed_lemma_fails_since_a_falling_temperature_lowers_the_weight_of_a_hard_sample() -> None:
    hard, original = {"difficulty": 1.0, "gamma": 0.0}, {"is_augmented": False}
    before = fossil_weight(temperature=1.0, **hard, **original)
    after = fossil_weight(temperature=0.5, **hard, **original)
    assert [before, after] == pytest.approx([math.exp(-1), math.exp(-2)])
    # The same through the paper's own schedule, which never rises.
    batch = make_batch([0], priors=[0.5, 0.5], difficulty=[1.0])
    method = plain_fossil(temperature=TemperatureOptions(schedule="exponential_decay"))
    weights = [method.weights(batch, Progress(epoch, 50)).item() for epoch in range(50)]
    assert all(later <= earlier for earlier, later in pairwise(weights))
    assert weights[0] == pytest.approx(math.exp(-1))
    assert weights[-1] < 1e-7 * weights[0]


@settings(deadline=None, max_examples=150)
@given(
    difficulty=unit,
    low=temperatures,
    rise=st.floats(0, 10),
    gamma=unit,
    kept=unit,
    is_augmented=st.booleans(),
)
def test_weight_never_falls_where_temperature_does_not_fall_and_penalty_does_not_rise(
    difficulty: float, low: float, rise: float, gamma: float, kept: float, is_augmented: bool
) -> None:
    sample = {"difficulty": difficulty, "is_augmented": is_augmented}
    before = fossil_weight(temperature=low, gamma=gamma, **sample)
    after = fossil_weight(temperature=low + rise, gamma=gamma * kept, **sample)
    assert after >= before * (1 - 1e-12)


def test_weight_falls_where_the_penalty_rises_although_the_temperature_does_not_fall() -> None:
    sample = {"difficulty": 0.0, "temperature": 1.0, "is_augmented": True}
    assert fossil_weight(gamma=0.0, **sample) == pytest.approx(1.0)
    assert fossil_weight(gamma=0.25, **sample) == pytest.approx(0.75)
