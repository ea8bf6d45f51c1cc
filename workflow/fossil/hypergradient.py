"""Implicit gradients of a bilevel problem: curvature products, linear solvers, per-sample derivatives, projections.

Parameters and everything of their shape are tuples of tensors ("vectors"). With ``stack`` = s their first s axes count
models that do not touch each other, as in a stack of shape (M, in, out): inner products, solvers and projections then
work model by model, and a Hessian is block-diagonal.

The lower level minimises L(theta) = sum_i c_i l_i(theta) with coefficients c_i = w_i (1 - lambda_i 1{i in A}), the
upper level F(w, lambda) = L_val(theta*). With v = H^-1 grad L_val and H the Hessian of L, the implicit function theorem
gives dF/dc_i = -<v, grad l_i> (paper, Eq. 6 and App. C), for all i from one derivative in the direction v.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn.attention import SDPBackend, sdpa_kernel

from fossil.problem import BilevelProblem, Part, Vector

Product = Callable[[Vector], Vector]


@dataclass(frozen=True)
class Solution:
    """What a linear solver found for each model of a stack of shape (...).

    Attributes
    ----------
    solution : tuple of Tensor
    iterations : Tensor of int64, shape (...)
        Steps taken.
    residual : Tensor, shape (...)
        |b - A x| / |b|; 0 where b = 0.
    negative_curvature : Tensor of bool, shape (...)
        Whether the solver stopped at a direction p along which A + damping I is not positive enough:
        <p, (A + damping I) p> <= damping/2 |p|^2, or 0 without damping. Where that was the first one the solution is b,
        as in a truncated Newton method (Nocedal and Wright 2006, Alg. 7.1).
    """

    solution: Vector
    iterations: Tensor
    residual: Tensor
    negative_curvature: Tensor


# --- Derivatives ------------------------------------------------------------------------------------------------------


def inner(a: Vector, b: Vector, *, stack: int = 0) -> Tensor:
    """Inner product of two vectors, model by model: shape (...) of the leading ``stack`` axes."""
    parts = [
        torch.linalg.vecdot(x.reshape(*x.shape[:stack], -1), y.reshape(*y.shape[:stack], -1))
        for x, y in zip(a, b, strict=True)
    ]
    return torch.stack(parts).sum(0)


def gradient(objective: Callable[[Vector], Tensor], parameters: Vector) -> Vector:
    """Gradient of an objective, a scalar or one value a model, at the parameters."""
    leaves = _leaves(parameters)
    with torch.enable_grad():
        return torch.autograd.grad(objective(leaves).sum(), leaves)


def hessian_vector_product(objective: Callable[[Vector], Tensor], parameters: Vector) -> Product:
    """Hessian of an objective at the parameters, as a product v -> H v by double backward (paper, Prop. 4.4).

    The graph of the gradient is built once and kept as long as the product. Objectives of several models must not mix
    them; the product is then that of each model's own Hessian.
    """
    leaves = _leaves(parameters)
    with torch.enable_grad():
        slopes = torch.autograd.grad(objective(leaves).sum(), leaves, create_graph=True)

    bent = [k for k, slope in enumerate(slopes) if slope.requires_grad]  # the others are constant

    def product(v: Vector) -> Vector:
        if not bent:
            return tuple(torch.zeros_like(leaf) for leaf in leaves)
        given, directions = ([values[k] for k in bent] for values in (slopes, v))
        return torch.autograd.grad(given, leaves, directions, retain_graph=True, materialize_grads=True)

    return product


def finite_difference_product(
    objective: Callable[[Vector], Tensor], parameters: Vector, *, stack: int = 0, step: float | None = None
) -> Product:
    """Hessian-vector product by central differences of the gradient: two gradients a product, no second derivative.

    ``step`` is the length of the shift; by default a cube root of the type's precision.
    """

    def product(v: Vector) -> Vector:
        h = _difference_step(v, stack=stack, step=step)
        ahead = gradient(objective, _shift(parameters, h, v))
        behind = gradient(objective, _shift(parameters, -h, v))
        return tuple((a - b) / _like(2 * h, a) for a, b in zip(ahead, behind, strict=True))

    return product


def per_sample_jvp(losses: Callable[[Vector], Tensor], parameters: Vector, tangent: Vector) -> Tensor:
    """<tangent, grad l_i> for every sample, shape (..., n), from one forward pass with dual numbers.

    Attention runs unfused meanwhile, since fused kernels have no forward derivative.
    """
    with forward_ad.dual_level(), _plain_attention(), torch.no_grad():
        values = losses(_duals(parameters, tangent))
        found = forward_ad.unpack_dual(values).tangent
    return torch.zeros_like(values) if found is None else found


def finite_difference_jvp(
    losses: Callable[[Vector], Tensor],
    parameters: Vector,
    tangent: Vector,
    *,
    stack: int = 0,
    step: float | None = None,
) -> Tensor:
    """<tangent, grad l_i> for every sample, shape (..., n), by central differences: two plain forward passes."""
    h = _difference_step(tangent, stack=stack, step=step)
    with torch.no_grad():
        ahead, behind = losses(_shift(parameters, h, tangent)), losses(_shift(parameters, -h, tangent))
    return (ahead - behind) / (2 * h).unsqueeze(-1)


# --- Linear solvers ---------------------------------------------------------------------------------------------------


def conjugate_gradient(
    product: Product,
    target: Vector,
    *,
    damping: float = 0.0,
    iterations: int = 10,
    tolerance: float = 1e-10,
    stack: int = 0,
) -> Solution:
    """Solve (A + damping I) x = b for a symmetric A (Hestenes and Stiefel 1952), each model of a stack by itself.

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
        image = _shift(product(direction), energy.new_full(energy.shape, damping), direction)
        curvature = inner(direction, image, stack=stack)
        stopped = active & (curvature <= damping / 2 * inner(direction, direction, stack=stack))
        negative |= stopped
        active = active & ~stopped
        length = torch.where(active, energy / torch.where(active, curvature, 1.0), 0.0)
        solution, residual = _shift(solution, length, direction), _shift(residual, -length, image)
        steps = steps + active
        left = inner(residual, residual, stack=stack)
        growth = torch.where(active, left / torch.where(active, energy, 1.0), 0.0)
        direction = _shift(residual, growth, direction)
        energy = torch.where(active, left, energy)
        active = active & (energy.sqrt() > tolerance * start)
    at_once = negative & (steps == 0)
    solution = _shift(solution, at_once.to(energy.dtype), target)
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
        solution = _shift(solution, step * one, term)
        term = _shift(term, -step * one, _shift(product(term), damping * one, term))
    left = inner(term, term, stack=stack).sqrt()
    return Solution(
        solution,
        torch.full_like(start, iterations, dtype=torch.int64),
        _relative(left, start),
        torch.zeros_like(start, dtype=torch.bool),
    )


# --- The implicit gradient --------------------------------------------------------------------------------------------


def sensitivities(
    problem: BilevelProblem,
    coefficients: Tensor,
    solve: Callable[[Product, Vector], Solution],
    *,
    finite_differences: bool = False,
) -> tuple[Tensor, Solution]:
    """<v, grad l_i> with v = H^-1 grad L_val for every training sample: minus the derivative of F by coefficient c_i.

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
    slope = _sum_of_parts(
        lambda part: gradient(lambda p: part.losses(p).sum(-1) / total, problem.parameters), problem.validation
    )
    with _plain_attention():
        solution = solve(_training_curvature(problem, coefficients, finite_differences), slope)
    found = torch.zeros_like(coefficients)
    for part in problem.train:
        if finite_differences:
            values = finite_difference_jvp(part.losses, problem.parameters, solution.solution, stack=problem.stack)
        else:
            values = per_sample_jvp(part.losses, problem.parameters, solution.solution)
        found.scatter_(-1, part.index, values.to(found.dtype))
    return found, solution


def _training_curvature(problem: BilevelProblem, coefficients: Tensor, finite_differences: bool) -> Product:
    """Product with the Hessian of sum_i c_i l_i; one part keeps its graph, of several each is differentiated anew."""
    parts = problem.curvature or problem.train
    scale = _count(problem.train) / _count(parts)

    def objective(part: Part) -> Callable[[Vector], Tensor]:
        own = scale * coefficients.gather(-1, part.index)
        return lambda parameters: (own * part.losses(parameters)).sum(-1)

    def product_of(part: Part) -> Product:
        if finite_differences:
            return finite_difference_product(objective(part), problem.parameters, stack=problem.stack)
        return hessian_vector_product(objective(part), problem.parameters)

    if len(parts) == 1:
        return product_of(parts[0])
    return lambda v: _sum_of_parts(lambda part: product_of(part)(v), parts)


def _count(parts: Sequence[Part]) -> int:
    return sum(part.index.shape[-1] for part in parts)


def _sum_of_parts(function: Callable[[Part], Vector], parts: Sequence[Part]) -> Vector:
    first, *others = parts
    total = function(first)
    for part in others:
        total = tuple(a + b for a, b in zip(total, function(part), strict=True))
    return total


# --- Projections ------------------------------------------------------------------------------------------------------


def project_simplex(values: Tensor, *, total: float = 1.0) -> Tensor:
    """Nearest point of {x >= 0, sum x = total} along the last axis (Held et al. 1974, Duchi et al. 2008).

    Raises
    ------
    ValueError
        If the total is not positive or a value is not finite.
    """
    if total <= 0:
        raise ValueError(f"total must be positive, not {total}")
    if not values.isfinite().all():
        raise ValueError("values: not all of them are finite")
    ordered = values.sort(dim=-1, descending=True).values
    place = torch.arange(1, values.shape[-1] + 1, dtype=values.dtype, device=values.device)
    excess = ordered.cumsum(-1) - total
    support = (ordered * place > excess).sum(-1, keepdim=True)
    threshold = excess.gather(-1, support - 1) / support
    return (values - threshold).clamp_min(0.0)


def project_box(values: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Nearest point of [low, high]^n.

    Raises
    ------
    ValueError
        If low is above high or a value is NaN.
    """
    if low > high:
        raise ValueError(f"low = {low} is above high = {high}")
    if values.isnan().any():
        raise ValueError("values: not all of them are finite")
    return values.clamp(low, high)


# --- Helpers ----------------------------------------------------------------------------------------------------------


def _leaves(parameters: Vector) -> Vector:
    return tuple(p.detach().requires_grad_() for p in parameters)


def _like(factors: Tensor, vector: Tensor) -> Tensor:
    """One factor a model, shaped to multiply a tensor of the stack."""
    return factors.reshape(factors.shape + (1,) * (vector.dim() - factors.dim()))


def _shift(point: Vector, length: Tensor, direction: Vector) -> Vector:
    """Go from a point a length, one a model, along a direction."""
    return tuple(torch.addcmul(p.detach(), _like(length, p), d) for p, d in zip(point, direction, strict=True))


def _relative(norm: Tensor, start: Tensor) -> Tensor:
    return torch.where(start > 0, norm / torch.where(start > 0, start, 1.0), 0.0)


def _difference_step(direction: Vector, *, stack: int, step: float | None) -> Tensor:
    norm = inner(direction, direction, stack=stack).sqrt()
    length = torch.finfo(norm.dtype).eps ** (1 / 3) if step is None else step
    return length / torch.where(norm > 0, norm, 1.0)


@contextmanager
def _plain_attention() -> Iterator[None]:
    """Unfused attention: the fused kinds have neither second nor forward derivatives."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def _duals(parameters: Vector, tangent: Vector) -> Vector:
    with warnings.catch_warnings():
        # The first dual number makes PyTorch compile derivatives with a function that it deprecates itself.
        warnings.filterwarnings("ignore", message="`torch.jit.script` is deprecated", category=FutureWarning)
        return tuple(forward_ad.make_dual(p.detach(), t) for p, t in zip(parameters, tangent, strict=True))
