"""Optimisers and learning-rate schedules of the image study.

To add one, write its entry here and its name in ``fossil.config.image_training``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor
from torch.optim import Optimizer

from fossil.config.image_training import ImageTraining

OPTIMISERS: Mapping[str, Callable[[Iterable[Tensor], ImageTraining, bool | None], Optimizer]] = {
    "adamw": lambda parameters, training, fused: torch.optim.AdamW(
        parameters, lr=training.learning_rate, weight_decay=training.weight_decay, fused=fused
    ),
    "sgd": lambda parameters, training, fused: torch.optim.SGD(
        parameters, lr=training.learning_rate, momentum=0.9, weight_decay=training.weight_decay, fused=fused
    ),
}
"""Makers of ``images.training.optimiser``, from parameters, settings and whether to use torch's fused kernel."""

SCHEDULES: Mapping[str, Callable[[float], float]] = {
    "constant": lambda _: 1.0,
    "cosine": lambda fraction: (1 + math.cos(math.pi * fraction)) / 2,
}
"""Factors of ``images.training.schedule``, by the fraction of the steps after warm-up that are done."""


def make_optimiser(parameters: Iterable[Tensor], training: ImageTraining, *, device: torch.device) -> Optimizer:
    """Make the optimiser that the settings name; on a GPU with torch's fused kernel."""
    return OPTIMISERS[training.optimiser](parameters, training, True if device.type == "cuda" else None)


def learning_rate(step: int, training: ImageTraining, *, steps_per_epoch: int) -> float:
    """Compute the learning rate of a step, counted from 0 over all epochs.

    It rises linearly to its full value at the last step of the warm-up epochs, and then follows the schedule. As a
    function of the step alone it leaves nothing for a checkpoint to keep.
    """
    warmup = training.warmup_epochs * steps_per_epoch
    if step < warmup:
        return training.learning_rate * (step + 1) / warmup
    fraction = (step - warmup) / (training.epochs * steps_per_epoch - warmup)
    return training.learning_rate * SCHEDULES[training.schedule](fraction)
