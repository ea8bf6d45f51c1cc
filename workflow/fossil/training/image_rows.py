"""The rows that an image model trains on: originals and augmented copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor


@dataclass(frozen=True)
class TrainingRows:
    """The rows that a model trains on, all of shape (n,): originals first, then augmented copies.

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
    """

    image: Tensor
    original: Tensor
    target: Tensor
    difficulty: Tensor
    is_augmented: Tensor

    def __getitem__(self, rows: Tensor) -> TrainingRows:
        return TrainingRows(
            self.image[rows], self.original[rows], self.target[rows], self.difficulty[rows], self.is_augmented[rows]
        )

    def class_counts(self, counted: Literal["originals", "rows"]) -> Tensor:
        """Numbers of the two classes among the originals or among all rows, shape (2,), float."""
        targets = self.target if counted == "rows" else self.target[~self.is_augmented]
        return torch.bincount(targets, minlength=2).float()


def training_rows(image: Tensor, target: Tensor, difficulty: Tensor, *, copies: int) -> TrainingRows:
    """Make training rows of originals, each of shape (n,), with ``copies`` augmented copies of each minority image.

    Where both classes have as many images, none is the minority and there are no copies.
    """
    positive = int(target.sum())
    minority = int(2 * positive < len(target))
    again = (target == minority).nonzero().squeeze(-1).repeat(copies if 2 * positive != len(target) else 0)
    original = torch.cat([torch.arange(len(target), device=target.device), again])
    is_augmented = torch.arange(len(original), device=target.device) >= len(target)
    return TrainingRows(image[original], original, target[original], difficulty[original], is_augmented)
