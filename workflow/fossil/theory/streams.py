"""Projected online gradient descent on streams of convex losses, and its regret after every round.

The steps are eta_t = D / (G sqrt t) as in Theorem 4.3, with G the bound on the gradients and D the diameter of the
domain. The best fixed point is exact: of linear losses an extreme point, of quadratic ones the mean of their centres,
of absolute ones a centre.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIMENSION = 5

SELDOM, OFTEN = "T^(1/4) jumps", "T^(1/2) jumps"
"""Names of the two jumping streams."""

_GRID = np.linspace(-1, 1, 11)


@dataclass(frozen=True)
class Trace:
    """The regret of descent on a stream.

    Attributes
    ----------
    name : str
    regret : array, shape (T,)
        Cumulative regret after 1, ..., T rounds.
    gradient_bound, diameter : float
        G and D.
    path_length : array, shape (T,), or None
        P_T of the comparators so far; None for regret against the best fixed point of the rounds so far.
    """

    name: str
    regret: Array
    gradient_bound: float
    diameter: float
    path_length: Array | None = None

    @property
    def rounds(self) -> Array:
        """Return 1, ..., T."""
        return np.arange(1, len(self.regret) + 1, dtype=np.float64)

    def static_bound(self) -> Array:
        """Compute 1.5 G D sqrt(T), with the constant of the proof."""
        return 1.5 * self.gradient_bound * self.diameter * np.sqrt(self.rounds)

    def dynamic_bound(self) -> Array:
        """Compute 1.5 G D sqrt(T) + G sqrt(T) P_T, the proof's bound before its last step."""
        assert self.path_length is not None
        return self.static_bound() + self.gradient_bound * np.sqrt(self.rounds) * self.path_length

    def printed_rate(self) -> Array:
        """Compute G D sqrt(T) + G P_T: the printed order, with the units that make it a loss."""
        assert self.path_length is not None
        return self.gradient_bound * (self.diameter * np.sqrt(self.rounds) + self.path_length)


def static_traces(*, seed: int, rounds: int) -> list[Trace]:
    """Compute regret against the best fixed point on five streams; in two an adversary sees the iterate."""
    rng = np.random.default_rng(seed)
    return [
        sign_flips(rounds),
        adversarial_ball(rounds, rng),
        drifting_quadratics(rounds, rng)[0],
        simplex_costs(rounds, rng),
        absolute_losses(rounds, rng),
    ]


def dynamic_traces(*, seed: int, rounds: int) -> list[Trace]:
    """Compute regret against centres that drift, and against ones that jump T^(1/4) and sqrt(T) times."""
    return [
        drifting_quadratics(rounds, np.random.default_rng(seed))[1],
        jumping_stream(rounds, name=SELDOM, power=4),
        jumping_stream(rounds, name=OFTEN, power=2),
    ]


def descend(
    start: Array, rounds: int, gradient: Callable[[int, Array], Array], project: Callable[[Array], Array], scale: float
) -> tuple[Array, Array]:
    """Follow x_{t+1} = project(x_t - scale / sqrt(t) g_t): points and gradients, both of shape (rounds, n)."""
    points, slopes = np.empty((rounds, len(start))), np.empty((rounds, len(start)))
    x = start
    for t in range(1, rounds + 1):
        g = gradient(t, x)
        points[t - 1], slopes[t - 1] = x, g
        x = project(x - scale / math.sqrt(t) * g)
    return points, slopes


def sign_flips(rounds: int) -> Trace:
    """Descend on f_t(x) = s_t x on [-1, 1], with the sign s_t that hurts the current point."""
    points, slopes = descend(
        np.zeros(1), rounds, lambda t, x: np.where(x >= 0, 1.0, -1.0), lambda x: x.clip(-1, 1), scale=2.0
    )
    return Trace("adversarial signs", _linear_regret(points, slopes, _ball_best), 1.0, 2.0)


def adversarial_ball(rounds: int, rng: np.random.Generator) -> Trace:
    """Descend on linear losses on the unit ball: a random direction, with the sign that hurts the current point."""
    directions = rng.normal(size=(rounds, DIMENSION))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    points, slopes = descend(
        np.zeros(DIMENSION),
        rounds,
        lambda t, x: directions[t - 1] if directions[t - 1] @ x >= 0 else -directions[t - 1],
        project_ball,
        scale=2.0,
    )
    return Trace("adversary on the ball", _linear_regret(points, slopes, _ball_best), 1.0, 2.0)


def drifting_quadratics(rounds: int, rng: np.random.Generator) -> tuple[Trace, Trace]:
    """Descend on f_t(x) = |x - z_t|^2 / 2 on the unit ball: regret against the best point, and against z_t.

    The centre z_t wanders by steps of about t^(-3/4), so that P_T is of order T^(1/4).
    """
    steps = rng.normal(size=(rounds, DIMENSION)) * np.arange(1, rounds + 1)[:, None] ** -0.75 / 4
    centres = np.empty_like(steps)
    z = np.zeros(DIMENSION)
    for t, step in enumerate(steps):
        z = project_ball(z + step)
        centres[t] = z
    points, _ = descend(np.zeros(DIMENSION), rounds, lambda t, x: x - centres[t - 1], project_ball, scale=1.0)
    losses = np.cumsum(((points - centres) ** 2).sum(axis=1) / 2)
    sums, squares = np.cumsum(centres, axis=0), np.cumsum((centres**2).sum(axis=1))
    best = (squares - (sums**2).sum(axis=1) / np.arange(1, rounds + 1)) / 2  # at the mean, which lies in the ball
    return (
        Trace("drifting quadratics", losses - best, 2.0, 2.0),
        Trace("drifting quadratics", losses, 2.0, 2.0, _path_length(centres)),
    )


def simplex_costs(rounds: int, rng: np.random.Generator) -> Trace:
    """Descend on linear losses on the simplex with random costs of 0 or 1."""
    costs = rng.integers(2, size=(rounds, DIMENSION)).astype(np.float64)
    bound, diameter = math.sqrt(DIMENSION), math.sqrt(2)
    points, slopes = descend(
        np.full(DIMENSION, 1 / DIMENSION), rounds, lambda t, x: costs[t - 1], project_simplex, scale=diameter / bound
    )
    return Trace(
        "random costs on the simplex", _linear_regret(points, slopes, lambda sums: sums.min(axis=1)), bound, diameter
    )


def absolute_losses(rounds: int, rng: np.random.Generator) -> Trace:
    """Descend on f_t(x) = |x - c_t| on [-1, 1] with c_t drawn from eleven values, one of which is a best point."""
    centres = rng.choice(_GRID, size=rounds)
    points, _ = descend(
        np.ones(1), rounds, lambda t, x: np.sign(x - centres[t - 1]), lambda x: x.clip(-1, 1), scale=2.0
    )
    best = np.cumsum(np.abs(_GRID[None, :] - centres[:, None]), axis=0).min(axis=1)
    return Trace("absolute losses", np.cumsum(np.abs(points[:, 0] - centres)) - best, 1.0, 2.0)


def jumping_stream(rounds: int, *, name: str, power: int) -> Trace:
    """Descend on |x - c_t| on [-1, 1], where c_t = 1 or -1 jumps at 2^power, 3^power, ...: about T^(1/power) times."""
    jumps = np.floor(np.arange(1, rounds + 1) ** (1 / power) + 1e-9).astype(int)
    centres = np.where(jumps % 2 == 1, 1.0, -1.0)
    points, _ = descend(
        np.full(1, -1.0), rounds, lambda t, x: np.sign(x - centres[t - 1]), lambda x: x.clip(-1, 1), scale=2.0
    )
    losses = np.cumsum(np.abs(points[:, 0] - centres))
    return Trace(name, losses, 1.0, 2.0, _path_length(centres[:, None]))


def project_ball(x: Array) -> Array:
    """Return the nearest point of the unit ball, shape (n,)."""
    norm = math.sqrt(float(x @ x))
    return x if norm <= 1 else x / norm


def project_simplex(x: Array) -> Array:
    """Return the nearest point of the simplex, shape (n,); in NumPy, where a short step is faster than in torch."""
    ordered = np.sort(x)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(x) + 1)
    threshold = excess[np.count_nonzero(ordered > excess) - 1]
    return np.maximum(x - threshold, 0)


def _linear_regret(points: Array, slopes: Array, best: Callable[[Array], Array]) -> Array:
    """Compute the regret of linear losses <g_t, x_t>; ``best`` gives the smallest <sum g, x> on the domain."""
    return np.cumsum((points * slopes).sum(axis=1)) - best(np.cumsum(slopes, axis=0))


def _ball_best(sums: Array) -> Array:
    return -np.linalg.norm(sums, axis=1)


def _path_length(comparators: Array) -> Array:
    moves = np.linalg.norm(np.diff(comparators, axis=0), axis=1)
    return np.concatenate([[0.0], np.cumsum(moves)])
