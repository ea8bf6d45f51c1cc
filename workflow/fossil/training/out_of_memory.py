"""What to say when a GPU's memory does not hold a training step."""

from __future__ import annotations

import gc
from collections.abc import Callable

import torch

_TWO, _EIGHT = 2, 8


class BatchTooLargeError(RuntimeError):
    """A training step does not fit the GPU's memory; the message says which batch size would."""


def batch_too_large(asked: int, *, step: Callable[[int], object], rows: int) -> BatchTooLargeError:
    """Try smaller batches until a step fits, and make the error that says so.

    Parameters
    ----------
    asked : int
        The batch size of the settings.
    step : callable
        Takes a training step with so many of the failed batch's rows.
    rows : int
        How many the failed batch has.
    """
    fits = next((size for size in smaller_sizes(min(asked, rows)) if _fits(step, size)), None)
    hint = (
        f"a step with {fits} fits; set images.training.batch_size: {fits}"
        if fits
        else "not even a step with 2 fits; use a smaller images.training.backbone or images.training.size"
    )
    return BatchTooLargeError(f"images.training.batch_size is {asked}, which the GPU's memory does not hold: {hint}")


def smaller_sizes(size: int) -> list[int]:
    """Halves of a batch size, in multiples of 8 from 8 on, down to 2, which batch normalisation needs at least."""
    found = []
    while size > _TWO:
        size = max(size // 2, _TWO)
        size -= size % _EIGHT if size >= _EIGHT else 0
        found.append(size)
    return found


def _fits(step: Callable[[int], object], size: int) -> bool:
    # Also what the garbage of the last step holds counts.
    gc.collect()
    torch.cuda.empty_cache()
    try:
        step(size)
    except torch.OutOfMemoryError:
        return False
    return True
