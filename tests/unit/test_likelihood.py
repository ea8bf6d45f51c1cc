"""Cross-entropy and class probabilities, against plain torch and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from fossil.likelihood import class_log_probabilities, cross_entropy

one_logit = st.lists(st.floats(-50, 50), min_size=1, max_size=8).map(
    lambda values: torch.tensor(values, dtype=torch.float64).unsqueeze(-1)
)


def random(*shape: int) -> torch.Tensor:
    return 4 * torch.randn(*shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


def test_cross_entropy_by_hand() -> None:
    # p_1 = 3/4.
    logit = torch.tensor([[math.log(3)], [math.log(3)]], dtype=torch.float64)
    assert cross_entropy(logit, torch.tensor([1, 0])).tolist() == pytest.approx([math.log(4 / 3), math.log(4)])
    # p = 1/6, 2/6, 3/6.
    logits = torch.tensor([[0.0, math.log(2), math.log(3)]], dtype=torch.float64).expand(3, 3)
    losses = cross_entropy(logits, torch.tensor([0, 1, 2]))
    assert losses.tolist() == pytest.approx([math.log(6), math.log(3), math.log(2)])


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_cross_entropy_of_several_logits_is_that_of_torch(classes: int) -> None:
    logits, targets = random(12, classes), torch.arange(12) % classes
    torch.testing.assert_close(
        cross_entropy(logits, targets), functional.cross_entropy(logits, targets, reduction="none")
    )


@settings(deadline=None, max_examples=60)
@given(logits=one_logit)
def test_one_logit_means_what_two_logits_with_that_difference_mean(logits: torch.Tensor) -> None:
    two = torch.cat([torch.zeros_like(logits), logits], dim=-1) - 7.0
    for label in (0, 1):
        targets = torch.full(logits.shape[:-1], label)
        torch.testing.assert_close(cross_entropy(logits, targets), cross_entropy(two, targets), rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(class_log_probabilities(logits), class_log_probabilities(two), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_cross_entropy_is_minus_the_log_probability_of_the_own_class(columns: int) -> None:
    logits, targets = random(8, columns), torch.arange(8) % max(columns, 2)
    own = class_log_probabilities(logits).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(cross_entropy(logits, targets), -own)


@pytest.mark.parametrize("columns", [1, 3])
def test_leading_axes_change_nothing(columns: int) -> None:
    logits = random(2, 3, 5, columns)
    targets = torch.arange(30).reshape(2, 3, 5) % max(columns, 2)
    losses, log_p = cross_entropy(logits, targets), class_log_probabilities(logits)
    assert losses.shape == (2, 3, 5)
    assert log_p.shape == (2, 3, 5, max(columns, 2))
    for place in np.ndindex(2, 3):
        torch.testing.assert_close(losses[place], cross_entropy(logits[place], targets[place]))
        torch.testing.assert_close(log_p[place], class_log_probabilities(logits[place]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("columns", [1, 3])
def test_extreme_logits_give_exact_finite_losses(columns: int, dtype: torch.dtype) -> None:
    logits = torch.zeros(2, columns, dtype=dtype)
    logits[:, -1] = 1e4
    targets = torch.tensor([max(columns - 1, 1), 0])
    assert cross_entropy(logits, targets).tolist() == [0.0, 1e4]
    assert class_log_probabilities(logits).isfinite().all()
    assert class_log_probabilities(-logits).isfinite().all()


@settings(deadline=None, max_examples=60)
@given(logits=st.lists(st.tuples(*[st.floats(-1e4, 1e4)] * 3), min_size=1, max_size=5))
def test_probabilities_add_up_to_one_and_losses_are_not_negative(logits: list[tuple[float, ...]]) -> None:
    tensor = torch.tensor(logits, dtype=torch.float64)
    for z in (tensor, tensor[:, :1]):
        total = class_log_probabilities(z).exp().sum(-1)
        torch.testing.assert_close(total, torch.ones_like(total))
        assert (cross_entropy(z, torch.zeros(len(logits), dtype=torch.long)) >= 0).all()
