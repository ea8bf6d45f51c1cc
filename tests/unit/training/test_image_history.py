"""What is kept of an image model's epoch, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from fossil.config.methods.base import NoOptions
from fossil.methods.erm import ERM
from fossil.training.history import (
    class_quantiles,
    epoch_line,
    regret_so_far,
    speed,
    validation_metrics,
)
from fossil.training.image_data import predict_logits
from tests.unit.training.image_setting import IMAGES, VALIDATION, Setting


def test_quantiles_of_each_class_are_those_of_its_weights_alone() -> None:
    weights = torch.tensor([1.0, 10.0, 2.0, 30.0, 4.0])
    found = class_quantiles(weights, torch.tensor([0, 1, 0, 1, 0]))
    for label, own in ((0, [1, 2, 4]), (1, [10, 30])):
        for level in (5, 50, 95):
            expected = np.quantile(own, level / 100)
            assert float(found[f"weight_q{level:02d}_class{label}"]) == pytest.approx(expected)
    assert len(found) == 6


def test_quantiles_of_a_class_that_does_not_occur_are_undefined() -> None:
    found = class_quantiles(torch.ones(3), torch.zeros(3, dtype=torch.long))
    assert all(math.isnan(found[f"weight_q{level}_class1"]) for level in ("05", "50", "95"))
    assert float(found["weight_q95_class0"]) == 1.0


def test_validation_metrics_by_hand() -> None:
    # Of the pairs (2, 1), (2, -3), (-1, 1), (-1, -3) three are in order; recall 1/2, specificity 1/2.
    found = validation_metrics(torch.tensor([[2.0], [1.0], [-1.0], [-3.0]]), torch.tensor([1, 0, 1, 0]))
    assert found == pytest.approx({"validation_auc": 3 / 4, "validation_balanced_accuracy": 1 / 2})


def test_validation_metrics_of_one_class_are_undefined() -> None:
    for label in (0, 1):
        found = validation_metrics(torch.tensor([[2.0], [1.0]]), torch.full((2,), label))
        assert all(math.isnan(value) for value in found.values())


def test_regret_is_the_distance_to_the_best_loss_so_far() -> None:
    losses = [3.0, 1.0, 2.5, 0.5]
    assert [regret_so_far(losses[: n + 1]) for n in range(4)] == [0.0, 0.0, 1.5, 0.0]


def test_speed_counts_images_a_second_and_the_memory_of_this_process() -> None:
    found = speed(300, 1.5, torch.device("cpu"))
    assert found["images_per_second"] == 200.0
    assert 10 < found["peak_memory_mb"] < 100_000


def test_an_epoch_is_said_in_one_line() -> None:
    found = {
        "train_loss": 0.5,
        "weighted_train_loss": 0.25,
        "validation_loss": 1.0,
        "validation_auc": 0.75,
        "validation_balanced_accuracy": float("nan"),
    }
    assert epoch_line(3, 10, found, {"images_per_second": 812.4}) == (
        "epoch 3 (0 to 9): train loss 0.5000, weighted 0.2500, validation loss 1.0000, AUC 0.750, "
        "balanced accuracy nan, 812 images/s"
    )


def test_a_training_keeps_them_for_each_epoch() -> None:
    setting = Setting(epochs=3)
    result = setting.train(ERM(NoOptions()))
    losses = [epoch["validation_loss"] for epoch in result.history]
    assert [epoch["regret"] for epoch in result.history] == [
        loss - min(losses[: place + 1]) for place, loss in enumerate(losses)
    ]
    assert [epoch["weight_q50_class1"] for epoch in result.history] == [1.0] * 3
    assert all(epoch["images_per_second"] > 0 for epoch in result.speed)
    positions, targets = VALIDATION
    logits = predict_logits(setting.model, setting.inputs, IMAGES, positions)
    expected = validation_metrics(logits, targets)
    assert {key: result.history[-1][key] for key in expected} == pytest.approx(expected)
