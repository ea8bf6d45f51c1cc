"""Boundedness and minimum of the objective: Theorem 3.1 and Proposition 4.1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from fossil.config.methods.fossil import FossilOptions
from fossil.methods.base import Progress
from fossil.theory.equation import Weigh, make_batch, trained_weights
from fossil.theory.statement import Outcome, loglog_slope, statement

RADIUS = 3.0
ROUNDS = 100_000

_COUNTS = (45, 15)
_EPOCHS = 50
_ROUNDING = 1e-9


@statement(
    "theorem-3.1",
    order=3,
    place="Theorem 3.1, Eq. 4",
    claim="On a compact parameter set the weighted objective is bounded by sum_i sup l_i / (K p(y_i)) and attains "
    f"its minimum, in each of {_EPOCHS} epochs.",
)
def theorem_3_1(*, seed: int, weigh: Weigh = trained_weights) -> Outcome:
    """Check Theorem 3.1 by weighted logistic regression on a ball."""
    inputs, signs, classes, rng = _problem(seed)
    caps = sum(_COUNTS) / (2 * np.array(_COUNTS))[classes]
    length = np.linalg.norm(inputs, axis=1)
    highest = caps * np.logaddexp(0, RADIUS * length)
    points = rng.normal(size=(300, inputs.shape[1]))
    points = np.concatenate([points, -signs[:, None] * inputs])
    points *= RADIUS / np.linalg.norm(points, axis=1, keepdims=True)
    losses = np.logaddexp(0, -points @ (signs[:, None] * inputs).T)
    largest, share, worst_gap = 0.0, 0.0, 0.0
    for epoch in range(_EPOCHS):
        weights = _weights(weigh, classes, rng.uniform(size=len(classes)), epoch)
        largest = max(largest, float((losses @ weights).max()))
        share = max(share, float((losses * weights / highest).max()))
        worst_gap = max(worst_gap, duality_gap(inputs, signs, weights, radius=RADIUS))
    return Outcome(
        printed=share <= 1 + _ROUNDING and worst_gap <= 1e-8,
        evidence=f"Logistic regression on a ball of radius {RADIUS:g}: at {len(points)} parameters, those of each "
        f"sample's largest loss among them, no term is above {share:.3f} of its sup l_i / (K p(y_i)), and the largest "
        f"objective is {largest:.1f}, the bound {highest.sum():.1f}. Projected gradient descent ends in the ball "
        f"within {worst_gap:.0e} of the infimum, by the duality gap.",
        measured=share,
        bound=1.0,
    )


@statement(
    "theorem-3.1-divergence",
    order=4,
    place="Theorem 3.1, last sentence, asked without Assumption 1 (iii), which the theorem makes",
    claim="Bounded weights by themselves give a minimiser and keep the optimisation from diverging.",
    correction="A minimiser needs the compact set, or a penalty on the parameters, that Assumption 1 (iii) asks for.",
)
def theorem_3_1_divergence(*, seed: int, weigh: Weigh = trained_weights, turned: int = 0) -> Outcome:
    """Check the last sentence of Theorem 3.1 on separable data, without the theorem's assumption.

    With ``turned`` signs flipped no line separates the data, and a minimiser exists.
    """
    inputs, _, classes, rng = _problem(seed)
    direction = np.ones(inputs.shape[1])
    signs = np.where(inputs @ direction >= 0, 1.0, -1.0)
    inputs = inputs + 0.2 * signs[:, None] * direction  # now the data are separable, with a margin
    signs[:turned] *= -1
    weights = _weights(weigh, classes, rng.uniform(size=len(classes)), _EPOCHS // 2)
    margins = signs * (inputs @ direction)
    lengths = np.geomspace(1, 500 / np.abs(margins).max(), 40)
    losses = np.array([weights @ np.logaddexp(0, -length * margins) for length in lengths])
    vanishing = bool((losses > 0).all()) and bool((np.diff(losses) < 0).all()) and losses[-1] < 1e-6 * losses[0]
    norms = _free_descent(inputs, signs, weights, steps=[100, 10_000])
    return Outcome(
        printed=not (vanishing and norms[1] > 1.5 * norms[0]),
        evidence=f"On separable data the objective goes along a ray from {losses[0]:.2g} at length "
        f"{lengths[0] * np.sqrt(len(direction)):.1f} to {losses[-1]:.2g} at "
        f"{lengths[-1] * np.sqrt(len(direction)):.0f}; the parameters of plain gradient descent have length "
        f"{norms[0]:.1f} after 100 steps and {norms[1]:.1f} after 10000.",
        measured=losses[-1] / losses[0],
    )


@statement(
    "proposition-4.1",
    order=8,
    place="Proposition 4.1",
    claim="Weighted gradients and the cumulative weighted loss stay uniformly bounded.",
    correction="Each round's weighted gradient is at most G/(K p(y)) and the cumulative loss at most linear in the "
    "number of rounds, as the proof itself says; it is not bounded uniformly in that number.",
)
def proposition_4_1(*, seed: int, weigh: Weigh = trained_weights) -> Outcome:
    """Check Proposition 4.1: compute weighted gradients and the cumulative loss over many rounds."""
    inputs, signs, classes, rng = _problem(seed)
    inputs /= np.linalg.norm(inputs, axis=1, keepdims=True)  # so that |grad l| <= G = 1
    caps = sum(_COUNTS) / (2 * np.array(_COUNTS))[classes]
    points = rng.normal(size=(ROUNDS, inputs.shape[1]))
    points *= RADIUS * rng.random((ROUNDS, 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    chosen = rng.integers(len(classes), size=ROUNDS)
    weights = _weights(weigh, classes, rng.uniform(size=len(classes)), _EPOCHS // 2)[chosen]
    margins = signs[chosen] * (points * inputs[chosen]).sum(axis=1)
    slopes = weights * expit(-margins) / caps[chosen]  # over G / (K p)
    cumulative = np.cumsum(weights * np.logaddexp(0, -margins))
    rounds = np.arange(1, ROUNDS + 1)
    most = caps.max() * np.logaddexp(0, RADIUS)
    exponent = loglog_slope(rounds[ROUNDS // 100 :: 100], cumulative[ROUNDS // 100 :: 100])
    return Outcome(
        printed=exponent < 0.05,
        corrected=slopes.max() <= 1 and bool((cumulative <= most * rounds).all()),
        evidence=f"Over {ROUNDS} rounds the largest weighted gradient is {slopes.max():.2f} of G/(K p(y)); the "
        f"cumulative loss grows from {cumulative[ROUNDS // 100 - 1]:.0f} after {ROUNDS // 100} rounds to "
        f"{cumulative[-1]:.0f}, as the number of rounds to the power {exponent:.2f}.",
        measured=exponent,
        bound=1.0,
    )


def duality_gap(
    inputs: NDArray[np.float64], signs: NDArray[np.float64], weights: NDArray[np.float64], *, radius: float
) -> float:
    """Bound how far projected gradient descent ends from the infimum of weighted logistic regression on a ball.

    For a convex objective that is max over the ball of <grad, theta - z> = <grad, theta> + radius |grad|.
    """
    rows = signs[:, None] * inputs
    step = 4 / (weights @ (rows**2).sum(axis=1))
    theta = np.zeros(inputs.shape[1])
    gap = np.inf
    for _ in range(20_000):
        slope = -(weights * expit(-rows @ theta)) @ rows
        gap = float(slope @ theta + radius * np.linalg.norm(slope))
        if gap <= 1e-10:
            break
        theta = theta - step * slope
        theta *= min(1.0, radius / np.linalg.norm(theta))
    return gap


def _free_descent(
    inputs: NDArray[np.float64], signs: NDArray[np.float64], weights: NDArray[np.float64], *, steps: list[int]
) -> list[float]:
    """Compute the length of the parameters after some numbers of steps of gradient descent without a constraint."""
    rows = signs[:, None] * inputs
    step = 4 / (weights @ (rows**2).sum(axis=1))
    theta, norms = np.zeros(inputs.shape[1]), []
    for number in range(1, max(steps) + 1):
        theta = theta + step * (weights * expit(-rows @ theta)) @ rows
        if number in steps:
            norms.append(float(np.linalg.norm(theta)))
    return norms


def _problem(
    seed: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], np.random.Generator]:
    """Draw inputs (n, 3), signs (n,) and classes (n,); returned with the generator."""
    rng = np.random.default_rng(seed)
    classes = np.repeat([0, 1], _COUNTS)
    signs = 2.0 * classes - 1
    inputs = rng.normal(size=(len(classes), 3)) + 0.5 * signs[:, None]
    return inputs, signs, classes, rng


def _weights(
    weigh: Weigh, classes: NDArray[np.int64], difficulty: NDArray[np.float64], epoch: int
) -> NDArray[np.float64]:
    batch = make_batch(classes, counts=_COUNTS, difficulty=difficulty)
    return weigh(batch, FossilOptions(), Progress(epoch, _EPOCHS)).numpy()
