"""Arithmetic of vectors, model by model."""

from __future__ import annotations

import torch
from torch import Tensor

from fossil.hypergradient.problem import Vector


def inner(a: Vector, b: Vector, *, stack: int = 0) -> Tensor:
    """Compute the inner product of two vectors per model: shape (...) of the leading ``stack`` axes."""
    parts = [
        torch.linalg.vecdot(x.reshape(*x.shape[:stack], -1), y.reshape(*y.shape[:stack], -1))
        for x, y in zip(a, b, strict=True)
    ]
    return torch.stack(parts).sum(0)


def shift(point: Vector, length: Tensor, direction: Vector) -> Vector:
    """Move a point along a direction by one length per model."""
    return tuple(torch.addcmul(p.detach(), like(length, p), d) for p, d in zip(point, direction, strict=True))


def like(factors: Tensor, vector: Tensor) -> Tensor:
    """Reshape one factor per model so that it multiplies a tensor of the stack."""
    return factors.reshape(factors.shape + (1,) * (vector.dim() - factors.dim()))
