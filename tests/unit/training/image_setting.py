"""A tiny model and a few images to train it on, for several tests."""

from __future__ import annotations

import signal
from typing import Any

import pytest
import torch
from torch import Tensor

from fossil.methods.base import Method
from fossil.training import epoch as epochs
from fossil.training.backbone import make_backbone
from fossil.training.image_data import training_rows
from fossil.training.image_run import make_run
from fossil.training.images import ImageResult, train_model
from tests.unit.training.fold_study import BACKBONE, quick, random_images

IMAGES = torch.from_numpy(random_images(0))
COUNT = 20
VALIDATION = torch.arange(50, 60), torch.arange(10) % 2


class Setting:
    """A model and how it is trained on the first images of an array, of which the first ones are positive."""

    def __init__(
        self, backbone: str = BACKBONE, *, count: int = COUNT, positive: int = 4, copies: int = 2, **changes: Any
    ) -> None:
        self.model, self.inputs = make_backbone(backbone, weights=None, seed=1)
        self.training = quick(**({"batch_size": 8} | changes))
        target = (torch.arange(count) < positive).long()
        self.rows = training_rows(torch.arange(count), target, torch.arange(count) / count, copies=copies)

    def train(
        self,
        method: Method,
        validation: tuple[Tensor, Tensor] = VALIDATION,
        names: list[str] | None = None,
        **options: Any,
    ) -> ImageResult:
        run = make_run(
            self.model,
            self.inputs,
            method,
            self.training,
            images=IMAGES,
            rows=self.rows,
            validation=validation,
            seed=5,
            names=names,
        )
        return train_model(run, **options)

    def state(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self.model.state_dict().items()}


def stop_in_step(monkeypatch: pytest.MonkeyPatch, wanted: int, *, by: signal.Signals = signal.SIGTERM) -> None:
    """Send a signal to this process in a training step, counted from 0."""
    really_augment, calls = epochs.augment_places, iter(range(1000))

    def augment_and_signal(*arguments: Any) -> torch.Tensor:
        if next(calls) == wanted:
            signal.raise_signal(by)
        return really_augment(*arguments)

    monkeypatch.setattr(epochs, "augment_places", augment_and_signal)
