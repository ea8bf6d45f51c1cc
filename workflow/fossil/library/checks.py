"""Checks of the library's arguments; every error names the argument, what was found and what to do."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def check_class_counts(class_counts: Any) -> Tensor:
    """Return counts of K >= 2 classes, whole numbers of at least 1, as int64 of shape (K,) on the CPU."""
    counts = torch.as_tensor(class_counts).detach().cpu()
    if counts.dim() != 1 or len(counts) < 2:
        raise ValueError(
            f"class_counts: expected one count for each of two or more classes, got shape {tuple(counts.shape)}; "
            "torch.bincount(targets) counts them"
        )
    numeric = counts.dtype != torch.bool and not counts.is_complex()
    if not numeric or not bool(((counts == counts.round()) & (counts.abs() <= 2**53)).all()):
        raise ValueError(f"class_counts: expected whole numbers, got {counts.tolist()}; give counts, not shares")
    if bool((counts < 1).any()):
        empty = (counts < 1).nonzero().flatten().tolist()
        raise ValueError(
            f"class_counts: class {', '.join(map(str, empty))} has no sample in {counts.tolist()}, so its weight "
            "1/(K p) is infinite; leave such a class out and number the others from 0"
        )
    return counts.long()


def check_positive_integer(value: Any, name: str) -> int:
    """Return a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{name}: expected a whole number of at least 1, got {value!r}")
    return int(value)


def check_epoch(value: Any) -> None:
    """Check that an epoch is a whole number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 0:
        raise ValueError(f"state: expected an epoch of at least 0, got {value!r}")


def check_options(value: Any, kind: type) -> None:
    """Check that options are None or of the given class."""
    if value is not None and not isinstance(value, kind):
        raise ValueError(f"options: expected {kind.__name__}, got {type(value).__name__}")


def check_integers(values: Tensor, name: str) -> None:
    """Check that values are integers of shape (n,)."""
    check_tensor(values, name)
    if values.dtype not in _INTEGERS:
        raise ValueError(f"{name}: expected integers, got {values.dtype}; convert with .long()")
    if values.dim() != 1:
        raise ValueError(f"{name}: expected shape (n,), got {tuple(values.shape)}")


def check_tensor(values: Any, name: str) -> Tensor:
    """Return a tensor; an array or a list is an error."""
    if not isinstance(values, Tensor):
        raise ValueError(f"{name}: expected a tensor, got {type(values).__name__}; torch.as_tensor converts it")
    return values


def check_index(index: Tensor, train_size: int) -> None:
    """Check that an index runs from 0 to N - 1."""
    outside = (index < 0) | (index >= train_size)
    if outside.any():
        raise ValueError(f"index: {_some(index[outside])} is outside 0 to {train_size - 1}, as train_size says")


def check_labels(targets: Tensor, classes: int, source: str) -> None:
    """Check that labels run from 0 to K - 1."""
    outside = (targets < 0) | (targets >= classes)
    if outside.any():
        raise ValueError(
            f"targets: expected classes from 0 to {classes - 1}, as {source}, got {_some(targets[outside])}"
        )


def check_alike(values: Tensor, name: str, targets: Tensor) -> None:
    """Check that values have the shape and device of the targets."""
    if values.shape != targets.shape:
        raise ValueError(f"{name}: expected shape {tuple(targets.shape)} as targets, got {tuple(values.shape)}")
    check_device(values, name, targets)


def check_device(values: Tensor, name: str, targets: Tensor) -> None:
    """Check that values are on the device of the targets."""
    if values.device != targets.device:
        raise ValueError(f"{name}: is on {values.device}, but targets are on {targets.device}; move one of them")


def as_rows(logits: Tensor, targets: Tensor, classes: int) -> Tensor:
    """Return detached logits of shape (n, 1) or (n, K), at least float32, from shape (n,), (n, 1) or (n, K)."""
    if not logits.is_floating_point():
        raise ValueError(f"logits: expected floats, got {logits.dtype}")
    n = len(targets)
    shapes = [(n, classes)] if classes > 2 else [(n,), (n, 1), (n, 2)]
    if tuple(logits.shape) not in shapes:
        wanted = " or ".join(map(str, shapes))
        raise ValueError(
            f"logits: expected shape {wanted} for {n} targets of {classes} classes, got {tuple(logits.shape)}"
        )
    check_device(logits, "logits", targets)
    rows = logits.detach().to(torch.promote_types(logits.dtype, torch.float32))
    return rows.unsqueeze(-1) if rows.dim() == 1 else rows


def check_values(targets: Tensor, classes: int, *, logits: Tensor | None, scores: Tensor) -> None:
    """Check labels, that logits are finite and scores in [0, 1]; valid values cost one wait for the device."""
    outside = (targets < 0) | (targets >= classes)
    broken = torch.zeros_like(outside) if logits is None else ~logits.isfinite().all(-1)
    wrong = ~((scores >= 0) & (scores <= 1))  # NaN is not in [0, 1]
    if not bool((outside | broken | wrong).any()):
        return
    check_labels(targets, classes, "class_counts says")
    if logits is not None:
        rows = _some(broken.nonzero().flatten())
        raise ValueError(f"logits: row {rows} is not finite; has the training diverged?")
    check_scores(scores)


def check_scores(scores: Tensor) -> None:
    """Check that scores are in [0, 1]."""
    wrong = ~((scores >= 0) & (scores <= 1))
    if wrong.any():
        first = wrong.nonzero().flatten()[0].item()
        raise ValueError(
            f"difficulty: expected scores in [0, 1], got {scores[wrong][0].item()} for sample {first} and "
            f"{int(wrong.sum()) - 1} more outside; softmax is 1 - max p, entropy is divided by log K, a loss is scaled "
            "to [0, 1] over the whole training set, and fossil.difficulty.difficulty computes all three"
        )


def check_coverage(parts: Sequence[Tensor], train_size: int) -> None:
    """Check that every sample from 0 to N - 1 comes exactly once."""
    for part in parts:
        check_integers(part, "index")
    index = torch.cat([part.cpu().long() for part in parts])
    outside = (index < 0) | (index >= train_size)
    if outside.any():
        raise ValueError(
            f"train_batches: index {_some(index[outside])} is outside 0 to {train_size - 1}, as train_size says"
        )
    times = torch.bincount(index, minlength=train_size)
    for wrong, what, remedy in (
        (
            times == 0,
            "is missing",
            "every sample must come, so use no drop_last and no distributed sampler",
        ),
        (times > 1, "comes more than once", "draw without replacement"),
    ):
        if wrong.any():
            raise ValueError(f"train_batches: index {_some(wrong.nonzero().flatten())} {what}; {remedy}")


def check_batch(batch: Any, name: str, what: Sequence[str]) -> tuple[Tensor, ...]:
    """Return the tensors of a batch, with as many targets as inputs."""
    if not isinstance(batch, tuple | list) or len(batch) != len(what):
        given = f"{len(batch)} parts" if isinstance(batch, tuple | list) else type(batch).__name__
        raise ValueError(f"{name}: expected batches ({', '.join(what)}), got {given}")
    for part, part_name in zip(batch, what, strict=True):
        if not isinstance(part, Tensor):
            raise ValueError(f"{name}: {part_name} must be a tensor, not {type(part).__name__}")
        if len(part) != len(batch[0]):
            raise ValueError(f"{name}: a batch has {len(batch[0])} {what[0]}, but {len(part)} {part_name}")
    return tuple(batch)


def _some(values: Tensor, most: int = 5) -> str:
    numbers = values.unique()
    text = ", ".join(str(number) for number in numbers[:most].tolist())
    return text if len(numbers) <= most else f"{text} and {len(numbers) - most} more"
