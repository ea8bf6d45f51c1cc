"""The gradient through the lower level, implicit and unrolled, and convexity of the upper level: Eq. 6, Thm 4.3.

The lower level is logistic regression in float64, solved by Newton's method until its gradient is rounding error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor

from fossil.hypergradient import (
    conjugate_gradient,
    gradient,
    hessian_vector_product,
    per_sample_jvp,
)
from fossil.theory.statement import Outcome, statement

Array = NDArray[np.float64]

RIDGE = 0.1

_STEP = 1e-5
_TOLERANCE = 1e-6
_SLACK = 1.01


@dataclass(frozen=True)
class Bilevel:
    """Training and validation rows, each x_i times its sign y_i in {-1, 1}, and a penalty on the parameters.

    Attributes
    ----------
    train : array, shape (n, p)
    validation : array, shape (m, p)
    is_augmented : array of bool, shape (n,)
    ridge : float
    """

    train: Array
    validation: Array
    is_augmented: NDArray[np.bool_]
    ridge: float = RIDGE

    def coefficients(self, weights: Array, penalties: Array) -> Array:
        """Compute w_i (1 - lambda_i 1{i in A}), shape (n,)."""
        return weights * (1 - penalties * self.is_augmented)

    def solve(self, coefficients: Array) -> Array:
        """Compute theta* of sum_i c_i l_i + ridge |theta|^2 / 2, shape (p,), by Newton's method with step halving."""
        theta = np.zeros(self.train.shape[1])
        for _ in range(50):
            chance = expit(-self.train @ theta)
            slope = -(coefficients * chance) @ self.train + self.ridge * theta
            if np.abs(slope).max() <= 1e-13:
                break
            curvature = (self.train * (coefficients * chance * (1 - chance))[:, None]).T @ self.train
            step = np.linalg.solve(curvature + self.ridge * np.eye(len(theta)), slope)
            length, limit = 1.0, self._objective(theta, coefficients) * (1 + 1e-12)
            while length > 1e-6 and self._objective(theta - length * step, coefficients) > limit:
                length /= 2
            theta = theta - length * step
        return theta

    def _objective(self, theta: Array, coefficients: Array) -> float:
        return float(coefficients @ np.logaddexp(0, -self.train @ theta) + self.ridge * theta @ theta / 2)

    def upper(self, weights: Array, penalties: Array | None = None) -> float:
        """Compute F(w, lambda): mean validation loss at theta*."""
        none = np.zeros(len(self.train))
        theta = self.solve(self.coefficients(weights, none if penalties is None else penalties))
        return float(np.logaddexp(0, -self.validation @ theta).mean())

    def sensitivities(self, coefficients: Array, at: Array | None = None) -> Array:
        """Compute <H^-1 grad L_val, grad l_i>, shape (n,), at theta* or elsewhere, as the training does."""
        train, validation, factors = (torch.from_numpy(part) for part in (self.train, self.validation, coefficients))
        theta = (torch.from_numpy(self.solve(coefficients) if at is None else at),)

        def objective(parameters: tuple[Tensor, ...]) -> Tensor:
            losses = _logistic(train, parameters)
            return (factors * losses).sum() + self.ridge * parameters[0].square().sum() / 2

        slope = gradient(lambda parameters: _logistic(validation, parameters).mean(), theta)
        solution = conjugate_gradient(
            hessian_vector_product(objective, theta), slope, damping=0.0, iterations=4 * len(theta[0]), tolerance=1e-14
        )
        return per_sample_jvp(lambda parameters: _logistic(train, parameters), theta, solution.solution).numpy()

    def smoothness(self, coefficients: Array) -> float:
        """Bound the eigenvalues of the lower level's Hessian everywhere, since a logistic slope is <= 1/4."""
        return float(np.linalg.eigvalsh((self.train * coefficients[:, None]).T @ self.train)[-1] / 4 + self.ridge)

    def curvature(self, coefficients: Array) -> float:
        """Compute the smallest eigenvalue of the lower level's Hessian at theta*."""
        chance = expit(-self.train @ self.solve(coefficients))
        hessian = (self.train * (coefficients * chance * (1 - chance))[:, None]).T @ self.train
        return float(np.linalg.eigvalsh(hessian)[0] + self.ridge)

    def unroll(self, coefficients: Array, *, steps: int, size: float) -> tuple[Array, Array]:
        """Take steps of gradient descent from 0: parameters (p,), and dL_val/dc through the steps, shape (n,)."""
        train, validation = torch.from_numpy(self.train), torch.from_numpy(self.validation)
        factors = torch.from_numpy(coefficients).clone().requires_grad_()
        theta = torch.zeros(train.shape[1], dtype=torch.float64)
        for _ in range(steps):
            chance = torch.sigmoid(-(train @ theta))
            theta = theta - size * (self.ridge * theta - (factors * chance) @ train)
        (slope,) = torch.autograd.grad(_logistic(validation, (theta,)).mean(), factors)
        return theta.detach().numpy(), slope.numpy()


def random_bilevel(rng: np.random.Generator, *, n: int, features: int, ridge: float = RIDGE) -> Bilevel:
    """Draw a problem of which a line does not separate the classes."""

    def rows(count: int) -> Array:
        signs = rng.choice([-1.0, 1.0], size=count)
        return signs[:, None] * (rng.normal(size=(count, features)) + 0.5 * signs[:, None])

    return Bilevel(rows(n), rows(n), rng.random(n) < 0.5, ridge)


@statement(
    "hypergradient",
    order=19,
    place="Eq. 6; appendix, Hypergradient Derivation",
    claim="dF/dw is minus the mixed derivative of the training loss times the inverse Hessian times grad L_val.",
)
def hypergradient(*, seed: int) -> Outcome:
    """Check Eq. 6 for the weights, against differences of the re-solved lower level."""
    rng = np.random.default_rng(seed)
    problem = random_bilevel(rng, n=40, features=4)
    weights = rng.uniform(0.2, 1.5, size=40)
    implicit = -problem.sensitivities(weights)
    error = _relative_error(implicit, _differences(problem.upper, weights))
    return Outcome(
        printed=error <= _TOLERANCE,
        evidence=f"Ridge logistic regression with 40 samples: the relative difference from central differences of the "
        f"re-solved lower level is {error:.1e}.",
        measured=error,
        bound=_TOLERANCE,
    )


@statement(
    "hypergradient-penalties",
    order=20,
    place="Eq. 6 with Theorem 3.1's objective",
    claim="The same formula gives a gradient with respect to the penalties lambda.",
    correction="The printed training loss holds no lambda, so its mixed derivative is zero. With L = sum_i w_i "
    "(1 - lambda_i 1{i in A}) l_i the formula is right.",
)
def hypergradient_of_penalties(*, seed: int) -> Outcome:
    """Check Eq. 6 for the penalties: as printed, where L_train holds no lambda, and with w (1 - lambda) l."""
    rng = np.random.default_rng(seed)
    problem = random_bilevel(rng, n=40, features=4)
    weights, penalties = rng.uniform(0.2, 1.5, size=40), rng.uniform(0.1, 0.9, size=40)
    measured = _differences(lambda values: problem.upper(weights, values), penalties)
    implicit = weights * problem.is_augmented * problem.sensitivities(problem.coefficients(weights, penalties))
    error = _relative_error(implicit, measured)
    # The printed loss holds no lambda: these differences are 0 by construction.
    without = Bilevel(problem.train, problem.validation, np.zeros(40, dtype=bool))
    printed = _differences(lambda values: without.upper(weights, values), penalties)
    return Outcome(
        printed=bool((printed != 0).any()) and error <= _TOLERANCE,
        corrected=error <= _TOLERANCE,
        evidence="That the formula gives zero for the printed loss is an argument, not a measurement: no lambda is in "
        "it, so that nothing can change with lambda. For the penalised loss the relative difference of the formula "
        f"from central differences of the re-solved lower level is {error:.1e}.",
        measured=error,
        bound=_TOLERANCE,
    )


@statement(
    "truncated-implicit",
    order=22,
    place="Appendix, Hypergradient Derivation, Truncated vs. Implicit",
    claim="Backpropagation through K unrolled steps of the lower level approximates the exact implicit formula, "
    "with an error that falls geometrically with K.",
)
def truncated_implicit(*, seed: int, stretch: float = 1.0, steps: tuple[int, ...] = (10, 20, 40, 60)) -> Outcome:
    """Check how unrolled and implicit hypergradients approach each other with the number of steps, of size stretch/L.

    Near the minimum one step shrinks parameters, and with them the difference, by the factor 1 - mu/L, with mu the
    smallest curvature there; the derivative of theta_K has another factor K.
    """
    rng = np.random.default_rng(seed)
    problem = random_bilevel(rng, n=40, features=4, ridge=1.0)
    weights = rng.uniform(0.2, 1.5, size=40)
    smoothness = problem.smoothness(weights)
    implicit = -problem.sensitivities(weights)
    errors = [
        _relative_error(problem.unroll(weights, steps=count, size=stretch / smoothness)[1], implicit) for count in steps
    ]
    shrinkage = 1 - problem.curvature(weights) / smoothness
    measured = (errors[-1] / errors[-2]) ** (1 / (steps[-1] - steps[-2]))
    limit = _SLACK * shrinkage * (steps[-1] / steps[-2]) ** (1 / (steps[-1] - steps[-2]))
    listed = ", ".join(f"{error:.1e} after {count}" for error, count in zip(errors, steps, strict=True))
    return Outcome(
        printed=bool((np.diff(errors) < 0).all()) and measured <= limit,
        evidence=f"Ridge logistic regression with 40 samples, steps of gradient descent of size 1/L: the relative "
        f"difference from the implicit hypergradient is {listed} steps. Over the last steps it shrinks by the factor "
        f"{measured:.3f} a step; with 1 - mu/L = {shrinkage:.3f}, a factor K and {_SLACK:g} {limit:.3f} is allowed.",
        measured=measured,
        bound=limit,
    )


def one_step_error(*, seed: int) -> float:
    """Compute how far Algorithm 1's direction, Eq. 6 after a step, is from the gradient of its loss through that step.

    The relative difference of the derivative of L_val(theta_{t+1}) by the weights from the nearest multiple of Eq. 6 at
    theta_{t+1}, which is the sine of the angle between them.
    """
    rng = np.random.default_rng(seed)
    problem = random_bilevel(rng, n=40, features=4)
    weights = rng.uniform(0.2, 1.5, size=40)
    theta, slope = problem.unroll(weights, steps=1, size=1 / problem.smoothness(weights))
    direction = -problem.sensitivities(weights, at=theta)
    return _relative_error(direction * (direction @ slope) / (direction @ direction), slope)


@statement(
    "null-direction",
    order=21,
    place="Not in the paper; why Algorithm 1 projects onto a simplex",
    claim="Without a penalty on the parameters the scale of the weights is a null direction of the hypergradient.",
)
def null_direction(*, seed: int) -> Outcome:
    """Check that without a ridge the scale of the weights does not move theta*, so that <w, dF/dw> = 0."""
    rng = np.random.default_rng(seed)
    problem = random_bilevel(rng, n=60, features=3, ridge=0.0)
    weights = rng.uniform(0.2, 1.5, size=60)
    slope = -problem.sensitivities(weights)
    share = abs(float(weights @ slope)) / float(np.abs(weights * slope).sum())
    moved = float(np.abs(problem.solve(3 * weights) - problem.solve(weights)).max())
    return Outcome(
        printed=share <= 1e-9 and moved <= 1e-9,
        evidence=f"|sum_i w_i dF/dw_i| is {share:.0e} of sum_i |w_i dF/dw_i|, and weights three times as large move "
        f"the solution by {moved:.0e}. Hence the weights are projected onto a set of fixed sum.",
        measured=share,
        bound=1e-9,
    )


@statement(
    "theorem-4.3-convexity",
    order=18,
    place="Theorem 4.3, assumption on f_t",
    claim="The upper loss F(w) = L_val(theta*(w)) is convex in the weights.",
    correction="F is not convex in w in general, so that the assumption fails even where the lower level is solved "
    "exactly. Convexity alone would not be enough to carry the theorem over to Algorithm 1 either, whose momentum, "
    "approximate hypergradients and one-step lower level the proof does not treat.",
)
def convexity(*, seed: int, problems: int = 30, pairs: int = 40) -> Outcome:
    """Check the assumption of Theorem 4.3: look for weights on the simplex where F at the middle is above the chord."""
    rng = np.random.default_rng(seed)
    largest, violations = -np.inf, 0
    for _ in range(problems):
        problem = random_bilevel(rng, n=6, features=2)
        for _ in range(pairs):
            one, two = rng.dirichlet(np.full(6, 0.5), size=2)
            chord = (problem.upper(one) + problem.upper(two)) / 2
            excess = (problem.upper((one + two) / 2) - chord) / chord
            largest, violations = max(largest, excess), violations + (excess > 1e-9)
    return Outcome(
        printed=violations == 0,
        evidence=f"Ridge logistic regression with 6 samples: for {violations} of {problems * pairs} pairs of weights "
        f"on the simplex F at the middle lies above the chord, by up to {100 * largest:.1f}% of it.",
        measured=largest,
        bound=0.0,
    )


def _logistic(rows: Tensor, parameters: tuple[Tensor, ...]) -> Tensor:
    return torch.nn.functional.softplus(-(rows @ parameters[0]))


def _differences(function: Callable[[Array], float], values: Array) -> Array:
    """Compute central differences of a function of an array, shape (n,)."""
    slopes = np.empty_like(values)
    for i in range(len(values)):
        shift = np.zeros_like(values)
        shift[i] = _STEP
        slopes[i] = (function(values + shift) - function(values - shift)) / (2 * _STEP)
    return slopes


def _relative_error(computed: Array, expected: Array) -> float:
    return float(np.linalg.norm(computed - expected) / np.linalg.norm(expected))
