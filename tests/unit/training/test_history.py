"""The summary of an epoch, by hand and against numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fossil.training.history import effective_sample_size, summarise_epoch

weight_lists = st.lists(st.floats(0, 1e3), min_size=1, max_size=20).filter(lambda values: max(values) > 1e-3)


def doubles(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_effective_sample_size_by_hand() -> None:
    # 36 / 14, 9 / 9 and 25 / 13.
    assert effective_sample_size(doubles([1.0, 2.0, 3.0])).item() == pytest.approx(36 / 14)
    assert effective_sample_size(doubles([[3.0, 0.0], [2.0, 3.0]])).tolist() == pytest.approx([1.0, 25 / 13])


@settings(deadline=None)
@given(weights=weight_lists)
def test_effective_sample_size_is_between_one_and_the_number_of_samples(weights: list[float]) -> None:
    found = effective_sample_size(doubles(weights)).item()
    assert 1 - 1e-9 <= found <= len(weights) * (1 + 1e-9)


@settings(deadline=None)
@given(n=st.integers(1, 50), weight=st.floats(1e-6, 1e6))
def test_equal_weights_have_the_effective_size_of_all_samples(n: int, weight: float) -> None:
    assert effective_sample_size(torch.full((n,), weight, dtype=torch.float64)).item() == pytest.approx(n)


@settings(deadline=None)
@given(weights=weight_lists, factor=st.floats(1e-3, 1e3))
def test_effective_sample_size_does_not_depend_on_the_scale_of_the_weights(weights: list[float], factor: float) -> None:
    scaled = effective_sample_size(factor * doubles(weights)).item()
    assert scaled == pytest.approx(effective_sample_size(doubles(weights)).item())


@pytest.mark.parametrize(("weight", "dtype"), [(1e-20, torch.float32), (1e-170, torch.float64)])
def test_effective_sample_size_of_weights_with_vanishing_squares_is_that_of_all_samples(
    weight: float, dtype: torch.dtype
) -> None:
    assert effective_sample_size(torch.full((4,), weight, dtype=dtype)).item() == pytest.approx(4, rel=1e-5)


def test_effective_sample_size_of_zeros_is_zero() -> None:
    assert effective_sample_size(torch.zeros(2, 5)).tolist() == [0.0, 0.0]


def summary(weights: Tensor, *, targets: Tensor | None = None, losses: Tensor | None = None) -> dict[str, Tensor]:
    return summarise_epoch(
        losses=torch.ones_like(weights) if losses is None else losses,
        weights=weights,
        targets=torch.arange(weights.shape[-1]).expand(weights.shape) % 2 if targets is None else targets,
        difficulty=None,
        validation_losses=torch.ones(*weights.shape[:-1], 2),
    )


def test_summary_of_an_epoch_by_hand() -> None:
    found = summarise_epoch(
        losses=doubles([1.0, 2.0, 3.0, 6.0]),
        weights=doubles([1.0, 0.0, 2.0, 1.0]),
        targets=torch.tensor([0, 0, 0, 1]),
        difficulty=None,
        validation_losses=doubles([0.5, 1.0, 3.0]),
    )
    assert {key: value.item() for key, value in found.items()} == pytest.approx(
        {
            "train_loss": 3.0,
            "weighted_train_loss": (1 + 0 + 6 + 6) / 4,
            "validation_loss": 1.5,
            "n_eff": 16 / 6,
            "n_eff_share": 4 / 6,
            # Of 0, 1, 1, 2 at the places .15, 1.5 and 2.85 between them.
            "weight_q05": 0.15,
            "weight_mean": 1.0,
            "weight_q50": 1.0,
            "weight_q95": 1.85,
            "weight_mean_class0": 1.0,
            "weight_mean_class1": 1.0,
        }
    )


def test_class_means_are_those_of_the_weights_of_each_class() -> None:
    weights = doubles([1.0, 2.0, 4.0, 8.0, 16.0])
    found = summary(weights, targets=torch.tensor([1, 0, 1, 0, 0]))
    assert found["weight_mean_class0"].item() == pytest.approx(26 / 3)
    assert found["weight_mean_class1"].item() == pytest.approx(2.5)


@settings(deadline=None)
@given(weights=weight_lists)
def test_quantiles_are_those_of_numpy(weights: list[float]) -> None:
    found = summary(doubles(weights), targets=torch.zeros(len(weights), dtype=torch.long))
    keys = ("weight_q05", "weight_q50", "weight_q95")
    assert [found[key].item() for key in keys] == pytest.approx(np.quantile(weights, [0.05, 0.5, 0.95]).tolist())


def test_class_that_does_not_occur_has_no_mean() -> None:
    found = summary(doubles([1.0, 2.0]), targets=torch.tensor([0, 0]))
    assert math.isnan(found["weight_mean_class1"].item())
    assert found["weight_mean_class0"].item() == 1.5


def test_each_model_of_a_stack_is_summarised_on_its_own() -> None:
    weights = torch.rand(3, 11, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    losses = weights.flip(-1) + 1
    together = summary(weights, losses=losses)
    for k in range(3):
        alone = summary(weights[k], losses=losses[k])
        assert {key: value[k].item() for key, value in together.items()} == pytest.approx(
            {key: value.item() for key, value in alone.items()}
        )


def test_model_with_a_loss_that_is_not_finite_leaves_the_others_summaries_alone() -> None:
    weights, losses = torch.ones(2, 4, dtype=torch.float64), torch.ones(2, 4, dtype=torch.float64)
    losses[1, 2] = weights[1, 2] = math.nan
    found = summary(weights, losses=losses)
    assert all(math.isfinite(value[0]) for value in found.values())
    assert math.isnan(found["train_loss"][1])
    assert math.isnan(found["weight_q50"][1])


def test_means_of_float32_losses_are_taken_in_float64() -> None:
    found = summary(torch.ones(3), losses=torch.tensor([2.0**24, 1.0, 1.0]))
    assert found["train_loss"].item() == pytest.approx((2**24 + 2) / 3, rel=1e-15)


def by_third(weights: Tensor, difficulty: Tensor, targets: Tensor) -> dict[str, Tensor]:
    found = summarise_epoch(
        losses=torch.ones_like(weights),
        weights=weights,
        targets=targets,
        difficulty=difficulty,
        validation_losses=torch.ones(*weights.shape[:-1], 2),
    )
    return {key: value for key, value in found.items() if "difficulty" in key}


def test_mean_weights_by_third_of_difficulty_are_those_of_each_class_by_hand() -> None:
    # Class 0 by difficulty: 10 | 20 | 30, 40; class 1: none | 5 | 7.
    found = by_third(
        weights=doubles([30.0, 5.0, 10.0, 40.0, 7.0, 20.0]),
        difficulty=doubles([0.3, 0.9, 0.0, 0.5, 1.0, 0.1]),
        targets=torch.tensor([0, 1, 0, 0, 1, 0]),
    )
    values = {key: value.item() for key, value in found.items()}
    assert math.isnan(values.pop("weight_class1_difficulty1"))
    assert values == pytest.approx(
        {
            "weight_class0_difficulty1": 10.0,
            "weight_class0_difficulty2": 20.0,
            "weight_class0_difficulty3": 35.0,
            "weight_class1_difficulty2": 5.0,
            "weight_class1_difficulty3": 7.0,
        }
    )


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5), st.floats(0, 10)), min_size=1, max_size=30),
)
def test_mean_weights_by_third_are_those_of_sorting_each_class(rows: list[tuple[int, int, float]]) -> None:
    targets, scores, weights = (np.array(column) for column in zip(*rows, strict=True))
    found = by_third(doubles(weights), doubles(scores / 5), torch.tensor(targets))
    for label in (0, 1):
        own = weights[targets == label][np.argsort(scores[targets == label], kind="stable")]
        cuts = [len(own) * k // 3 for k in range(4)]
        for third in (1, 2, 3):
            part = own[cuts[third - 1] : cuts[third]]
            value = found[f"weight_class{label}_difficulty{third}"].item()
            assert math.isnan(value) if not len(part) else value == pytest.approx(part.mean(), abs=1e-9)


def test_thirds_are_those_of_each_class_whatever_the_scale_of_the_difficulty() -> None:
    weights, targets = doubles([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), torch.tensor([0, 1, 0, 1, 0, 1])
    scores = doubles([0.1, 0.9, 0.5, 0.2, 0.3, 0.4])
    small, large = by_third(weights, scores, targets), by_third(weights, 1000 * scores, targets)
    assert {key: value.item() for key, value in small.items()} == {key: value.item() for key, value in large.items()}
    assert small["weight_class0_difficulty3"].item() == 3.0
