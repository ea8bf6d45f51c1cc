"""Linear solvers that need products alone, for one model or a stack."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fossil.hypergradient.derivatives import Product
from fossil.hypergradient.problem import Vector
from fossil.hypergradient.vectors import inner, shift


@dataclass(frozen=True)
class Solution:
    """The solution of a linear solver for each model of a stack of shape (...).

    Attributes
    ----------
    solution : tuple of Tensor
    iterations : Tensor of int64, shape (...)
        Steps taken.
    residual : Tensor, shape (...)
        |b - (A + damping I) x| / |b|; 0 where b = 0.
    negative_curvature : Tensor of bool, shape (...)
        Whether the solver stopped at a direction p along which A + damping I is not positive enough:
        <p, (A + damping I) p> <= damping/2 |p|^2, or 0 without damping. Where that was the first one the solution is
        b/damping, or b without damping: as in a truncated Newton method (Nocedal and Wright 2006, Alg. 7.1), with the
        length that a direction without curvature would get.
    """

    solution: Vector
    iterations: Tensor
    residual: Tensor
    negative_curvature: Tensor


def conjugate_gradient(
    product: Product,
    target: Vector,
    *,
    damping: float = 0.0,
    iterations: int = 10,
    tolerance: float = 1e-10,
    stack: int = 0,
) -> Solution:
    """Solve (A + damping I) x = b for a symmetric A (Hestenes and Stiefel 1952), separately for each model.

    A model stops when its relative residual is at most the tolerance, or at a direction of non-positive curvature, or
    of less than half the damping: A has negative curvature there, and the step, which divides by it, could be of any
    length. The others go on.
    """
    solution = tuple(torch.zeros_like(b) for b in target)
    residual = direction = target
    energy = inner(target, target, stack=stack)
    start = energy.sqrt()
    active = energy > 0
    steps = torch.zeros_like(energy, dtype=torch.int64)
    negative = torch.zeros_like(active)
    for _ in range(iterations):
        if not active.any():
            break
        image = shift(product(direction), energy.new_full(energy.shape, damping), direction)
        curvature = inner(direction, image, stack=stack)
        stopped = active & (curvature <= damping / 2 * inner(direction, direction, stack=stack))
        negative |= stopped
        active = active & ~stopped
        length = torch.where(active, energy / torch.where(active, curvature, 1.0), 0.0)
        solution, residual = shift(solution, length, direction), shift(residual, -length, image)
        steps = steps + active
        left = inner(residual, residual, stack=stack)
        growth = torch.where(active, left / torch.where(active, energy, 1.0), 0.0)
        direction = shift(residual, growth, direction)
        energy = torch.where(active, left, energy)
        active = active & (energy.sqrt() > tolerance * start)
    at_once = negative & (steps == 0)
    if at_once.any():
        step = at_once.to(energy.dtype) / (damping or 1.0)
        solution = shift(solution, step, target)
        image = shift(product(target), energy.new_full(energy.shape, damping), target)
        remainder = shift(target, -step, image)
        energy = torch.where(at_once, inner(remainder, remainder, stack=stack), energy)
    return Solution(solution, steps, _relative(energy.sqrt(), start), negative)


def neumann_series(
    product: Product, target: Vector, *, damping: float = 0.0, iterations: int = 10, step: float, stack: int = 0
) -> Solution:
    """Approximate (A + damping I)^-1 b by step * sum_k (I - step (A + damping I))^k b (Lorraine et al. 2020).

    Converges where the step is below 2 / (largest eigenvalue + damping); the residual, which costs one more product,
    tells. ``negative_curvature`` is false throughout: the series does not look at curvature.
    """
    start = inner(target, target, stack=stack).sqrt()
    solution, term = tuple(torch.zeros_like(b) for b in target), target
    one = torch.ones_like(start)
    for _ in range(iterations):
        solution = shift(solution, step * one, term)
        term = shift(term, -step * one, shift(product(term), damping * one, term))
    left = inner(term, term, stack=stack).sqrt()
    return Solution(
        solution,
        torch.full_like(start, iterations, dtype=torch.int64),
        _relative(left, start),
        torch.zeros_like(start, dtype=torch.bool),
    )


def _relative(norm: Tensor, start: Tensor) -> Tensor:
    return torch.where(start > 0, norm / torch.where(start > 0, start, 1.0), 0.0)
