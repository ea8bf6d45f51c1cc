"""The rows that an image model trains on: originals and augmented copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor


@dataclass(frozen=True)
class TrainingRows:
    """The rows that a model trains on, all of shape (n,): the data set's own first, then copies made for training.

    Attributes
    ----------
    image : Tensor of int64
        Position of the row's image in the resident array.
    original : Tensor of int64
        Row of the original; an original's own.
    target : Tensor of int64
        Class.
    difficulty : Tensor of float
        In [0, 1]; a copy has its original's.
    is_augmented : Tensor of bool
        Whether the row is an augmented copy.
    key : Tensor of int64
        The image's number, by which its augmentation is drawn (the bits of ``image_keys``).
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
        """Numbers of the two classes among the originals or among all rows, shape (2,), float."""
        targets = self.target if counted == "rows" else self.target[~self.is_augmented]
        return torch.bincount(targets, minlength=2).float()


def training_rows(
    image: Tensor,
    target: Tensor,
    difficulty: Tensor,
    *,
    copies: int,
    key: Tensor | None = None,
) -> TrainingRows:
    """Make training rows of images, each of shape (n,), with ``copies`` augmented copies of each minority original.

    Where both classes have as many images, none is the minority and there are no copies. Without keys, an image's
    position is its key.
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
