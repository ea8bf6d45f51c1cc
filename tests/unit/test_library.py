"""Eq. 1 for a training loop of one's own, against a naive formula."""

from __future__ import annotations

import io
import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

import fossil
from fossil import BilevelOptions, FossilOptions, FossilWeights, TemperatureOptions
from fossil.difficulty import difficulty
from tests.unit.batches import SCHEDULES, naive_temperature

COUNTS = [60, 30, 10]
TARGETS = torch.tensor([0, 1, 2, 2, 1, 0])
SCORES = torch.tensor([0.0, 0.1, 0.3, 0.6, 0.9, 1.0], dtype=torch.float64)
COPIES = torch.tensor([False, True, False, True, False, True])
LOGITS = torch.linspace(-2, 3, 18, dtype=torch.float64).sin().reshape(6, 3) * 3


def naive(
    targets: Tensor,
    scores: Tensor,
    copies: Tensor,
    *,
    epoch: int,
    epochs: int,
    counts: list[int],
    schedule: str = "exponential_decay",
) -> list[float]:
    """Eq. 1 with the default options but for the schedule, sample by sample."""
    found = []
    for y, d, copy in zip(targets.tolist(), scores.tolist(), copies.tolist(), strict=True):
        s = min(epoch / epochs, 1.0)
        class_term = sum(counts) / (len(counts) * counts[y])
        penalty = 1 - 0.5 * s if copy else 1.0
        found.append(class_term * math.exp(-d / naive_temperature(schedule, s)) * penalty * min(1, (epoch + 1) / 5))
    return found


def after(weights: FossilWeights, epochs: int) -> FossilWeights:
    for _ in range(epochs):
        weights.step()
    return weights


def saved(state: dict[str, Any]) -> dict[str, Any]:
    """What a checkpoint gives back."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


# --- Values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("epoch", [0, 3, 9, 10, 14])
def test_weights_are_those_of_equation_1_and_schedules_stay_at_their_end_after_the_last_epoch(
    schedule: str, epoch: int
) -> None:
    options = FossilOptions(temperature=TemperatureOptions(schedule=schedule))
    weights = after(FossilWeights(COUNTS, epochs=10, options=options), epoch)
    found = weights(TARGETS, difficulty=SCORES, is_augmented=COPIES)
    expected = naive(TARGETS, SCORES, COPIES, epoch=epoch, epochs=10, counts=COUNTS, schedule=schedule)
    assert found.tolist() == pytest.approx(expected, rel=1e-13)
    assert weights.epoch == epoch


def test_warm_up_that_is_longer_than_the_epochs_goes_on_after_them() -> None:
    options = FossilOptions(warmup_epochs=8, temperature=TemperatureOptions(schedule="infinite"))
    weights = FossilWeights([1, 1], epochs=2, options=options)
    found = [after(weights, 1)(torch.tensor([0]), difficulty=torch.zeros(1)).item() for _ in range(9)]
    assert found == pytest.approx([2 / 8, 3 / 8, 4 / 8, 5 / 8, 6 / 8, 7 / 8, 1, 1, 1])


@pytest.mark.parametrize("proxy", ["softmax", "entropy"])
def test_weights_from_logits_are_those_of_their_difficulty_and_carry_no_gradient(proxy: Any) -> None:
    weights = after(FossilWeights(COUNTS, epochs=10, proxy=proxy), 4)
    logits = LOGITS.clone().requires_grad_()
    found = weights(TARGETS, logits=logits, is_augmented=COPIES)
    p = LOGITS.softmax(-1)
    scores = 1 - p.amax(-1) if proxy == "softmax" else -(p * p.log()).sum(-1) / math.log(3)
    assert found.tolist() == pytest.approx(naive(TARGETS, scores, COPIES, epoch=4, epochs=10, counts=COUNTS))
    assert not found.requires_grad
    assert found.shape == TARGETS.shape


def test_one_logit_in_either_shape_gives_the_weights_of_two_logits() -> None:
    weights = FossilWeights([9, 1], epochs=3)
    targets, logit = torch.tensor([0, 1, 1, 0]), torch.tensor([-2.0, 0.0, 1.0, 3.0])
    both = weights(targets, logits=torch.stack([torch.zeros(4), logit], dim=-1))
    torch.testing.assert_close(weights(targets, logits=logit), both)
    torch.testing.assert_close(weights(targets, logits=logit.unsqueeze(-1)), both)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_logits_of_half_precision_give_the_float32_weights_of_their_values(dtype: torch.dtype) -> None:
    weights = after(FossilWeights(COUNTS, epochs=3), 2)
    logits = LOGITS.to(dtype)
    found = weights(TARGETS, logits=logits)
    assert found.dtype == torch.float32
    assert torch.equal(found, weights(TARGETS, logits=logits.float()))


def test_weights_of_a_batch_are_those_of_its_shards() -> None:
    weights = after(FossilWeights(COUNTS, epochs=7), 3)
    whole = weights(TARGETS, logits=LOGITS, is_augmented=COPIES)
    shards = [
        weights(TARGETS[rows], logits=LOGITS[rows], is_augmented=COPIES[rows]) for rows in (slice(0, 1), slice(1, 6))
    ]
    assert torch.equal(torch.cat(shards), whole)


def test_class_counts_may_be_a_list_an_array_or_a_tensor_and_targets_any_integers() -> None:
    found = [
        FossilWeights(counts, epochs=3)(TARGETS.to(dtype), difficulty=SCORES).tolist()
        for counts, dtype in (
            (COUNTS, torch.int64),
            (np.array(COUNTS), torch.int32),
            (torch.tensor(COUNTS), torch.uint8),
            (torch.tensor(COUNTS, dtype=torch.float32), torch.int64),
        )
    ]
    assert all(one == found[0] for one in found)


def test_weights_are_on_the_device_of_the_targets() -> None:
    weights = FossilWeights(COUNTS, epochs=3, check=False)
    assert weights(TARGETS.to("meta"), logits=LOGITS.to("meta")).device == torch.device("meta")


def test_an_empty_batch_has_no_weights() -> None:
    weights = FossilWeights(COUNTS, epochs=3)
    assert weights(TARGETS[:0], logits=LOGITS[:0]).tolist() == []


def test_stages_are_quantiles_of_the_whole_training_set() -> None:
    options = FossilOptions(stage_mode=True, warmup_epochs=0, stage_quantiles=[0.5], stage_multipliers=[0.5, 2.0])
    weights = FossilWeights([1, 1], epochs=3, options=options)
    weights.set_stages(torch.linspace(0, 1, 11))
    scores = torch.tensor([0.1, 0.49, 0.51, 1.0])
    zeros = torch.zeros(4, dtype=torch.int64)
    assert weights(zeros, difficulty=scores).tolist() == pytest.approx([0.5, 0.5, 2.0, 2.0])
    assert weights(zeros[:1], difficulty=scores[2:3]).tolist() == pytest.approx([2.0])
    again = FossilWeights([1, 1], epochs=3, options=options)
    again.load_state_dict(saved(weights.state_dict()))
    assert torch.equal(again(zeros, difficulty=scores), weights(zeros, difficulty=scores))


def test_scores_of_the_loss_proxy_are_given_for_the_whole_training_set() -> None:
    scores = difficulty(LOGITS, TARGETS, proxy="loss")
    found = FossilWeights(COUNTS, epochs=3)(TARGETS, difficulty=scores)
    expected = naive(TARGETS, scores, torch.zeros(6), epoch=0, epochs=3, counts=COUNTS)
    assert found.tolist() == pytest.approx(expected)


# --- Checkpoints and compilation --------------------------------------------------------------------------------------


def test_a_checkpoint_goes_on_identically() -> None:
    weights = after(FossilWeights(COUNTS, epochs=6), 2)
    again = FossilWeights(COUNTS, epochs=6)
    again.load_state_dict(saved(weights.state_dict()))
    for _ in range(5):
        assert again.epoch == weights.epoch
        assert torch.equal(again(TARGETS, logits=LOGITS), weights(TARGETS, logits=LOGITS))
        after(weights, 1), after(again, 1)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (FossilWeights([60, 30, 11], epochs=6), r"class_counts was \[60, 30, 11\], but is \[60, 30, 10\]"),
        (FossilWeights(COUNTS, epochs=7), "epochs was 7, but is 6"),
        (FossilWeights(COUNTS, epochs=6, proxy="entropy"), "proxy was 'entropy', but is 'softmax'"),
        (
            FossilWeights(
                COUNTS, epochs=6, options=FossilOptions(temperature=TemperatureOptions(decay=2.0), gamma_initial=0.1)
            ),
            r"options.temperature.decay was 2.0, but is 3.0, options.gamma_initial was 0.1, but is 0.5",
        ),
    ],
)
def test_a_checkpoint_of_other_arguments_is_refused_by_name(other: FossilWeights, message: str) -> None:
    weights = FossilWeights(COUNTS, epochs=6)
    with pytest.raises(ValueError, match=message):
        weights.load_state_dict(after(other, 3).state_dict())
    assert weights.epoch == 0


def test_a_checkpoint_of_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match=r"state: has \['lr'\], expected \['class_counts', 'epoch', 'epochs'"):
        FossilWeights(COUNTS, epochs=6).load_state_dict({"lr": 1})


def test_an_unchecked_call_compiles_once_into_one_graph_for_all_epochs() -> None:
    graphs = []

    def count(module: torch.fx.GraphModule, _: list[Tensor]) -> Callable[..., Any]:
        graphs.append(module)
        return module.forward

    weights = FossilWeights(COUNTS, epochs=6, check=False)
    compiled = torch.compile(weights, fullgraph=True, backend=count)
    for _ in range(8):
        found = compiled(TARGETS, logits=LOGITS, is_augmented=COPIES)
        assert torch.equal(found, weights(TARGETS, logits=LOGITS, is_augmented=COPIES))
        weights.step()
    assert len(graphs) == 1


# --- Errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"class_counts": [5, 0, 3]}, "class_counts: class 1 has no sample"),
        ({"class_counts": [5, -1]}, "class_counts: class 1 has no sample"),
        ({"class_counts": [0.9, 0.1]}, "class_counts: expected whole numbers.*not shares"),
        ({"class_counts": [math.nan, 1.0]}, "class_counts: expected whole numbers"),
        ({"class_counts": [True, True]}, "class_counts: expected whole numbers"),
        ({"class_counts": [math.inf, 3.0]}, "class_counts: expected whole numbers"),
        ({"class_counts": [1e20, 3.0]}, "class_counts: expected whole numbers"),
        ({"options": BilevelOptions()}, "options: expected FossilOptions, got BilevelOptions"),
        ({"options": {"warmup_epochs": 3}}, "options: expected FossilOptions, got dict"),
        ({"class_counts": [7]}, r"class_counts: expected one count for each of two or more classes, got shape \(1,\)"),
        ({"class_counts": [[7, 1]]}, r"class_counts: .*got shape \(1, 2\)"),
        ({"epochs": 0}, "epochs: expected a whole number of at least 1, got 0"),
        ({"epochs": 2.5}, "epochs: expected a whole number"),
        ({"proxy": "loss"}, "proxy: .*scaled over the whole training set.*give difficulty="),
        ({"proxy": "margin"}, "proxy: expected 'softmax' or 'entropy', got 'margin'"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FossilWeights(**{"class_counts": COUNTS, "epochs": 3} | arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "logits, difficulty: expected exactly one of them, got neither"),
        ({"difficulty": SCORES, "logits": LOGITS}, "logits, difficulty: expected exactly one of them, got both"),
        (
            {"difficulty": SCORES.where(SCORES > 0, math.nan)},
            "difficulty: expected scores in .0, 1., got nan for sample 0",
        ),
        ({"difficulty": SCORES.where(SCORES < 1, math.inf)}, "difficulty: .*got inf for sample 5"),
        ({"difficulty": SCORES - 0.05}, "difficulty: .*got -0.05 for sample 0"),
        ({"difficulty": SCORES * 2}, "difficulty: .*got 1.2 for sample 3 and 2 more.*a loss is scaled to .0, 1."),
        ({"difficulty": SCORES.long()}, "difficulty: expected floats, got torch.int64"),
        ({"difficulty": SCORES[:5]}, r"difficulty: expected shape \(6,\) as targets, got \(5,\)"),
        ({"difficulty": SCORES.to("meta")}, "difficulty: is on meta, but targets are on cpu"),
        ({"logits": LOGITS.to("meta")}, "logits: is on meta, but targets are on cpu"),
        ({"logits": LOGITS[:, :2]}, r"logits: expected shape \(6, 3\) for 6 targets of 3 classes, got \(6, 2\)"),
        ({"logits": LOGITS.long()}, "logits: expected floats, got torch.int64"),
        ({"logits": LOGITS.masked_fill(LOGITS > 2.5, math.nan)}, r"logits: row \d.* is not finite"),
        ({"logits": LOGITS.masked_fill(LOGITS > 2.5, math.inf)}, r"logits: row \d.* is not finite"),
        (
            {"targets": TARGETS.numpy(), "difficulty": SCORES},
            "targets: expected a tensor, got ndarray",
        ),
        ({"targets": TARGETS, "difficulty": SCORES.numpy()}, "difficulty: expected a tensor, got ndarray"),
        ({"targets": TARGETS, "logits": LOGITS.tolist()}, "logits: expected a tensor, got list"),
        ({"targets": TARGETS + 1, "difficulty": SCORES}, r"targets: expected classes from 0 to 2.*got 3$"),
        ({"targets": TARGETS - 1, "difficulty": SCORES}, r"targets: expected classes from 0 to 2.*got -1$"),
        ({"targets": TARGETS.float(), "difficulty": SCORES}, r"targets: expected integers, got torch.float32.*\.long"),
        ({"targets": TARGETS > 0, "difficulty": SCORES}, "targets: expected integers, got torch.bool"),
        ({"targets": TARGETS[:, None], "difficulty": SCORES}, r"targets: expected shape \(n,\), got \(6, 1\)"),
        ({"difficulty": SCORES, "is_augmented": COPIES.long()}, "is_augmented: expected bool, got torch.int64"),
        (
            {"difficulty": SCORES, "is_augmented": COPIES[:2]},
            r"is_augmented: expected shape \(6,\) as targets, got \(2,\)",
        ),
    ],
)
def test_wrong_inputs_of_a_call_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FossilWeights(COUNTS, epochs=3)(**{"targets": TARGETS} | arguments)


def test_wrong_shapes_of_two_class_logits_are_named() -> None:
    with pytest.raises(ValueError, match=r"logits: expected shape \(2,\) or \(2, 1\) or \(2, 2\) .* got \(2, 3\)"):
        FossilWeights([1, 1], epochs=3)(torch.tensor([0, 1]), logits=torch.zeros(2, 3))


def test_stages_must_be_set_before_a_call_and_only_in_stage_mode() -> None:
    staged = FossilWeights(COUNTS, epochs=3, options=FossilOptions(stage_mode=True))
    with pytest.raises(ValueError, match="stages: call set_stages with the difficulty of all training samples first"):
        staged(TARGETS, difficulty=SCORES)
    for scores, message in ((SCORES * 2, "got 1.2 for sample 3"), (SCORES[:0], "difficulty: expected floats of shape")):
        with pytest.raises(ValueError, match=message):
            staged.set_stages(scores)
    with pytest.raises(ValueError, match="options: there are no stages without"):
        FossilWeights(COUNTS, epochs=3).set_stages(SCORES)


@pytest.mark.parametrize(
    ("options", "values", "name"),
    [
        (FossilOptions, {"gamma_initial": 1.5}, "gamma_initial"),
        (FossilOptions, {"gamma_initial": -0.1}, "gamma_initial"),
        (FossilOptions, {"gamma_initial": math.nan}, "gamma_initial"),
        (FossilOptions, {"gamma_scale": -1.0}, "gamma_scale"),
        (FossilOptions, {"gamma_max": 0.0}, "gamma_max"),
        (FossilOptions, {"class_clamp": 0.0}, "class_clamp"),
        (FossilOptions, {"warmup_epochs": -1}, "warmup_epochs"),
        (FossilOptions, {"warmup_epochs": 1.5}, "warmup_epochs"),
        (FossilOptions, {"beta": 1.0}, "beta"),
        (FossilOptions, {"class_term": "prior"}, "class_term"),
        (FossilOptions, {"stage_quantiles": [0.5, 1.5]}, "stage_quantiles"),
        (FossilOptions, {"stage_quantiles": [0.5, 0.25, 0.75]}, "stage_quantiles"),
        (FossilOptions, {"stage_multipliers": [1.0]}, "stage_multipliers"),
        (FossilOptions, {"temprature": TemperatureOptions()}, "temprature"),
        (TemperatureOptions, {"minimum": -1.0}, "minimum"),
        (TemperatureOptions, {"minimum": 0.0}, "minimum"),
        (TemperatureOptions, {"minimum": 2.0}, "minimum"),
        (TemperatureOptions, {"initial": 0.0}, "initial"),
        (TemperatureOptions, {"decay": math.inf}, "decay"),
        (TemperatureOptions, {"schedule": "cosine"}, "schedule"),
        (BilevelOptions, {"momentum": 1.0}, "momentum"),
        (BilevelOptions, {"damping": -0.1}, "damping"),
        (BilevelOptions, {"iterations": 0}, "iterations"),
        (BilevelOptions, {"solver": "lu"}, "solver"),
    ],
)
def test_a_wrong_option_is_an_error_that_names_it(options: type, values: dict[str, Any], name: str) -> None:
    with pytest.raises(ValueError, match=name) as error:
        options(**values)
    assert isinstance(error.value, ValidationError)


# --- Imports ----------------------------------------------------------------------------------------------------------


def test_importing_the_package_and_its_configuration_does_not_import_torch() -> None:
    code = "import sys, fossil, fossil.config; fossil.FossilOptions(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_package_lists_its_names_and_refuses_others() -> None:
    assert set(fossil.__all__) <= set(dir(fossil))
    assert all(getattr(fossil, name).__name__ == name for name in fossil.__all__)
    with pytest.raises(AttributeError, match="module 'fossil' has no attribute 'FossilLoss'"):
        _ = fossil.FossilLoss


@pytest.mark.parametrize("epoch", [-1, 1.5, True, None])
def test_state_of_an_impossible_epoch_is_refused_and_changes_nothing(epoch: Any) -> None:
    weights = FossilWeights([6, 4], epochs=5)
    weights.step()
    with pytest.raises(ValueError, match="state: expected an epoch of at least 0"):
        weights.load_state_dict(weights.state_dict() | {"epoch": epoch})
    assert weights.epoch == 1


def test_whole_numbers_of_numpy_count_as_whole_numbers() -> None:
    assert FossilWeights(np.array([6, 4]), epochs=np.int64(5)).epochs == 5
