"""Training on images: which rows, that it repeats bit for bit, that nothing leaks, and how it fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from fossil.methods.base import Method, Progress
from fossil.training.backbone import make_backbone
from fossil.training.image_data import predict_logits, training_rows
from fossil.training.images import ImageResult
from tests.unit.training.fold_study import (
    BACKBONE,
    Recorder,
    random_images,
)
from tests.unit.training.image_setting import Setting

# --- Rows -----------------------------------------------------------------------------------------------------------


def test_each_minority_image_gets_its_copies_with_its_difficulty_and_a_flag() -> None:
    rows = training_rows(
        torch.tensor([10, 20, 30, 40, 50]),
        torch.tensor([0, 1, 0, 0, 1]),
        torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5]),
        copies=2,
    )
    assert rows.image.tolist() == [10, 20, 30, 40, 50, 20, 50, 20, 50]
    assert rows.target.tolist() == [0, 1, 0, 0, 1, 1, 1, 1, 1]
    assert torch.equal(rows.difficulty, torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5, 0.2, 0.5, 0.2, 0.5]))
    assert rows.is_augmented.tolist() == [False] * 5 + [True] * 4


def test_negatives_are_copied_where_positives_are_the_majority() -> None:
    rows = training_rows(torch.arange(4), torch.tensor([1, 0, 1, 1]), torch.zeros(4), copies=1)
    assert rows.image.tolist() == [0, 1, 2, 3, 1]
    assert rows.target.tolist() == [1, 0, 1, 1, 0]


def test_without_copies_the_rows_are_the_originals() -> None:
    rows = training_rows(torch.tensor([3, 5, 8]), torch.tensor([0, 1, 0]), torch.zeros(3), copies=0)
    assert rows.image.tolist() == [3, 5, 8]
    assert not rows.is_augmented.any()


def test_chosen_rows_keep_what_belongs_together() -> None:
    rows = training_rows(torch.tensor([3, 5, 8]), torch.tensor([0, 1, 0]), torch.tensor([0.1, 0.2, 0.3]), copies=1)
    chosen = rows[torch.tensor([3, 0])]
    assert (chosen.image.tolist(), chosen.target.tolist(), chosen.is_augmented.tolist()) == (
        [5, 3],
        [1, 0],
        [True, False],
    )
    assert torch.equal(chosen.difficulty, torch.tensor([0.2, 0.1]))


@pytest.mark.parametrize(
    ("copies", "counted", "expected"),
    [*((copies, "originals", [6, 2]) for copies in (0, 1, 5)), (2, "rows", [6, 6])],
)
def test_class_counts_are_those_of_the_originals_or_of_all_rows(copies: int, counted: Any, expected: list[int]) -> None:
    rows = training_rows(torch.arange(8), torch.tensor([0, 0, 1, 0, 0, 0, 1, 0]), torch.zeros(8), copies=copies)
    assert rows.class_counts(counted).tolist() == expected


# --- What a method sees ---------------------------------------------------------------------------------------------


def train_originals(count: int, method: Method, *, copies: int = 0, **changes: Any) -> ImageResult:
    """Train on the first images of a small random array."""
    return Setting(count=count, copies=copies, **({"batch_size": 16} | changes)).train(method)


def test_a_last_batch_of_one_image_joins_the_one_before() -> None:
    method = Recorder()
    result = train_originals(33, method, batch_size=16)
    assert [len(batch.targets) for batch, _ in method.batches] == [16, 17] * 2
    assert result.failure is None
    assert np.isfinite(pd.DataFrame(result.history).to_numpy()).all()


def test_every_epoch_trains_on_every_row_once_in_another_order() -> None:
    method = Recorder()
    train_originals(20, method, copies=3, batch_size=8, epochs=3)
    orders = []
    for epoch in range(3):
        batches = [batch for batch, progress in method.batches if progress == Progress(epoch, 3)]
        difficulty = torch.cat([batch.difficulty for batch in batches])
        # Difficulty n/20 tells image n: the four positive images 0 to 3 have three copies each.
        counts = torch.bincount((difficulty * 20).round().long(), minlength=20).tolist()
        assert counts == [4] * 4 + [1] * 16
        assert sum(int(batch.is_augmented.sum()) for batch in batches) == 12
        orders.append(difficulty.tolist())
    assert orders[0] != orders[1] != orders[2]


def test_a_method_gets_priors_of_the_originals_and_losses_of_one_logit_an_image() -> None:
    method = Recorder()
    train_originals(20, method, copies=3, batch_size=8)
    for batch, _ in method.batches:
        assert batch.class_priors.tolist() == pytest.approx([0.8, 0.2])
        assert batch.logits.shape == (len(batch.targets), 1)


def test_the_history_has_an_entry_an_epoch_and_unit_weights_count_every_row() -> None:
    history = pd.DataFrame(train_originals(20, Recorder(), copies=3, epochs=3).history)
    assert list(history["n_eff"]) == pytest.approx([32.0] * 3)
    assert list(history["weight_q50"]) == [1.0] * 3
    pd.testing.assert_series_equal(history["train_loss"], history["weighted_train_loss"], check_names=False)
    # A head near zero gives the loss of a fair coin, log 2, at first.
    assert abs(history["train_loss"][0] - np.log(2)) < 0.3


def test_many_images_are_predicted_in_their_order() -> None:
    model, inputs = make_backbone(BACKBONE, weights=None, seed=1)
    images = torch.from_numpy(random_images(0))
    positions = torch.arange(300) % 60
    logits = predict_logits(model, inputs, images, positions)
    torch.testing.assert_close(logits, predict_logits(model, inputs, images, torch.arange(60))[positions])


def test_a_model_gets_pixels_with_its_own_mean_and_deviation() -> None:
    _, inputs = make_backbone(BACKBONE, weights=None, seed=1)
    images = torch.tensor([0, 51, 255], dtype=torch.uint8).expand(1, 4, 4, 3)
    seen: list[Tensor] = []

    class Spy(torch.nn.Module):
        def forward(self, pixels: Tensor) -> Tensor:
            seen.append(pixels)
            return pixels.mean((1, 2, 3))[:, None]

    predict_logits(Spy(), inputs, images, torch.tensor([0]))
    expected = [(value - mean) / std for value, mean, std in zip((0, 0.2, 1), inputs.mean, inputs.std, strict=True)]
    assert seen[0].shape == (1, 3, 4, 4)
    assert seen[0][0, :, 2, 3].tolist() == pytest.approx(expected, abs=1e-6)
