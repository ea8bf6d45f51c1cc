"""The implicit gradient of the upper level by the coefficients of the lower level's samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

import torch
from torch import Tensor

from fossil.hypergradient.derivatives import (
    KeptGraph,
    Product,
    finite_difference_jvp,
    finite_difference_product,
    gradient,
    hessian_vector_product,
    per_sample_jvp,
    plain_attention,
)
from fossil.hypergradient.problem import BilevelProblem, Chunk, Vector
from fossil.hypergradient.solvers import Solution


def sensitivities(
    problem: BilevelProblem,
    coefficients: Tensor,
    solve: Callable[[Product, Vector], Solution],
    *,
    finite_differences: bool = False,
) -> tuple[Tensor, Solution]:
    """Compute <v, grad l_i> with v = H^-1 grad L_val per training sample: minus the derivative of F by c_i.

    Parameters
    ----------
    coefficients : Tensor, shape (..., N)
        c_i = w_i (1 - lambda_i 1{i in A}), in the order of the table that the parts' ``index`` refers to.
    solve : callable
        Solves H v = b, such as ``conjugate_gradient`` with its options filled in.
    finite_differences : bool
        Take H v and <v, grad l_i> from central differences instead of double backward and dual numbers.

    Returns
    -------
    Tensor, shape (..., N), and Solution
        Samples in no part have sensitivity 0.
    """
    total = _count(problem.validation)
    slope = _sum_of_parts(lambda part: _mean_gradient(part, problem.parameters, total), problem.validation)
    with plain_attention():
        if len(problem.train) == 1 and not (problem.curvature or finite_differences or problem.train[0].closed):
            (part,) = problem.train
            kept = KeptGraph.of(
                lambda leaves, coefficients_of_chunk: (coefficients_of_chunk * part.losses(leaves)).sum(-1),
                problem.parameters,
                coefficients.gather(-1, part.index),
            )
            solution = solve(kept.product, slope)
            return _in_table([(part, kept.by_coefficients(solution.solution))], coefficients), solution
        solution = solve(_training_curvature(problem, coefficients, finite_differences), slope)
    values = [(part, _derivative(part, problem, solution.solution, finite_differences)) for part in problem.train]
    return _in_table(values, coefficients), solution


def _mean_gradient(part: Chunk, parameters: Vector, total: int) -> Vector:
    if part.closed:
        return part.closed.gradient(torch.full(part.index.shape, 1 / total, dtype=parameters[0].dtype))
    return gradient(lambda p: part.losses(p).sum(-1) / total, parameters)


def _derivative(part: Chunk, problem: BilevelProblem, direction: Vector, finite_differences: bool) -> Tensor:
    if finite_differences:
        return finite_difference_jvp(part.losses, problem.parameters, direction, stack=problem.stack)
    if part.closed:
        return part.closed.derivative(direction)
    return per_sample_jvp(part.losses, problem.parameters, direction)


def _in_table(chunks: Sequence[tuple[Chunk, Tensor]], like: Tensor) -> Tensor:
    """Scatter the values of each chunk to the places of its samples, 0 elsewhere."""
    table = torch.zeros_like(like)
    for part, values in chunks:
        table.scatter_(-1, part.index, values.to(table.dtype))
    return table


def _training_curvature(problem: BilevelProblem, coefficients: Tensor, finite_differences: bool) -> Product:
    """Return the product with the Hessian of sum_i c_i l_i; a single chunk keeps its graph, several are recomputed."""
    parts = problem.curvature or problem.train
    scale = _count(problem.train) / _count(parts)

    def product_of(part: Chunk) -> Product:
        scaled = scale * coefficients.gather(-1, part.index)

        def objective(parameters: Vector) -> Tensor:
            return (scaled * part.losses(parameters)).sum(-1)

        if finite_differences:
            return finite_difference_product(objective, problem.parameters, stack=problem.stack)
        return part.closed.curvature(scaled) if part.closed else hessian_vector_product(objective, problem.parameters)

    if len(parts) == 1 or all(part.closed for part in parts):
        products = [product_of(part) for part in parts]
        return lambda v: _sum(product(v) for product in products)
    return lambda v: _sum_of_parts(lambda part: product_of(part)(v), parts)


def _count(parts: Sequence[Chunk]) -> int:
    return sum(part.index.shape[-1] for part in parts)


def _sum_of_parts(function: Callable[[Chunk], Vector], parts: Sequence[Chunk]) -> Vector:
    return _sum(function(part) for part in parts)


def _sum(vectors: Iterable[Vector]) -> Vector:
    return reduce(lambda total, vector: tuple(a + b for a, b in zip(total, vector, strict=True)), vectors)
