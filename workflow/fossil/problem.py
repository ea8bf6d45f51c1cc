"""A model's losses as functions of its parameters: what hypergradients and learned weights are taken of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

Vector = tuple[Tensor, ...]
"""Parameters, or anything of their shape."""


@dataclass(frozen=True)
class Part:
    """Some samples of a problem.

    Attributes
    ----------
    losses : callable
        From parameters to per-sample losses, shape (..., n). Equal parameters must give equal losses.
    index : Tensor of int64, shape (..., n)
        Places of the samples in the table that weights refer to.
    """

    losses: Callable[[Vector], Tensor]
    index: Tensor


@dataclass(frozen=True)
class BilevelProblem:
    """A training and a validation set as functions of the parameters, in parts that fit in memory.

    Attributes
    ----------
    parameters : tuple of Tensor
        Where the lower level stands; the leading ``stack`` axes count models.
    train, validation : sequence of Part
    curvature : sequence of Part
        A random part of the training samples, whose Hessian stands for that of all (Byrd et al. 2011); empty for all.
    """

    parameters: Vector
    train: Sequence[Part]
    validation: Sequence[Part]
    stack: int = 0
    curvature: Sequence[Part] = ()
