"""Epochs of the image study on random images, for several benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from fossil.config.image_training import ImageTraining
from fossil.methods.base import Method
from fossil.training.backbone import InputConfig, make_backbone
from fossil.training.image_data import TrainingRows, training_rows
from fossil.training.image_run import make_run
from fossil.training.images import train_model

VALIDATION_SHARE = 0.15
_MINORITY_SHARE = 0.15


@dataclass(frozen=True)
class Epochs:
    """A model, and random images with a minority of 15% to train it on.

    Attributes
    ----------
    validation : pair of Tensor
        Positions and classes of as many images as the study's default share; the first two are of both classes.
    """

    model: nn.Module
    inputs: InputConfig
    images: Tensor
    rows: TrainingRows
    validation: tuple[Tensor, Tensor]
    training: ImageTraining

    @property
    def sizes(self) -> list[int]:
        """Sizes of an epoch's batches."""
        return [len(part) for part in torch.arange(len(self.rows.target)).split(self.training.batch_size)]

    def train(self, method: Method, *, validation: int | None = None, **changes: object) -> list[float]:
        """Train with some settings changed, validate on the first of the images; gives each epoch's seconds.

        What a run does before its first epoch counts for that one.
        """
        training = ImageTraining.model_validate({**self.training.model_dump(), **changes})
        positions, targets = self.validation
        marks: list[float] = [self._now()]

        def epochs(numbers: range) -> Iterable[int]:
            for number in numbers:
                yield number
                marks.append(self._now())

        run = make_run(
            self.model,
            self.inputs,
            method,
            training,
            images=self.images,
            rows=self.rows,
            validation=(positions[:validation], targets[:validation]),
            seed=1,
        )
        result = train_model(run, epochs=epochs)
        if result.failure:
            raise SystemExit(result.failure)
        return list(np.diff(marks))

    def repeat_batch(self, *, epochs: int = 1, compiled: bool = False) -> list[float]:
        """Take the steps of epochs on one batch that is ready on the device; gives each epoch's seconds."""
        step = plain_step(self.model, self.training, compiled=compiled)
        pixels, targets = self._ready_batch()
        marks: list[float] = [self._now()]
        for _ in range(epochs):
            for size in self.sizes:
                step(pixels[:size], targets[:size])
            marks.append(self._now())
        return list(np.diff(marks))

    def _ready_batch(self) -> tuple[Tensor, Tensor]:
        size = self.training.batch_size
        shape = (size, 3, self.training.size, self.training.size)
        pixels = torch.randn(shape, device=self.images.device).contiguous(memory_format=torch.channels_last)
        return pixels, self.rows.target[:size]

    def _now(self) -> float:
        if self.images.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()


def make_epochs(training: ImageTraining, *, images: int, device: torch.device) -> Epochs:
    """Make a model and training images, and validation images on top.

    Copies that do not fill a batch are left out, since timm's loader drops such a batch.
    """
    rng = np.random.default_rng(0)
    held_out = max(2, round(VALIDATION_SHARE * images))
    shape = (images + held_out, training.size, training.size, 3)
    pixels = torch.from_numpy(rng.integers(0, 255, shape, dtype=np.uint8)).to(device)
    place = torch.arange(len(pixels), device=device)
    target = (place % 20 < 20 * _MINORITY_SHARE).long()
    difficulty = torch.from_numpy(rng.random(images, dtype=np.float32)).to(device)
    rows = training_rows(place[:images], target[:images], difficulty, copies=training.augmented_copies)
    whole = len(rows.target) // training.batch_size * training.batch_size
    rows = rows[torch.arange(whole or len(rows.target), device=device)]
    model, inputs = make_backbone(training.backbone, weights=None, seed=1)
    model = model.to(device, memory_format=torch.channels_last)
    shown = place[images:][target[images:].argsort().roll(1)]
    return Epochs(model, inputs, pixels, rows, (shown, target[shown]), training)


def plain_step(
    model: nn.Module, training: ImageTraining, *, compiled: bool = False
) -> Callable[[Tensor, Tensor], None]:
    """Make a step of plain training: forward, backward and AdamW, in bfloat16 on a GPU, as the study's own."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=training.learning_rate, weight_decay=training.weight_decay)
    forward = torch.compile(model) if compiled else model
    model.train()

    def step(pixels: Tensor, targets: Tensor) -> None:
        with torch.autocast("cuda", torch.bfloat16) if pixels.is_cuda else nullcontext():
            logits = forward(pixels)
        loss = binary_cross_entropy_with_logits(logits.float().squeeze(-1), targets.float())
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()

    return step


def compile_settings(device: torch.device) -> list[dict[str, bool]]:
    """Settings without and with a compiled model, on a GPU and as far as this version of the study can compile."""
    if device.type != "cuda" or "compile" not in ImageTraining.model_fields:
        return [{}]
    return [{"compile": False}, {"compile": True}]
