"""What `FossilBilevel` refuses, by the name of the argument."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fossil import FossilBilevel, FossilOptions
from tests.unit.library.bilevel_models import (
    INDEX,
    N,
    data,
    deep,
    model_of,
    update,
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"train_size": 0}, "train_size: expected a whole number of at least 1, got 0"),
        ({"start": torch.ones(5)}, r"start: expected shape \(12,\), as train_size says, got \(5,\)"),
        ({"start": torch.zeros(N)}, "start: weights must be finite and not negative, and some must be positive"),
        ({"start": torch.full((N,), math.nan)}, "start: weights must be finite"),
        ({"start": torch.ones(N, dtype=torch.int64)}, "start: expected floats"),
        ({"is_augmented": torch.zeros(N)}, "is_augmented: expected bool"),
        ({"is_augmented": torch.zeros(5, dtype=torch.bool)}, r"is_augmented: expected shape \(12,\)"),
        ({"head": "fc"}, "head: the model has no submodule 'fc'; it has 0, 1, 2, 3, 4"),
        ({"head": "2"}, "head: none of its 0 parameters needs a gradient"),
        (
            {"model": model_of(nn.Linear(4, 2)).requires_grad_(False)},
            "model: none of its 2 parameters needs a gradient",
        ),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    given = {"model": deep(), "train_size": N} | arguments
    with pytest.raises(ValueError, match=message):
        FossilBilevel(given.pop("model"), given.pop("train_size"), **given)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "train_batches: index 11 is missing; .*no drop_last"),
        (
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 3],
            "train_batches: index 3 comes more than once; draw without replacement",
        ),
        ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12], "train_batches: index 12 is outside 0 to 11"),
        ([9, 10, 11], "train_batches: index 0, 1, 2, 3, 4 and 4 more is missing"),
    ],
)
def test_an_index_that_is_missing_doubled_or_outside_is_named(index: list[int], message: str) -> None:
    bilevel = FossilBilevel(deep(), N)
    inputs, targets = (torch.cat([values, values])[: len(index)] for values in data(seed=0))
    with pytest.raises(ValueError, match=message):
        bilevel.update([(inputs, targets, torch.tensor(index))], [data(seed=1)])
    assert bilevel(INDEX).tolist() == [1.0] * N


@pytest.mark.parametrize(
    ("train", "validation", "message"),
    [
        ([], None, "train_batches: there are no batches"),
        (None, [], "validation_batches: there are no batches"),
        ([data(seed=0)], None, r"train_batches: expected batches \(inputs, targets, index\), got 2 parts"),
        (None, data(seed=1)[:1], r"validation_batches: expected batches \(inputs, targets\), got Tensor"),
        ([(*data(seed=0), list(range(N)))], None, "train_batches: index must be a tensor, not list"),
        ([(*data(seed=0), INDEX[:5])], None, "train_batches: a batch has 12 inputs, but 5 index"),
        (
            [(*data(seed=0), INDEX.double())],
            None,
            r"index: expected integers, got torch.float64; convert with .long\(\)",
        ),
    ],
)
def test_wrong_batches_are_named(train: Any, validation: Any, message: str) -> None:
    train = [(*data(seed=0), INDEX)] if train is None else train
    validation = [data(seed=1)] if validation is None else validation
    with pytest.raises(ValueError, match=message):
        FossilBilevel(deep(), N).update(train, validation)


def test_a_head_that_is_not_the_end_of_the_model_is_refused() -> None:
    with pytest.raises(ValueError, match="head: its output is not the model's output"):
        update(FossilBilevel(deep(), N, head="0"))
    with pytest.raises(ValueError, match=r"head: expected a module that the model calls once.*called 2 times"):
        update(FossilBilevel(model_of(*[nn.Linear(4, 4)] * 2), N, head="0"))


def test_a_loss_that_is_not_one_a_sample_is_refused() -> None:
    with pytest.raises(ValueError, match=r"loss: expected one loss for each of 12 samples, got shape \(\)"):
        update(FossilBilevel(deep(), N, loss=cross_entropy))


def test_a_model_that_diverged_keeps_its_weights_and_says_so() -> None:
    model = deep()
    with torch.no_grad():
        model[4].bias.fill_(math.nan)
    for head in (None, "4"):
        bilevel = FossilBilevel(model, N, head=head)
        with pytest.raises(FloatingPointError, match="hypergradient is not finite"):
            update(bilevel)
        assert bilevel(INDEX).tolist() == [1.0] * N


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: y + 3, "targets: expected classes from 0 to [12], as the logits say, got 3"),
        (lambda y: -100 * y, "targets: expected classes from 0 to [12], as the logits say, got -100"),
        (lambda y: y.float(), "targets: expected integers"),
    ],
)
def test_wrong_labels_are_named_by_the_loss_that_is_used_by_default(
    outputs: int, change: Callable[[Tensor], Tensor], message: str
) -> None:
    inputs, targets = data(seed=0)
    bilevel = FossilBilevel(model_of(nn.Linear(4, outputs)), N)
    with pytest.raises(ValueError, match=message):
        bilevel.update([(inputs, change(targets), INDEX)], [data(seed=1)])
    assert torch.equal(bilevel.weights, torch.ones(N, dtype=bilevel.weights.dtype))


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([0, N], f"index: {N} is outside 0 to {N - 1}, as train_size says"),
        ([-1, 2], f"index: -1 is outside 0 to {N - 1}, as train_size says"),
        ([0.0, 1.0], "index: expected integers"),
    ],
)
def test_a_place_outside_the_training_set_or_not_an_integer_is_named(index: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FossilBilevel(deep(), N)(torch.tensor(index))


def test_options_of_another_kind_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="options: expected BilevelOptions, got FossilOptions"):
        FossilBilevel(deep(), N, options=FossilOptions())
