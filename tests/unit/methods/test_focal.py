"""Focal loss: its values, its gradient and what it refuses."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor
from torch.nn import functional
from torchvision.ops import sigmoid_focal_loss

from fossil.config.methods.focal import FocalOptions
from fossil.methods.focal import Focal
from tests.unit.methods.batches import (
    make_batch,
)


@settings(deadline=None, max_examples=60)
@given(
    logits=st.lists(st.floats(-12, 12), min_size=1, max_size=6),
    gamma=st.floats(0, 5),
    alpha=st.none() | st.floats(0.01, 0.99),
    data=st.data(),
)
def test_focal_loss_with_one_logit_is_the_published_formula(
    logits: list[float], gamma: float, alpha: float | None, data: st.DataObject
) -> None:
    targets = data.draw(st.lists(st.integers(0, 1), min_size=len(logits), max_size=len(logits)))
    batch = make_batch(targets, priors=[0.5, 0.5], logits=torch.tensor(logits, dtype=torch.float64).unsqueeze(-1))
    losses = Focal(FocalOptions(gamma=gamma, alpha=alpha)).losses(batch)
    margins = [z if y else -z for z, y in zip(logits, targets, strict=True)]
    own = [1 / (1 + math.exp(-m)) for m in margins]
    other = [1 / (1 + math.exp(m)) for m in margins]
    factor = [1.0 if alpha is None else alpha if y else 1 - alpha for y in targets]
    expected = [-a * q**gamma * math.log(p) for a, p, q in zip(factor, own, other, strict=True)]
    assert losses.tolist() == pytest.approx(expected, rel=1e-6, abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(logits=st.lists(st.tuples(*[st.floats(-12, 12)] * 3), min_size=1, max_size=5), gamma=st.floats(0, 5))
def test_focal_loss_with_three_logits_is_the_published_formula(
    logits: list[tuple[float, float, float]], gamma: float
) -> None:
    targets = [row % 3 for row in range(len(logits))]
    batch = make_batch(targets, priors=[0.3, 0.3, 0.4], logits=torch.tensor(logits, dtype=torch.float64))
    losses = Focal(FocalOptions(gamma=gamma)).losses(batch)
    expected = []
    for row, y in zip(logits, targets, strict=True):
        total = sum(math.exp(z) for z in row)
        rest = sum(math.exp(z) for k, z in enumerate(row) if k != y) / total
        expected.append(-(rest**gamma) * math.log(math.exp(row[y]) / total))
    assert losses.tolist() == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("columns", "gamma", "alpha"), [(1, 3.0, 0.25), (1, 2.0, None), (2, 2.0, None)])
def test_focal_loss_is_that_of_torchvision_for_one_logit_and_for_the_difference_of_two(
    columns: int, gamma: float, alpha: float | None
) -> None:
    targets, margin = [0, 1, 0, 1], torch.tensor([-3.0, -0.4, 0.0, 2.5], dtype=torch.float64)
    theirs = sigmoid_focal_loss(
        margin, torch.tensor(targets).double(), alpha=-1 if alpha is None else alpha, gamma=gamma
    )
    logits = margin.unsqueeze(-1) if columns == 1 else torch.stack([0.7 - margin / 3, 0.7 + margin * 2 / 3], dim=-1)
    batch = make_batch(targets, priors=[0.5, 0.5], logits=logits)
    torch.testing.assert_close(Focal(FocalOptions(gamma=gamma, alpha=alpha)).losses(batch), theirs)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_gradient_of_the_focal_loss_is_that_of_finite_differences(columns: int) -> None:
    targets = [0, 1, columns - 1 if columns > 1 else 1]
    start = torch.tensor([[0.4, -1.0, 2.0], [-0.7, 1.5, 0.1], [3.0, 0.2, -2.0]], dtype=torch.float64)[:, :columns]

    def losses(logits: Tensor) -> Tensor:
        return Focal(FocalOptions(gamma=2.5)).losses(make_batch(targets, priors=[1.0, 1.0, 1.0], logits=logits))

    assert torch.autograd.gradcheck(losses, start.clone().requires_grad_())


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("margin", [18.0, 40.0, 1e4])
def test_gradient_of_the_focal_loss_is_finite_for_a_sample_that_is_all_but_certain(
    margin: float, columns: int, gamma: float
) -> None:
    logits = torch.zeros(1, columns)
    logits[0, -1] = margin
    logits.requires_grad_()
    targets = [max(columns - 1, 1)]
    batch = make_batch(targets, priors=[0.4, 0.3, 0.3], logits=logits, dtype=torch.float32)
    loss = Focal(FocalOptions(gamma=gamma)).losses(batch).sum()
    (gradient,) = torch.autograd.grad(loss, logits)
    assert loss.isfinite()
    assert gradient.isfinite().all()


@pytest.mark.parametrize("columns", [1, 3])
def test_focal_loss_with_gamma_zero_is_cross_entropy(columns: int) -> None:
    logits = torch.tensor([[1.0, 0.0, -2.0], [-1.0, 0.5, 3.0]], dtype=torch.float64)[:, :columns]
    batch = make_batch([1, 0], priors=[0.4, 0.3, 0.3], logits=logits)
    expected = (
        functional.binary_cross_entropy_with_logits(logits[:, 0], torch.tensor([1.0, 0.0]).double(), reduction="none")
        if columns == 1
        else functional.cross_entropy(logits, torch.tensor([1, 0]), reduction="none")
    )
    torch.testing.assert_close(Focal(FocalOptions(gamma=0.0)).losses(batch), expected)


def test_focal_alpha_with_more_than_two_classes_is_an_error() -> None:
    batch = make_batch([0, 2], priors=[0.4, 0.3, 0.3], logits=torch.zeros(2, 3, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"alpha = 0\.25 .* 3"):
        Focal(FocalOptions(alpha=0.25)).losses(batch)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_focal_alpha_that_would_silence_a_class_is_refused(alpha: float) -> None:
    with pytest.raises(ValidationError, match="alpha"):
        FocalOptions(alpha=alpha)
