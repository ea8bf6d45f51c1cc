"""A model's losses as functions of its parameters, for hypergradients and learned weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

Vector = tuple[Tensor, ...]
"""Parameters, or anything of their shape."""


@dataclass(frozen=True)
class ClosedForms:
    """Derivatives of losses l_i at the problem's parameters, where they are known without automatic differentiation.

    Attributes
    ----------
    gradient : callable
        From coefficients c, shape (..., n), to the gradient of sum_i c_i l_i.
    curvature : callable
        From coefficients to the product v -> H v with the Hessian of that sum.
    derivative : callable
        From a direction v to <v, grad l_i>, shape (..., n).
    """

    gradient: Callable[[Tensor], Vector]
    curvature: Callable[[Tensor], Callable[[Vector], Vector]]
    derivative: Callable[[Vector], Tensor]


@dataclass(frozen=True)
class Chunk:
    """Some samples of a problem, few enough to fit in memory.

    Attributes
    ----------
    losses : callable
        From parameters to per-sample losses, shape (..., n). Equal parameters must give equal losses.
    index : Tensor of int64, shape (..., n)
        Places of the samples in the table that weights refer to.
    closed : ClosedForms or None
        Replace automatic derivatives of ``losses`` if given.
    """

    losses: Callable[[Vector], Tensor]
    index: Tensor
    closed: ClosedForms | None = None


@dataclass(frozen=True)
class BilevelProblem:
    """A training and a validation set as functions of the parameters, in chunks that fit in memory.

    Attributes
    ----------
    parameters : tuple of Tensor
        Where the lower level stands; the leading ``stack`` axes count models.
    train, validation : sequence of Chunk
    curvature : sequence of Chunk
        A random sample of the training samples, whose Hessian stands for that of all (Byrd et al. 2011); empty for all.
    """

    parameters: Vector
    train: Sequence[Chunk]
    validation: Sequence[Chunk]
    stack: int = 0
    curvature: Sequence[Chunk] = ()
