"""Eq. 1 as trained and, factor by factor, as printed, with random samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from fossil.config.methods.fossil import FossilOptions
from fossil.config.methods.temperature import Schedule, TemperatureOptions
from fossil.methods.base import Batch, Progress
from fossil.methods.fossil import Fossil
from fossil.schedules import temperature

Weigh = Callable[[Batch, FossilOptions, Progress], Tensor]
"""From a batch, options and progress to weights of shape (n,)."""

SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)
FALLING: tuple[Schedule, ...] = ("exponential_decay", "linear_decay", "constant", "infinite")
RISING: tuple[Schedule, ...] = ("linear_growth", "exponential_growth", "constant", "infinite")


@dataclass(frozen=True)
class Case:
    """Samples, options and an epoch, to be weighted."""

    batch: Batch
    options: FossilOptions
    progress: Progress

    def caps(self) -> Tensor:
        """Compute 1 / (K p(y_i)) of each sample, shape (n,)."""
        counts = self.batch.class_counts
        return (counts.sum() / (len(counts) * counts))[self.batch.targets]

    def removed(self) -> Tensor:
        """Return whether gamma_t = 1 removes each sample, shape (n,)."""
        return self.batch.is_augmented & (_penalty(self.options, self.progress) >= 1)


def trained_weights(batch: Batch, options: FossilOptions, progress: Progress) -> Tensor:
    """Compute the weights that the studies train with."""
    return Fossil(options).weights(batch, progress)


def printed_weights(batch: Batch, options: FossilOptions, progress: Progress) -> Tensor:
    """Compute Eq. 1 as printed, with the warm-up min(1, t / t_warm)."""
    return _product(batch, options, progress, epochs_done=progress.epoch)


def product_weights(batch: Batch, options: FossilOptions, progress: Progress) -> Tensor:
    """Compute Eq. 1 as a product of its factors, with the warm-up min(1, (t + 1) / t_warm)."""
    return _product(batch, options, progress, epochs_done=progress.epoch + 1)


def make_batch(
    targets: ArrayLike,
    *,
    counts: ArrayLike,
    difficulty: ArrayLike,
    is_augmented: ArrayLike | None = None,
    logits: ArrayLike | None = None,
) -> Batch:
    """Make a batch in float64 from n classes and scores and the K class counts; by default no row is augmented."""
    classes = torch.as_tensor(np.asarray(targets, dtype=np.int64))
    n = len(classes)
    return Batch(
        logits=_double(np.zeros((n, 1)) if logits is None else logits),
        targets=classes,
        difficulty=_double(difficulty),
        is_augmented=torch.as_tensor(np.zeros(n, dtype=bool) if is_augmented is None else np.asarray(is_augmented)),
        class_counts=_double(counts),
        index=torch.arange(n),
    )


def random_cases(rng: np.random.Generator, *, cases: int, samples: int = 30) -> list[Case]:
    """Draw batches of 2 to 5 classes with any difficulty, penalty, schedule, warm-up and epoch."""
    return [_random_case(rng, samples) for _ in range(cases)]


def constant_options(value: float, *, penalty: float = 0.0) -> FossilOptions:
    """Return options with one temperature, no warm-up, and a penalty that is reached at t = T, Progress(1, 1)."""
    course = TemperatureOptions(schedule="constant", initial=value, minimum=min(value, 0.05))
    return FossilOptions(temperature=course, warmup_epochs=0, gamma_initial=penalty, gamma_scale=1.0, gamma_max=1.0)


def course_of_weights(weigh: Weigh, batch: Batch, options: FossilOptions, *, epochs: int) -> NDArray[np.float64]:
    """Compute the weights in every epoch, shape (epochs, n)."""
    return np.stack([weigh(batch, options, Progress(epoch, epochs)).numpy() for epoch in range(epochs)])


def concatenate(parts: Sequence[Tensor]) -> NDArray[np.float64]:
    """Join tensors of shape (n_i,) into one array."""
    return torch.cat(list(parts)).double().numpy()


def _product(batch: Batch, options: FossilOptions, progress: Progress, *, epochs_done: int) -> Tensor:
    counts = batch.class_counts
    priors = counts / counts.sum()
    class_term = 1 / (len(counts) * priors[batch.targets])
    difficulty_term = torch.exp(-batch.difficulty / temperature(progress.fraction, options.temperature))
    penalty_term = 1 - _penalty(options, progress) * batch.is_augmented.double()
    warmup = min(1.0, epochs_done / options.warmup_epochs) if options.warmup_epochs else 1.0
    return class_term * difficulty_term * penalty_term * warmup


def _penalty(options: FossilOptions, progress: Progress) -> float:
    return min(options.gamma_scale * options.gamma_initial * progress.fraction, options.gamma_max, 1.0)


def _random_case(rng: np.random.Generator, samples: int) -> Case:
    classes = int(rng.integers(2, 6))
    batch = make_batch(
        rng.integers(classes, size=samples),
        counts=rng.integers(1, 1000, size=classes),
        difficulty=rng.uniform(size=samples),
        is_augmented=rng.random(samples) < 0.5,
    )
    options = FossilOptions(
        temperature=TemperatureOptions(schedule=cast("Schedule", str(rng.choice(SCHEDULES)))),
        warmup_epochs=int(rng.integers(11)),
        gamma_initial=float(rng.uniform()),
        gamma_scale=float(rng.uniform(0, 5)),
        gamma_max=float(rng.uniform(0.1, 3)),
    )
    epochs = int(rng.integers(1, 61))
    return Case(batch, options, Progress(int(rng.integers(epochs)), epochs))


def _double(values: ArrayLike) -> Tensor:
    return torch.as_tensor(np.asarray(values, dtype=np.float64))
