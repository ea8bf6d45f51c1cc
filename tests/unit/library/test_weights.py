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
from torch import Tensor

import fossil
from fossil import FossilOptions, FossilWeights, TemperatureOptions
from tests.unit.methods.batches import SCHEDULES, naive_temperature

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


# --- Imports ----------------------------------------------------------------------------------------------------------


def test_importing_the_package_and_its_configuration_does_not_import_torch() -> None:
    code = "import sys, fossil, fossil.config; fossil.FossilOptions(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_package_lists_its_names_and_refuses_others() -> None:
    assert set(fossil.__all__) <= set(dir(fossil))
    assert all(getattr(fossil, name).__name__ == name for name in fossil.__all__)
    with pytest.raises(AttributeError, match="module 'fossil' has no attribute 'FossilLoss'"):
        _ = fossil.FossilLoss
