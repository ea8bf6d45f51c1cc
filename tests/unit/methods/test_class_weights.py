"""ERM and class weights, by hand and against the formulas of their papers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fossil.config.methods.base import NoOptions
from fossil.config.methods.static import EffectiveNumberOptions
from fossil.methods.erm import ERM
from fossil.methods.static import EffectiveNumber, Static, StaticInverted
from tests.unit.methods.batches import (
    START,
    make_batch,
)


def test_erm_weighs_every_sample_one() -> None:
    batch = make_batch([0, 1, 0, 1], priors=[0.9, 0.1], difficulty=[0.0, 0.2, 0.7, 1.0])
    assert ERM(NoOptions()).weights(batch, START).tolist() == [1.0, 1.0, 1.0, 1.0]


def test_losses_of_a_method_without_its_own_are_cross_entropy() -> None:
    logits = torch.tensor([[0.0], [math.log(3)], [math.log(3)]], dtype=torch.float64)
    batch = make_batch([1, 1, 0], priors=[0.5, 0.5], logits=logits)
    # Probabilities of the own class: 1/2, 3/4 and 1/4.
    assert ERM(NoOptions()).losses(batch).tolist() == pytest.approx([math.log(2), math.log(4 / 3), math.log(4)])


@pytest.mark.parametrize(
    ("method", "of_two", "of_three"),
    [(Static, [5 / 9, 5.0], [5 / 3, 2 / 3, 10 / 9]), (StaticInverted, [1.8, 0.2], [0.6, 1.5, 0.9])],
)
def test_static_weight_is_one_over_classes_times_prior_and_inverted_the_product_itself(
    method: type[Static | StaticInverted], of_two: list[float], of_three: list[float]
) -> None:
    two = method(NoOptions()).weights(make_batch([0, 1], priors=[0.9, 0.1]), START)
    three = method(NoOptions()).weights(make_batch([2, 0, 1], priors=[0.5, 0.3, 0.2]), START)
    assert two.tolist() == pytest.approx(of_two)
    assert three.tolist() == pytest.approx(of_three)


def test_effective_number_weights_are_cuis_up_to_their_scale() -> None:
    counts, beta = [1800, 200, 20], 0.999
    cui = np.array([(1 - beta) / (1 - beta**n) for n in counts])
    batch = make_batch([0, 1, 2], priors=[n / 1000 for n in counts])  # counts are 1000 times the priors
    weights = EffectiveNumber(EffectiveNumberOptions(beta=beta)).weights(batch, START).numpy()
    np.testing.assert_allclose(weights / weights[0], cui / cui[0], rtol=1e-12)
    # The mean over all samples is 1.
    assert float(weights @ counts) == pytest.approx(sum(counts))


@settings(deadline=None)
@given(counts=st.lists(st.integers(1, 10_000), min_size=2, max_size=5))
def test_effective_number_goes_from_equal_weights_at_beta_zero_to_static_weights_for_beta_towards_one(
    counts: list[int],
) -> None:
    batch = make_batch(list(range(len(counts))), priors=[n / 1000 for n in counts])
    equal = EffectiveNumber(EffectiveNumberOptions(beta=0.0)).weights(batch, START)
    assert equal.tolist() == pytest.approx([1.0] * len(counts))
    nearly_static = EffectiveNumber(EffectiveNumberOptions(beta=1 - 1e-9)).weights(batch, START)
    static = Static(NoOptions()).weights(batch, START)
    assert nearly_static.tolist() == pytest.approx(static.tolist(), rel=1e-4)
