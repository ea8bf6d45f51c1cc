"""Products with the Hessian, the cost of an iteration with them (Proposition 4.4), and projections."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from fossil.hypergradient import (
    Solution,
    conjugate_gradient,
    gradient,
    hessian_vector_product,
    project_box,
    project_simplex,
)
from fossil.theory.statement import Outcome, loglog_slope, statement

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
"""Numbers of parameters at which an iteration is timed."""

_STEEPEST = 1.1
_ITERATIONS = 3
_SAMPLES = 8
_SYSTEMS, _DIMENSION = 25, 60
_STEPS = (1, 2, 5, 10, 20, 40)
_FLOOR = 1e-12  # rounding

Vector = tuple[Tensor, ...]
MakeProduct = Callable[[Callable[[Vector], Tensor], Vector], Callable[[Vector], Vector]]


@dataclass(frozen=True)
class Cost:
    """The cost of an iteration of conjugate gradient at d parameters: seconds, and operations of its products."""

    parameters: int
    seconds: float
    operations: int


@statement(
    "proposition-4.4-identity",
    order=23,
    place="Proposition 4.4, identity; appendix, Hessian-Vector Trick",
    claim="A Hessian-vector product is the gradient of <gradient, v> and the derivative of the gradient along v, "
    "and conjugate gradient with such products solves the damped system.",
)
def hessian_vector_identity(*, seed: int, make_product: MakeProduct = hessian_vector_product) -> Outcome:
    """Check that double backward gives the dense Hessian times v, and the derivative of the gradient along v."""
    objective, parameters = _perceptron(seed, hidden=6, dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    flat = torch.cat([p.reshape(-1) for p in parameters])
    dense = torch.autograd.functional.hessian(lambda theta: objective(_unflatten(theta, parameters)), flat)
    product = make_product(objective, parameters)
    from_dense = from_difference = 0.0
    for _ in range(10):
        v = torch.randn(flat.shape, generator=generator, dtype=torch.float64)
        multiplied = torch.cat([part.reshape(-1) for part in product(_unflatten(v, parameters))])
        from_dense = max(from_dense, float((multiplied - dense @ v).norm() / (dense @ v).norm()))
        h = 1e-5
        ahead, behind = (gradient(objective, _unflatten(flat + sign * h * v, parameters)) for sign in (1, -1))
        slope = torch.cat([((a - b) / (2 * h)).reshape(-1) for a, b in zip(ahead, behind, strict=True)])
        from_difference = max(from_difference, float((multiplied - slope).norm() / slope.norm()))
    damping = 1.0 - float(torch.linalg.eigvalsh(dense)[0].clamp(max=0))
    solution = conjugate_gradient(
        product, _unflatten(flat, parameters), damping=damping, iterations=len(flat), tolerance=1e-12
    ).solution
    exact = torch.linalg.solve(dense + damping * torch.eye(len(flat), dtype=torch.float64), flat)
    solved = float((torch.cat([part.reshape(-1) for part in solution]) - exact).norm() / exact.norm())
    return Outcome(
        printed=from_dense <= 1e-10 and from_difference <= 1e-6 and solved <= 1e-8,
        evidence=f"Perceptron with {len(flat)} parameters: relative difference {from_dense:.0e} from the dense "
        f"Hessian, {from_difference:.0e} from central differences of the gradient; conjugate gradient with damping "
        f"{damping:.1f} is {solved:.0e} off the dense solution.",
        measured=from_dense,
        bound=1e-10,
    )


@statement(
    "proposition-4.4-cost",
    order=24,
    place="Proposition 4.4, complexity",
    claim="For a fixed number of samples an iteration of conjugate gradient costs of order d, and not d squared, "
    "for d parameters.",
)
def iteration_cost(costs: list[Cost]) -> Outcome:
    """Check that the operations of an iteration grow in proportion to the number of parameters.

    The time is told and decides nothing: it depends on what else the machine does.
    """
    sizes = [cost.parameters for cost in costs]
    operations = loglog_slope(sizes, [cost.operations for cost in costs])
    seconds = loglog_slope(sizes, [cost.seconds for cost in costs])
    dense = costs[-1].parameters ** 2 * 4 / 1e12
    return Outcome(
        printed=operations <= _STEEPEST,
        evidence=f"For a fixed number of samples, {_SAMPLES}, and from d = {sizes[0]} to {sizes[-1]}, operations grow "
        f"as d to the power {operations:.2f} and time as d to the power {seconds:.2f}; at the largest d an iteration "
        f"takes {costs[-1].seconds:.2f} s, where a dense Hessian would fill {dense:.0f} TB.",
        measured=operations,
        bound=_STEEPEST,
    )


@statement(
    "conjugate-gradient-accuracy",
    order=25,
    place="Proposition 4.4, last part of the proof",
    claim="Conjugate gradient that is truncated after k iterations gives an accuracy epsilon in time of order k d.",
)
def conjugate_gradient_accuracy(*, seed: int, solve: Callable[..., Solution] = conjugate_gradient) -> Outcome:
    """Check the error in the A-norm after k steps, on random symmetric positive definite systems."""
    generator = torch.Generator().manual_seed(seed)
    worst = largest = 0.0
    for damping in (0.0, 0.1):
        for condition in (3.0, 30.0, 300.0, 3000.0):
            matrices, eigenvalues = _random_spd(generator, condition)
            target = torch.randn(_SYSTEMS, _DIMENSION, generator=generator, dtype=torch.float64)
            damped = matrices + damping * torch.eye(_DIMENSION, dtype=torch.float64)
            exact = torch.linalg.solve(damped, target)
            root = ((eigenvalues[:, -1] + damping) / (eigenvalues[:, 0] + damping)).sqrt()
            first = _energy_norm(damped, exact)
            for steps in _STEPS:
                solved = solve(
                    lambda v, a=matrices: (torch.einsum("mij,mj->mi", a, v[0]),),
                    (target,),
                    **{"damping": damping, "iterations": steps, "tolerance": 0.0, "stack": 1},
                )
                share = _energy_norm(damped, solved.solution[0] - exact) / first
                allowed = 2 * ((root - 1) / (root + 1)) ** steps
                worst = max(worst, float(((share - _FLOOR) / allowed).max()))
            largest = max(largest, float(share.max()))
    return Outcome(
        printed=worst <= 1,
        evidence=f"Over {2 * 4 * _SYSTEMS} random symmetric positive definite systems with {_DIMENSION} unknowns and "
        f"condition numbers kappa up to 3000, with and without damping, and k from {_STEPS[0]} to {_STEPS[-1]} the "
        f"error in the A-norm is at most {worst:.3f} of 2 ((sqrt(kappa) - 1)/(sqrt(kappa) + 1))^k times the first one, "
        f"so that k of order sqrt(kappa) log(1/epsilon) is enough; after {_STEPS[-1]} iterations at most {largest:.1e} "
        "of the first is left.",
        measured=worst,
        bound=1.0,
    )


def measure_costs(*, seed: int, sizes: tuple[int, ...] = SIZES, repeats: int = 3) -> list[Cost]:
    """Time conjugate gradient on perceptrons with about so many parameters, in float32: the fastest of the repeats."""
    costs = []
    for size in sizes:
        objective, parameters = _perceptron(seed, hidden=round(size**0.5), dtype=torch.float32)
        product = hessian_vector_product(objective, parameters)
        target = gradient(objective, parameters)
        with FlopCounterMode(display=False) as counter:
            product(target)
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            solved = conjugate_gradient(product, target, damping=10.0, iterations=_ITERATIONS, tolerance=0.0)
            seconds.append((time.perf_counter() - start) / max(1, int(solved.iterations)))
        costs.append(Cost(sum(p.numel() for p in parameters), min(seconds), counter.get_total_flops()))
    return costs


@statement(
    "projection",
    order=27,
    place="Appendix, Projection and Feasible Sets",
    claim="The projections onto simplex and box exist, are unique and give the nearest feasible point.",
)
def projections(
    *,
    seed: int,
    onto_simplex: Callable[[Tensor], Tensor] = project_simplex,
    onto_box: Callable[[Tensor], Tensor] = project_box,
) -> Outcome:
    """Check that projections are feasible and the nearest point: <z - p, q - p> <= 0 for every feasible q.

    The largest <z - p, q> over the simplex is the largest entry of z - p, over the box the sum of its positive entries.
    """
    generator = torch.Generator().manual_seed(seed)
    worst = outside = 0.0
    for _ in range(200):
        z = 3 * torch.randn(20, 30, generator=generator, dtype=torch.float64)
        p = onto_simplex(z)
        worst = max(worst, float(((z - p).amax(-1) - ((z - p) * p).sum(-1)).max()))
        outside = max(outside, float((-p).clamp_min(0).max()), float((p.sum(-1) - 1).abs().max()))
        p = onto_box(z)
        worst = max(worst, float(((z - p).clamp_min(0).sum(-1) - ((z - p) * p).sum(-1)).max()))
        outside = max(outside, float((-p).clamp_min(0).max()), float((p - 1).clamp_min(0).max()))
    return Outcome(
        printed=worst <= 1e-9 and outside <= 1e-9,
        evidence=f"Over {200 * 20} random points and both sets the largest <z - p, q - p> of any feasible q is "
        f"{worst:.0e}, which makes p the one nearest point, and p violates the constraints by at most {outside:.0e}.",
        measured=worst,
        bound=1e-9,
    )


def _perceptron(seed: int, *, hidden: int, dtype: torch.dtype) -> tuple[Callable[[Vector], Tensor], Vector]:
    """Make the mean loss of a tanh perceptron 10-hidden-hidden-1 on a few samples, and its parameters."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(_SAMPLES, 10, generator=generator, dtype=dtype)
    signs = torch.where(torch.arange(_SAMPLES) % 2 == 0, 1.0, -1.0).to(dtype)
    shapes = [(10, hidden), (hidden, hidden), (hidden, 1)]
    parameters = tuple(
        torch.randn(shape, generator=generator, dtype=dtype) / float(np.sqrt(shape[0])) for shape in shapes
    )

    def objective(layers: Vector) -> Tensor:
        values = inputs
        for layer in layers[:-1]:
            values = (values @ layer).tanh()
        return torch.nn.functional.softplus(-signs * (values @ layers[-1]).squeeze(-1)).mean()

    return objective, parameters


def _random_spd(generator: torch.Generator, condition: float) -> tuple[Tensor, Tensor]:
    """Draw matrices (m, n, n) with eigenvalues (m, n) that are spread evenly in logarithm, the largest being 1."""
    eigenvalues = condition ** -torch.rand(_SYSTEMS, _DIMENSION, generator=generator, dtype=torch.float64)
    eigenvalues[:, 0], eigenvalues[:, -1] = 1 / condition, 1.0
    basis, _ = torch.linalg.qr(torch.randn(_SYSTEMS, _DIMENSION, _DIMENSION, generator=generator, dtype=torch.float64))
    return torch.einsum("mik,mk,mjk->mij", basis, eigenvalues, basis), eigenvalues


def _energy_norm(matrices: Tensor, vectors: Tensor) -> Tensor:
    """Compute sqrt(x^T A x) of each system, shape (m,)."""
    return torch.einsum("mi,mij,mj->m", vectors, matrices, vectors).clamp_min(0).sqrt()


def _unflatten(flat: Tensor, like: Vector) -> Vector:
    parts = flat.split([p.numel() for p in like])
    return tuple(part.reshape(p.shape) for part, p in zip(parts, like, strict=True))
