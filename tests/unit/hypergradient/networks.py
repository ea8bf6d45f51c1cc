"""A small network of which everything is known densely, for several tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from fossil.hypergradient.problem import BilevelProblem, Chunk, Vector

F64 = torch.float64

SHAPES = [(4, 5), (1, 5), (5, 1), (1, 1)]
SIZE = sum(np.prod(shape) for shape in SHAPES)


def network(parameters: Vector, inputs: Tensor) -> Tensor:
    first, first_bias, second, second_bias = parameters
    return ((inputs @ first + first_bias).tanh() @ second + second_bias).squeeze(-1)


def data(models: int, count: int = 30, seed: int = 0) -> tuple[Tensor, Tensor, Vector]:
    """Inputs (M, n, 4), targets (M, n) and parameters of M networks."""
    generator = torch.Generator().manual_seed(seed)
    draw = partial(torch.randn, generator=generator, dtype=F64)
    targets = (torch.rand(models, count, generator=generator) < 0.3).to(F64)
    return draw(models, count, 4), targets, tuple(draw(models, *shape) for shape in SHAPES)


def losses_of(inputs: Tensor, targets: Tensor) -> Callable[[Vector], Tensor]:
    return lambda parameters: functional.binary_cross_entropy_with_logits(
        network(parameters, inputs), targets, reduction="none"
    )


def flat(vector: Vector) -> Tensor:
    return torch.cat([part.flatten() for part in vector])


def unflat(values: Tensor) -> Vector:
    return tuple(
        part.view(shape) for part, shape in zip(values.split([int(np.prod(s)) for s in SHAPES]), SHAPES, strict=True)
    )


def dense(inputs: Tensor, targets: Tensor, parameters: Vector, coefficients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Hessian of sum_i c_i l_i, Jacobian of the losses and gradient of their mean, for one network."""
    losses = losses_of(inputs, targets)
    hessian = torch.autograd.functional.hessian(lambda v: (coefficients * losses(unflat(v))).sum(), flat(parameters))
    jacobian = torch.autograd.functional.jacobian(lambda v: losses(unflat(v)), flat(parameters))
    return hessian, jacobian, jacobian.mean(0)


def of_model(vector: Vector, model: int) -> Vector:
    return tuple(part[model] for part in vector)


def whole_problem(inputs: Tensor, targets: Tensor, parameters: Vector, *, cut: int | None = None) -> BilevelProblem:
    """The same samples train and validate; cut in two parts where asked."""
    index = torch.arange(inputs.shape[1]).expand(inputs.shape[:2])
    pieces = [slice(None)] if cut is None else [slice(0, cut), slice(cut, None)]
    parts = [Chunk(losses_of(inputs[:, piece], targets[:, piece]), index[:, piece]) for piece in pieces]
    return BilevelProblem(parameters, parts, parts, stack=1)
