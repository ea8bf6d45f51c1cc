"""The batches of an epoch, put together on the CPU and moved to the device at once, so that no step waits for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class PlannedBatch:
    """A batch.

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
        """Take the first rows of it alone."""
        return PlannedBatch(self.rows[:count], self.originals[self.originals < count], self.copies[self.copies < count])


def epoch_order(count: int, *, seed: int, epoch: int) -> Tensor:
    """Order of the training rows in an epoch, on the CPU; it depends on seed and epoch alone."""
    return torch.from_numpy(np.random.default_rng([seed, epoch]).permutation(count))


def plan_batches(order: Tensor, is_augmented: Tensor, *, size: int, device: torch.device) -> list[PlannedBatch]:
    """Cut an order into batches; a last batch of one row, too small for batch normalisation, joins the one before.

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
