"""Implicit gradients of a bilevel problem: curvature products, linear solvers, per-sample derivatives, projections.

Parameters and everything of their shape are tuples of tensors ("vectors"). With ``stack`` = s their first s axes count
models that do not touch each other, as in a stack of shape (M, in, out): inner products, solvers and projections then
work model by model, and a Hessian is block-diagonal.

The lower level minimises L(theta) = sum_i c_i l_i(theta) with coefficients c_i = w_i (1 - lambda_i 1{i in A}), the
upper level F(w, lambda) = L_val(theta*). With v = H^-1 grad L_val and H the Hessian of L, the implicit function theorem
gives dF/dc_i = -<v, grad l_i> (paper, Eq. 6 and App. C), for all i from one derivative in the direction v.
"""

from __future__ import annotations

from fossil.hypergradient.derivatives import (
    Product,
    finite_difference_jvp,
    finite_difference_product,
    gradient,
    hessian_vector_product,
    per_sample_jvp,
)
from fossil.hypergradient.implicit import sensitivities
from fossil.hypergradient.projections import project_box, project_simplex
from fossil.hypergradient.solvers import Solution, conjugate_gradient, neumann_series
from fossil.hypergradient.vectors import inner

__all__ = [
    "Product",
    "Solution",
    "conjugate_gradient",
    "finite_difference_jvp",
    "finite_difference_product",
    "gradient",
    "hessian_vector_product",
    "inner",
    "neumann_series",
    "per_sample_jvp",
    "project_box",
    "project_simplex",
    "sensitivities",
]
