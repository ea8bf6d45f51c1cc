"""Gradients, Hessian-vector products and per-sample directional derivatives."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn.attention import SDPBackend, sdpa_kernel

from fossil.hypergradient.problem import Vector
from fossil.hypergradient.vectors import inner, like, shift

Product = Callable[[Vector], Vector]
"""A linear map of vectors, such as a Hessian."""


def gradient(objective: Callable[[Vector], Tensor], parameters: Vector) -> Vector:
    """Compute the gradient of an objective, a scalar or one value per model, at the parameters."""
    leaves = _leaves(parameters)
    with torch.enable_grad():
        return torch.autograd.grad(objective(leaves).sum(), leaves, materialize_grads=True)


def hessian_vector_product(objective: Callable[[Vector], Tensor], parameters: Vector) -> Product:
    """Return the product v -> H v with an objective's Hessian, by double backward (paper, Prop. 4.4).

    The graph of the gradient is built once and kept as long as the product. Objectives of several models must not mix
    them; the product is then that of each model's own Hessian.
    """
    return KeptGraph.of(lambda leaves, _: objective(leaves), parameters, torch.zeros(())).product


def finite_difference_product(
    objective: Callable[[Vector], Tensor], parameters: Vector, *, stack: int = 0, step: float | None = None
) -> Product:
    """Return the Hessian-vector product by central differences: two gradients per product, no second derivative.

    ``step`` is the length of the shift; by default a cube root of the type's precision.
    """

    def product(v: Vector) -> Vector:
        h = _difference_step(v, stack=stack, step=step)
        ahead = gradient(objective, shift(parameters, h, v))
        behind = gradient(objective, shift(parameters, -h, v))
        return tuple((a - b) / like(2 * h, a) for a, b in zip(ahead, behind, strict=True))

    return product


def per_sample_jvp(losses: Callable[[Vector], Tensor], parameters: Vector, tangent: Vector) -> Tensor:
    """Compute <tangent, grad l_i> for every sample, shape (..., n), from one forward pass with dual numbers.

    Attention runs unfused meanwhile, since fused kernels have no forward derivative.
    """
    with forward_ad.dual_level(), plain_attention(), torch.no_grad():
        values = losses(_duals(parameters, tangent))
        tangents = forward_ad.unpack_dual(values).tangent
    return torch.zeros_like(values) if tangents is None else tangents


def finite_difference_jvp(
    losses: Callable[[Vector], Tensor],
    parameters: Vector,
    tangent: Vector,
    *,
    stack: int = 0,
    step: float | None = None,
) -> Tensor:
    """Compute <tangent, grad l_i> for every sample, shape (..., n), by central differences of two forward passes."""
    h = _difference_step(tangent, stack=stack, step=step)
    with torch.no_grad():
        ahead, behind = losses(shift(parameters, h, tangent)), losses(shift(parameters, -h, tangent))
    return (ahead - behind) / (2 * h).unsqueeze(-1)


@dataclass(frozen=True)
class KeptGraph:
    """The gradient of an objective L(theta, c), with its graph.

    Both of its derivatives come from there: H v, and <v, grad l_i> of L = sum_i c_i l_i as its derivative by c_i along
    v, which spares the forward pass of ``per_sample_jvp``.

    Attributes
    ----------
    slopes, leaves : tuple of Tensor
        The gradient, and the parameters that it is taken by.
    coefficients : Tensor, shape (..., n)
    """

    slopes: Vector
    leaves: Vector
    coefficients: Tensor

    @classmethod
    def of(cls, objective: Callable[[Vector, Tensor], Tensor], parameters: Vector, coefficients: Tensor) -> KeptGraph:
        """Compute the gradient of an objective of parameters and coefficients, a scalar or one value per model."""
        leaves, own = _leaves(parameters), coefficients.detach().requires_grad_()
        with torch.enable_grad():
            slopes = torch.autograd.grad(
                objective(leaves, own).sum(), leaves, create_graph=True, materialize_grads=True
            )
        return cls(slopes, leaves, own)

    def product(self, v: Vector) -> Vector:
        """Compute H v."""
        return self._along(v, self.leaves)

    def by_coefficients(self, v: Vector) -> Tensor:
        """Differentiate <v, gradient> by each coefficient, shape (..., n)."""
        return self._along(v, (self.coefficients,))[0]

    def _along(self, v: Vector, inputs: Vector) -> Vector:
        bent = [k for k, slope in enumerate(self.slopes) if slope.requires_grad]  # the others are constant
        if not bent:
            return tuple(torch.zeros_like(value) for value in inputs)
        slopes, directions = ([values[k] for k in bent] for values in (self.slopes, v))
        return torch.autograd.grad(slopes, inputs, directions, retain_graph=True, materialize_grads=True)


@contextmanager
def plain_attention() -> Iterator[None]:
    """Return a context of unfused attention, since fused kinds lack second and forward derivatives."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def _leaves(parameters: Vector) -> Vector:
    return tuple(p.detach().requires_grad_() for p in parameters)


def _difference_step(direction: Vector, *, stack: int, step: float | None) -> Tensor:
    norm = inner(direction, direction, stack=stack).sqrt()
    length = torch.finfo(norm.dtype).eps ** (1 / 3) if step is None else step
    return length / torch.where(norm > 0, norm, 1.0)


def _duals(parameters: Vector, tangent: Vector) -> Vector:
    with warnings.catch_warnings():
        # The first dual number makes PyTorch compile derivatives with a function that it deprecates itself.
        warnings.filterwarnings("ignore", message="`torch.jit.script` is deprecated", category=FutureWarning)
        return tuple(forward_ad.make_dual(p.detach(), t) for p, t in zip(parameters, tangent, strict=True))
