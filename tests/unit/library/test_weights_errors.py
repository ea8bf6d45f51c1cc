"""What `FossilWeights` refuses, by the name of the argument."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from fossil import BilevelOptions, FossilOptions, FossilWeights, TemperatureOptions
from tests.unit.library.test_weights import COPIES, COUNTS, LOGITS, SCORES, TARGETS


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
        (FossilOptions, {"stage_quantiles": [0.5, 0.25, 0.75]}, "stage_quantiles must rise"),
        (FossilOptions, {"stage_quantiles": [0.5]}, "1 stage_quantiles make 2 stages, but there are 4 multipliers"),
        (FossilOptions, {"stage_multipliers": [0.9, 1.0, 0.0, 1.2]}, "stage_multipliers"),
        (FossilOptions, {"temperature": {"initial": -1.0}}, "temperature.initial"),
        (FossilOptions, {"temprature": TemperatureOptions()}, "temprature"),
        (TemperatureOptions, {"minimum": -1.0}, "minimum"),
        (TemperatureOptions, {"minimum": 0.0}, "minimum"),
        (TemperatureOptions, {"minimum": 2.0}, r"minimum \(2\.0\) is above initial \(1\.0\)"),
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


@pytest.mark.parametrize("epoch", [-1, 1.5, True, None])
def test_state_of_an_impossible_epoch_is_refused_and_changes_nothing(epoch: Any) -> None:
    weights = FossilWeights([6, 4], epochs=5)
    weights.step()
    with pytest.raises(ValueError, match="state: expected an epoch of at least 0"):
        weights.load_state_dict(weights.state_dict() | {"epoch": epoch})
    assert weights.epoch == 1


def test_whole_numbers_of_numpy_count_as_whole_numbers() -> None:
    assert FossilWeights(np.array([6, 4]), epochs=np.int64(5)).epochs == 5
