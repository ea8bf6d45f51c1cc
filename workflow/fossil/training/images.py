"""Training one image model: everything resident on the device, augmented there in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from fossil.config import ImageTraining
from fossil.data.augmentation import augment, draw_parameters
from fossil.likelihood import cross_entropy
from fossil.methods.base import Batch, Method, Progress
from fossil.training.backbone import InputConfig
from fossil.training.history import summarise_epoch

_PREDICTION_BATCH = 256


@dataclass(frozen=True)
class TrainingRows:
    """The rows that a model trains on, all of shape (n,): originals first, then augmented copies.

    Attributes
    ----------
    image : Tensor of int64
        Position of the row's image in the resident array.
    target : Tensor of int64
        Class.
    difficulty : Tensor of float
        In [0, 1]; a copy has its original's.
    is_augmented : Tensor of bool
        Whether the row is an augmented copy.
    """

    image: Tensor
    target: Tensor
    difficulty: Tensor
    is_augmented: Tensor

    def __getitem__(self, rows: Tensor) -> TrainingRows:
        return TrainingRows(self.image[rows], self.target[rows], self.difficulty[rows], self.is_augmented[rows])

    def class_priors(self, counted: Literal["originals", "rows"]) -> Tensor:
        """Shares of the two classes among the originals or among all rows, shape (2,)."""
        targets = self.target if counted == "rows" else self.target[~self.is_augmented]
        positive = targets.float().mean()
        return torch.stack([1 - positive, positive])


@dataclass(frozen=True)
class ImageResult:
    """The epochs of a run (see ``summarise_epoch``), and why it stopped early, if it did."""

    history: list[dict[str, float]]
    failure: str | None


def training_rows(image: Tensor, target: Tensor, difficulty: Tensor, *, copies: int) -> TrainingRows:
    """Make training rows of originals, each of shape (n,), with ``copies`` augmented copies of each minority image.

    Where both classes have as many images, none is the minority and there are no copies.
    """
    positive = int(target.sum())
    minority = int(2 * positive < len(target))
    again = (target == minority).nonzero().squeeze(-1).repeat(copies if 2 * positive != len(target) else 0)
    order = torch.cat([torch.arange(len(target), device=target.device), again])
    is_augmented = torch.arange(len(order), device=target.device) >= len(target)
    return TrainingRows(image[order], target[order], difficulty[order], is_augmented)


def train_model(
    model: nn.Module,
    inputs: InputConfig,
    images: Tensor,
    rows: TrainingRows,
    validation: tuple[Tensor, Tensor] | None,
    method: Method,
    training: ImageTraining,
    *,
    seed: int,
    epochs: Callable[[range], Iterable[int]] = iter,
) -> ImageResult:
    """Train a model in place.

    Parameters
    ----------
    images : Tensor of uint8, shape (n, height, width, 3)
        The resident array.
    validation : pair of Tensor, shape (m,), or None
        Positions in ``images`` and classes of the validation images; they only measure the loss after each epoch.
    seed : int
        Seed of order and augmentation, by epoch; it also sets torch's global generator, for dropout.
    epochs : callable
        Wraps the range of epochs, to show progress.
    """
    device = images.device
    optimiser = torch.optim.AdamW(model.parameters(), lr=training.learning_rate, weight_decay=training.weight_decay)
    torch.manual_seed(seed)
    priors = rows.class_priors(training.class_priors)
    history: list[dict[str, float]] = []
    for epoch in epochs(range(training.epochs)):
        generator = np.random.default_rng([seed, epoch])
        order = torch.from_numpy(generator.permutation(len(rows.target))).to(device)
        parameters = draw_parameters(len(rows.target), generator=generator, device=device)
        progress = Progress(epoch, training.epochs)
        model.train()
        kept: list[tuple[Tensor, Tensor]] = []
        for number, chosen in enumerate(_batches(order, training.batch_size)):
            batch_rows = rows[chosen]
            pixels = augment(_to_float(images[batch_rows.image]), batch_rows.is_augmented, parameters[chosen])
            losses, weights = _step(model, optimiser, inputs, pixels, batch_rows, priors, method, progress)
            if not losses.isfinite().all():
                return ImageResult(history, f"loss not finite in epoch {epoch}, batch {number}")
            kept.append((losses, weights))
        losses, weights = (torch.cat(parts) for parts in zip(*kept, strict=True))
        validation_losses = None
        if validation is not None:
            validation_losses = cross_entropy(predict_logits(model, inputs, images, validation[0]), validation[1])
        summary = summarise_epoch(
            losses=losses, weights=weights, targets=rows.target[order], validation_losses=validation_losses
        )
        history.append({key: float(value) for key, value in summary.items()})
        if validation_losses is not None and not validation_losses.isfinite().all():
            return ImageResult(history, f"validation loss not finite after epoch {epoch}")
    return ImageResult(history, None)


def predict_logits(model: nn.Module, inputs: InputConfig, images: Tensor, positions: Tensor) -> Tensor:
    """Logits of shape (m, 1), float32, of the images at the given positions, in evaluation mode."""
    model.eval()
    with torch.inference_mode(), _autocast(images.device):
        parts = [model(_normalise(_to_float(images[part]), inputs)) for part in positions.split(_PREDICTION_BATCH)]
    return torch.cat(parts).float()


def _step(
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    inputs: InputConfig,
    pixels: Tensor,
    rows: TrainingRows,
    priors: Tensor,
    method: Method,
    progress: Progress,
) -> tuple[Tensor, Tensor]:
    with _autocast(pixels.device):
        logits = model(_normalise(pixels, inputs)).float()
    batch = Batch(logits, rows.target, rows.difficulty, rows.is_augmented, priors)
    losses = method.losses(batch)
    with torch.no_grad():
        weights = method.weights(batch, progress)
    optimiser.zero_grad(set_to_none=True)
    (weights * losses).mean().backward()
    optimiser.step()
    return losses.detach(), weights


def _batches(order: Tensor, size: int) -> list[Tensor]:
    """Cut an order into batches; a last batch of one row, too small for batch normalisation, joins the one before."""
    parts = list(order.split(size))
    if len(parts) > 1 and len(parts[-1]) == 1:
        parts[-2:] = [torch.cat(parts[-2:])]
    return parts


def _to_float(images: Tensor) -> Tensor:
    return images.permute(0, 3, 1, 2).float() / 255


def _normalise(pixels: Tensor, inputs: InputConfig) -> Tensor:
    mean, std = (torch.tensor(value, device=pixels.device)[:, None, None] for value in (inputs.mean, inputs.std))
    return ((pixels - mean) / std).contiguous(memory_format=torch.channels_last)


def _autocast(device: torch.device) -> torch.autocast:
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")
