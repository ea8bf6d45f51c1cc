"""Images on the device: the rows that a model trains on, the batches of an epoch, pixels and logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from fossil.training.backbone import InputConfig

PREDICTION_BATCH = 256


@dataclass(frozen=True)
class TrainingRows:
    """The rows that a model trains on, all of shape (n,): the data set's images first, then their augmented copies.

    Attributes
    ----------
    image : Tensor of int64
        Position of the row's image in the resident array.
    original : Tensor of int64
        Row of the original; for an original, the row itself.
    target : Tensor of int64
        Class.
    difficulty : Tensor of float
        In [0, 1]; a copy has its original's.
    is_augmented : Tensor of bool
        Whether the row is an augmented copy.
    key : Tensor of int64
        The image's number, which seeds its augmentation (the bits of ``image_keys``).
    copy : Tensor of int64
        0 for the image itself, and the number of the copy otherwise.
    """

    image: Tensor
    original: Tensor
    target: Tensor
    difficulty: Tensor
    is_augmented: Tensor
    key: Tensor
    copy: Tensor

    def __getitem__(self, rows: Tensor) -> TrainingRows:
        return TrainingRows(**{name: values[rows] for name, values in vars(self).items()})

    def class_counts(self, counted: Literal["originals", "rows"]) -> Tensor:
        """Count the two classes among the originals or among all rows, shape (2,), float."""
        targets = self.target if counted == "rows" else self.target[~self.is_augmented]
        return torch.bincount(targets, minlength=2).float()


def training_rows(
    image: Tensor, target: Tensor, difficulty: Tensor, *, copies: int, key: Tensor | None = None
) -> TrainingRows:
    """Return training rows of images, with ``copies`` augmented copies of each minority original.

    Without a minority, where both classes have equally many images, no image is copied. The default key of an image is
    its position.
    """
    device = target.device
    key = image if key is None else key
    positive = int(target.sum())
    minority = int(2 * positive < len(target))
    copied = (target == minority).nonzero().squeeze(-1)[: None if 2 * positive != len(target) else 0]
    original = torch.cat([torch.arange(len(target), device=device), copied.repeat(copies)])
    copy = torch.zeros(len(original), dtype=torch.int64, device=device)
    copy[len(target) :] = torch.arange(1, copies + 1, device=device).repeat_interleave(len(copied))
    return TrainingRows(
        image=image[original],
        original=original,
        target=target[original],
        difficulty=difficulty[original],
        is_augmented=copy > 0,
        key=key[original],
        copy=copy,
    )


@dataclass(frozen=True)
class PlannedBatch:
    """A batch of an epoch.

    Attributes
    ----------
    rows : Tensor of int64, shape (n,)
        Places in the table of training rows.
    originals, copies : Tensor of int64
        Places in the batch of the originals and of the augmented copies.
    """

    rows: Tensor
    originals: Tensor
    copies: Tensor

    def first(self, count: int) -> PlannedBatch:
        """Return the batch's first rows."""
        return PlannedBatch(self.rows[:count], self.originals[self.originals < count], self.copies[self.copies < count])


def epoch_order(count: int, *, seed: int, epoch: int) -> Tensor:
    """Draw the order of the training rows in an epoch, on the CPU; it depends on seed and epoch alone."""
    return torch.from_numpy(np.random.default_rng([seed, epoch]).permutation(count))


def plan_batches(order: Tensor, is_augmented: Tensor, *, size: int, device: torch.device) -> list[PlannedBatch]:
    """Cut an order into batches and move them to the device at once, so that no step waits for one.

    A last batch of one row is too small for batch normalisation and joins the batch before it.

    Parameters
    ----------
    order : Tensor of int64, shape (n,)
    is_augmented : Tensor of bool, shape (n,)
        Which rows of the table are augmented copies; both on the CPU.
    """
    rows = list(order.split(size))
    if len(rows) > 1 and len(rows[-1]) == 1:
        rows[-2:] = [torch.cat(rows[-2:])]
    copied = [is_augmented[chosen] for chosen in rows]
    parts = [
        part
        for chosen, flags in zip(rows, copied, strict=True)
        for part in (chosen, (~flags).nonzero().squeeze(-1), flags.nonzero().squeeze(-1))
    ]
    moved = torch.cat(parts).to(device).split([len(part) for part in parts])
    return [PlannedBatch(*moved[start : start + 3]) for start in range(0, len(moved), 3)]


@dataclass(frozen=True)
class Normalisation:
    """A backbone's channel means and deviations, shape (3, 1, 1), kept on the device."""

    mean: Tensor
    std: Tensor

    @classmethod
    def of(cls, inputs: InputConfig, device: torch.device) -> Normalisation:
        """Move a backbone's constants to the device."""
        return cls(*(torch.tensor(value, device=device)[:, None, None] for value in (inputs.mean, inputs.std)))

    def __call__(self, pixels: Tensor) -> Tensor:
        """Scale values in [0, 1], shape (n, 3, height, width)."""
        return ((pixels - self.mean) / self.std).contiguous(memory_format=torch.channels_last)


def to_float(images: Tensor) -> Tensor:
    """Convert bytes of shape (n, height, width, 3) to values in [0, 1], shape (n, 3, height, width)."""
    return images.permute(0, 3, 1, 2).float() / 255


def autocast(device: torch.device) -> torch.autocast:
    """Compute in bfloat16 on a GPU, and in full precision elsewhere."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")


def predict_logits(model: nn.Module, inputs: InputConfig, images: Tensor, positions: Tensor) -> Tensor:
    """Predict logits of shape (m, 1), float32, of the images at the given positions, in evaluation mode."""
    model.eval()
    normalise = Normalisation.of(inputs, images.device)
    with torch.inference_mode(), autocast(images.device):
        parts = [model(normalise(to_float(images[part]))) for part in positions.split(PREDICTION_BATCH)]
    return torch.cat(parts).float()
