"""Difficulty scores and terciles, against torch, scipy and hand calculation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch.nn import functional

from fossil.difficulty import difficulty, terciles

PROXIES = ["softmax", "entropy", "loss"]


def random(*shape: int) -> torch.Tensor:
    return 3 * torch.randn(*shape, generator=torch.Generator().manual_seed(8), dtype=torch.float64)


def any_targets(logits: torch.Tensor) -> torch.Tensor:
    n = logits.shape[:-1]
    return torch.arange(math.prod(n)).reshape(n) % max(logits.shape[-1], 2)


def test_scores_by_hand() -> None:
    # p_1 = 3/4 and 1/2.
    logits, targets = torch.tensor([[math.log(3)], [0.0]], dtype=torch.float64), torch.tensor([1, 1])
    assert difficulty(logits, targets, proxy="softmax").tolist() == pytest.approx([0.25, 0.5])
    bits = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25))
    assert difficulty(logits, targets, proxy="entropy").tolist() == pytest.approx([bits, 1.0])
    # Losses log 4/3, log 2 and log 4, scaled to [0, 1].
    three = torch.tensor([[math.log(3)], [0.0], [math.log(3)]], dtype=torch.float64)
    middle = (math.log(2) - math.log(4 / 3)) / (math.log(4) - math.log(4 / 3))
    assert difficulty(three, torch.tensor([1, 1, 0]), proxy="loss").tolist() == pytest.approx([0, middle, 1])


def naive_score(logits: torch.Tensor, targets: torch.Tensor, proxy: str) -> torch.Tensor:
    """Score by torch's and scipy's own functions."""
    p = functional.softmax(logits, dim=-1)
    if proxy == "softmax":
        return 1 - p.amax(-1)
    if proxy == "entropy":
        return torch.from_numpy(stats.entropy(p.numpy(), axis=-1, base=logits.shape[-1]))
    losses = functional.cross_entropy(logits, targets, reduction="none")
    return (losses - losses.min()) / (losses.max() - losses.min())


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("proxy", PROXIES)
def test_score_is_one_minus_the_largest_probability_the_entropy_or_the_scaled_loss(proxy: str, classes: int) -> None:
    logits = random(10, classes)
    targets = any_targets(logits)
    found = difficulty(logits, targets, proxy=proxy)
    torch.testing.assert_close(found, naive_score(logits, targets, proxy), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("proxy", PROXIES)
def test_one_logit_scores_as_two_logits_with_that_difference(proxy: str) -> None:
    one = random(12, 1)
    two = torch.cat([-one / 2, one / 2], dim=-1)
    torch.testing.assert_close(
        difficulty(one, any_targets(one), proxy=proxy), difficulty(two, any_targets(one), proxy=proxy)
    )


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_equal_logits_are_as_hard_as_can_be_and_equal_losses_score_zero(classes: int) -> None:
    logits = torch.full((4, classes), 2.0, dtype=torch.float64)
    assert difficulty(logits, any_targets(logits), proxy="softmax").tolist() == pytest.approx([1 - 1 / classes] * 4)
    assert difficulty(logits, any_targets(logits), proxy="entropy").tolist() == pytest.approx([1.0] * 4)
    assert difficulty(logits, any_targets(logits), proxy="loss").tolist() == [0.0] * 4  # as easy as each other


@pytest.mark.parametrize("proxy", ["softmax", "entropy"])
def test_only_the_loss_proxy_looks_at_targets(proxy: str) -> None:
    logits = random(6, 1)
    zeros, ones = torch.zeros(6, dtype=torch.long), torch.ones(6, dtype=torch.long)
    assert torch.equal(difficulty(logits, zeros, proxy=proxy), difficulty(logits, ones, proxy=proxy))
    assert not torch.equal(difficulty(logits, zeros, proxy="loss"), difficulty(logits, ones, proxy="loss"))


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("proxy", PROXIES)
def test_each_model_of_a_stack_is_scored_on_its_own(proxy: str, columns: int) -> None:
    logits = random(2, 3, 7, columns) * torch.tensor([1.0, 4.0]).reshape(2, 1, 1, 1)
    targets = any_targets(logits)
    scores = difficulty(logits, targets, proxy=proxy)
    assert scores.shape == (2, 3, 7)
    for place in np.ndindex(2, 3):
        torch.testing.assert_close(scores[place], difficulty(logits[place], targets[place], proxy=proxy))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("proxy", PROXIES)
def test_extreme_logits_give_finite_scores_that_are_not_negative(proxy: str, columns: int, dtype: torch.dtype) -> None:
    logits = torch.zeros(4, columns, dtype=dtype)
    logits[:, -1] = torch.tensor([1e4, -1e4, 0.0, 30.0])
    scores = difficulty(logits, torch.tensor([0, 1, 0, 1]), proxy=proxy)
    assert scores.isfinite().all()
    assert not (scores < 0).any()
    # A score of -0.0 is 0: it gives the difficulty term exp(-d / T) = 1 exactly.
    assert ((-scores / 0.05).exp() <= 1).all()


def test_certain_sample_scores_zero_and_no_precision_is_lost_near_it() -> None:
    logits = torch.tensor([[1e4], [30.0]])
    scores = difficulty(logits, torch.tensor([1, 1]), proxy="softmax")
    # In float32, 1 - sigmoid(30) would be 0.
    assert scores.tolist() == pytest.approx([0.0, math.exp(-30)], rel=1e-5)


@settings(deadline=None, max_examples=80)
@given(
    logits=st.lists(st.tuples(*[st.floats(-1e4, 1e4)] * 3), min_size=1, max_size=6),
    proxy=st.sampled_from(PROXIES),
    columns=st.sampled_from([1, 2, 3]),
)
def test_scores_are_between_zero_and_one(logits: list[tuple[float, ...]], proxy: str, columns: int) -> None:
    tensor = torch.tensor(logits, dtype=torch.float64)[:, :columns]
    scores = difficulty(tensor, any_targets(tensor), proxy=proxy)
    assert ((scores >= 0) & (scores <= 1)).all()
    if proxy == "softmax":
        assert (scores <= 1 - 1 / max(columns, 2) + 1e-12).all()


def test_terciles_by_hand() -> None:
    scores = torch.tensor([0.9, 0.1, 0.5, 0.2, 0.6, 0.8])
    assert terciles(scores).tolist() == [2, 0, 1, 0, 1, 2]


@settings(deadline=None, max_examples=60)
@given(scores=st.lists(st.floats(0, 1, width=32), min_size=3, max_size=40, unique=True))
def test_terciles_of_distinct_scores_hold_equally_many_and_go_up_with_the_score(scores: list[float]) -> None:
    found = terciles(torch.tensor(scores))
    sizes = torch.bincount(found, minlength=3)
    assert len(sizes) == 3
    assert sizes.max() - sizes.min() <= 1
    assert (found[torch.tensor(scores).argsort()].diff() >= 0).all()


def test_terciles_of_a_stack_are_those_of_each_row() -> None:
    scores = torch.rand(2, 3, 12, generator=torch.Generator().manual_seed(2))
    found = terciles(scores)
    assert found.shape == (2, 3, 12)
    for place in np.ndindex(2, 3):
        assert torch.equal(found[place], terciles(scores[place]))


def test_unscaled_loss_is_the_cross_entropy_itself() -> None:
    logits = torch.tensor([[3.0], [-2.0], [0.0]], dtype=torch.float64)
    targets = torch.tensor([0, 1, 1])
    found = difficulty(logits, targets, proxy="unscaled_loss")
    assert found.tolist() == pytest.approx([math.log1p(math.exp(3)), math.log1p(math.exp(2)), math.log(2)])
    # One outlier leaves it alone, and makes all other samples easy by the scaled loss.
    outlier = torch.cat([logits, torch.tensor([[100.0]], dtype=torch.float64)])
    more = torch.cat([targets, torch.tensor([0])])
    assert difficulty(outlier, more, proxy="unscaled_loss")[:3].tolist() == found.tolist()
    assert difficulty(outlier, more, proxy="loss")[:3].max() < 0.04
