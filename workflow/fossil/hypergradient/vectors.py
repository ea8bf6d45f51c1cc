"""Arithmetic of vectors, model by model."""

from __future__ import annotations

import torch
from torch import Tensor

from fossil.hypergradient.problem import Vector


def inner(a: Vector, b: Vector, *, stack: int = 0) -> Tensor:
    """Inner product of two vectors, model by model: shape (...) of the leading ``stack`` axes."""
    parts = [
        torch.linalg.vecdot(x.reshape(*x.shape[:stack], -1), y.reshape(*y.shape[:stack], -1))
        for x, y in zip(a, b, strict=True)
    ]
    return torch.stack(parts).sum(0)


def shift(point: Vector, length: Tensor, direction: Vector) -> Vector:
    """Go from a point a length, one a model, along a direction."""
    return tuple(torch.addcmul(p.detach(), like(length, p), d) for p, d in zip(point, direction, strict=True))


def like(factors: Tensor, vector: Tensor) -> Tensor:
    """One factor a model, shaped to multiply a tensor of the stack."""
    return factors.reshape(factors.shape + (1,) * (vector.dim() - factors.dim()))
