"""The upper level of Algorithm 1: weights on a simplex and penalties in a box, moved along their hypergradients."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from fossil.config.methods.fossil_bilevel import BilevelOptions
from fossil.hypergradient import (
    Solution,
    conjugate_gradient,
    neumann_series,
    project_box,
    project_simplex,
    sensitivities,
)
from fossil.hypergradient.problem import BilevelProblem


class BilevelWeights:
    """Weights and augmentation penalties of N training samples, for one model or a stack.

    The lower level is L = sum_i w_i (1 - lambda_i 1{i in A}) l_i with w on the simplex. Kept and stepped is N w, of
    mean 1, so that a learning rate does not depend on N. With s_i = <H^-1 grad L_val, grad l_i>, dF/dw_i is
    -(1 - lambda_i 1{i in A}) s_i and dF/dlambda_i is w_i 1{i in A} s_i, of which N times is stepped for the same
    reason. The scale of w changes nothing at a minimum of L, which is why w stays on the simplex.

    Parameters
    ----------
    start : Tensor, shape (..., N)
        First weights up to their scale: not negative, of positive sum.
    is_augmented : Tensor of bool, shape (..., N)
        Samples that have a penalty, the set A.
    penalty : float
        First penalty lambda of these samples, in [0, 1].

    Raises
    ------
    ValueError
        If an argument is not so; the message names it.
    """

    def __init__(
        self, start: Tensor, is_augmented: Tensor, *, penalty: float = 0.0, options: BilevelOptions | None = None
    ) -> None:
        self.options = BilevelOptions() if options is None else options
        _check(start, is_augmented, penalty)
        self.is_augmented = is_augmented
        self.weights = start * start.shape[-1] / start.sum(-1, keepdim=True)
        self.penalties = penalty * is_augmented.to(start.dtype)
        self.weights_momentum, self.penalties_momentum = torch.zeros_like(start), torch.zeros_like(start)
        self.last: Solution | None = None

    def __call__(self, index: Tensor) -> Tensor:
        """Return N w_i (1 - lambda_i 1{i in A}) of the samples at an index of shape (..., n)."""
        return self._effective().gather(-1, index)

    def update(self, problem: BilevelProblem) -> None:
        """Take one upper-level step; ``last`` keeps the solver's solution.

        A model of a stack whose hypergradient is not finite keeps its weights; the others go on.

        Raises
        ------
        FloatingPointError
            If no hypergradient is finite; all weights are then what they were.
        """
        count = self.weights.shape[-1]
        sensitivity, solution = sensitivities(
            problem,
            self._effective() / count,
            self._solver(problem.stack),
            finite_differences=self.options.derivatives == "finite_difference",
        )
        finite = sensitivity.isfinite().all(-1, keepdim=True)
        if not finite.any():
            raise FloatingPointError("the hypergradient is not finite; has the training diverged?")
        sensitivity = torch.where(finite, sensitivity, 0.0)
        beta = self.options.momentum
        by_weight = -(1 - self.penalties) * sensitivity
        by_penalty = self.weights * self.is_augmented * sensitivity
        weights_momentum = beta * self.weights_momentum + (1 - beta) * by_weight
        penalties_momentum = beta * self.penalties_momentum + (1 - beta) * by_penalty
        weights = project_simplex(
            self.weights - self.options.weights_learning_rate * weights_momentum, total=float(count)
        )
        penalties = project_box(self.penalties - self.options.penalties_learning_rate * penalties_momentum)
        self.weights, self.weights_momentum = torch.where(finite, weights, self.weights), weights_momentum
        self.penalties, self.penalties_momentum = torch.where(finite, penalties, self.penalties), penalties_momentum
        self.last = solution

    def report(self) -> dict[str, Tensor]:
        """Return the last solution's iterations, residual and negative curvature, each of shape (...)."""
        if self.last is None:
            return {}
        return {
            "solver_iterations": self.last.iterations,
            "solver_residual": self.last.residual,
            "negative_curvature": self.last.negative_curvature,
        }

    def state_dict(self) -> dict[str, Tensor]:
        """Return the tensors that a checkpoint must hold."""
        return {name: getattr(self, name).clone() for name in _STATE}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state of ``state_dict``.

        Raises
        ------
        ValueError
            If a tensor is missing, unknown, of another shape or not finite, or if other samples are augmented.
        """
        if set(state) != set(_STATE):
            raise ValueError(f"state has {sorted(state)}, expected {sorted(_STATE)}")
        for name in _STATE:
            current = getattr(self, name)
            if state[name].shape != current.shape:
                raise ValueError(f"state: {name} has shape {tuple(state[name].shape)}, expected {tuple(current.shape)}")
            if not state[name].isfinite().all():
                raise ValueError(f"state: {name} is not finite throughout")
        if not torch.equal(state["is_augmented"].to(self.is_augmented), self.is_augmented):
            raise ValueError("state: other samples are augmented than here; make the weights as they were")
        for name in _STATE:
            setattr(self, name, state[name].to(getattr(self, name)))

    def _effective(self) -> Tensor:
        return self.weights * (1 - self.penalties)  # penalties of samples outside A are 0

    def _solver(self, stack: int) -> Any:
        options = self.options
        shared: dict[str, Any] = {"damping": options.damping, "iterations": options.iterations, "stack": stack}
        if options.solver == "neumann_series":
            return partial(neumann_series, step=options.neumann_step, **shared)
        return partial(conjugate_gradient, tolerance=options.tolerance, **shared)


_STATE = ("weights", "penalties", "weights_momentum", "penalties_momentum", "is_augmented")


def _check(start: Tensor, is_augmented: Tensor, penalty: float) -> None:
    if start.shape[-1:] == (0,) or not start.dtype.is_floating_point:
        raise ValueError(f"start: expected floats of shape (..., N), got {start.dtype} of shape {tuple(start.shape)}")
    if not start.isfinite().all() or (start < 0).any() or (start.sum(-1) <= 0).any():
        raise ValueError("start: weights must be finite and not negative, and some must be positive")
    if is_augmented.dtype != torch.bool or is_augmented.shape != start.shape:
        raise ValueError(
            f"is_augmented: expected bool of shape {tuple(start.shape)}, got {is_augmented.dtype} of shape "
            f"{tuple(is_augmented.shape)}"
        )
    if not 0 <= penalty <= 1:
        raise ValueError(f"penalty must be in [0, 1], not {penalty}")
