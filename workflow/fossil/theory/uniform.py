"""Classes of models instead of one: the uniform convergence bound and the consistency of the weighted minimiser."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtr
from torch import Tensor

from fossil.config.methods.fossil import FossilOptions
from fossil.methods.base import Progress
from fossil.theory.equation import Weigh, make_batch, trained_weights
from fossil.theory.generalisation import COPIES, LEVELS, class_weighted_sample, vanishes
from fossil.theory.statement import Outcome, loglog_slope, statement
from fossil.training.history import effective_sample_size

Array = NDArray[np.float64]
Classes = NDArray[np.int64]
Draw = Callable[[np.random.Generator, int, Classes], Array]
"""Draw inputs of shape (repeats, n) given the classes, shape (n,)."""

CENTRES = np.array([-0.75, 0.75])
"""Mean of the inputs of each class; their deviation is 1."""
THRESHOLDS = np.linspace(-3, 3, 25)

_SIZES = (30, 100, 300, 1000)
_REPEATS = 1000
_SIGNS = 200
_CONSTANTS = np.array([0.1, 0.5, 0.9])
_LEVEL = 0.05
_SAMPLES = (100, 1000, 10_000, 100_000)
_GRID = 1000


def independent_inputs(rng: np.random.Generator, repeats: int, classes: Classes) -> Array:
    """Draw inputs that do not depend on each other, shape (repeats, n)."""
    return rng.normal(size=(repeats, len(classes))) + CENTRES[classes]


@statement(
    "uniform-convergence",
    order=11,
    place="Appendix, Theorem (Uniform Convergence Bound)",
    claim="Over a class of models the largest gap between validation loss and weighted training loss is at most "
    "twice the weighted Rademacher complexity plus c sqrt(log(1/delta)/N_eff) with probability 1 - delta.",
    correction="The validation loss is unweighted and has another expectation. The largest deviation of the "
    "weighted mean from its own expectation is at most 2 R + sqrt(log(2/delta)/(2 N_eff)) with probability "
    "1 - delta, for independent losses in [0, 1] and weights that do not depend on them (McDiarmid: one loss moves "
    "it by w_i / sum w at most, and the squares of these sum to 1/N_eff).",
)
def uniform_convergence(
    *,
    seed: int,
    weigh: Weigh = trained_weights,
    draw: Draw = independent_inputs,
    count: Callable[[Tensor], Tensor] = effective_sample_size,
) -> Outcome:
    """Check uniform convergence with constant classifiers, and its corrected form with thresholds on one input."""
    rng = np.random.default_rng(seed)
    gaps, limits, counts = _printed_limits(rng, weigh)
    sides = [_Side.of(rng, n, weigh, draw, count) for n in _SIZES]
    mean = max(side.mean / (2 * side.complexity) for side in sides)
    above = {level: max(side.above_mean[level] for side in sides) for level in LEVELS}
    outside = {level: max(side.outside[level] for side in sides) for level in LEVELS}
    shares = ", ".join(f"{above[level]:.4f} and {outside[level]:.4f} at delta = {level:g}" for level in LEVELS)
    return Outcome(
        printed=vanishes(gaps, counts) or gaps[-1] <= limits[-1],
        corrected=mean <= 1
        and all(above[level] <= level / 2 for level in LEVELS)
        and all(outside[level] <= level for level in LEVELS),
        evidence=f"Three constant classifiers under class weights at 9:1 have the largest gap {gaps[-1]:.2f} at N_eff "
        f"= {counts[-1]:.0f}, where 2 R + sqrt(log(1/delta)/N_eff) is {limits[-1]:.4f} at delta = {_LEVEL:g} and falls "
        f"as N_eff to the power {loglog_slope(counts, limits):.2f}. Corrected, {len(THRESHOLDS)} thresholds on one "
        f"input with N from {_SIZES[0]} to {_SIZES[-1]}: the largest deviation to one side is on average at most "
        f"{mean:.2f} of 2 R, and the largest shares of {_REPEATS} samples in which it exceeds its average by the "
        f"square root (delta/2 allowed), and in which either side exceeds the whole (delta allowed), are {shares}.",
        measured=gaps[-1],
        bound=limits[-1],
    )


@statement(
    "consistency",
    order=12,
    place="Appendix, Corollary (Consistency)",
    claim="If the weighted Rademacher complexity vanishes, the validation loss of the weighted minimiser goes to "
    "its minimum.",
    correction="The weighted minimiser goes to the minimum of the validation loss that is weighted alike, which is "
    "not that of the unweighted one.",
)
def consistency(*, seed: int, weigh: Weigh = trained_weights, weigh_validation: Weigh | None = None) -> Outcome:
    """Check consistency with models that predict one probability, against both validation losses.

    ``weigh_validation`` weighs that validation loss, by default as ``weigh``.
    """
    chosen, losses, best, counts = [], [], 0.0, []
    for copies in COPIES:
        classes, weights = class_weighted_sample(copies, weigh)
        chosen.append(float(weights @ classes / weights.sum()))
        losses.append(log_loss(chosen[-1], float(classes.mean())))
        best = log_loss(float(classes.mean()), float(classes.mean()))
        counts.append(float(effective_sample_size(torch.from_numpy(weights))))
    excess = _weighted_excess(np.random.default_rng(seed), weigh, weigh_validation or weigh)
    slope = loglog_slope(_SAMPLES, np.maximum(excess, 1e-300))
    return Outcome(
        printed=vanishes([loss - best for loss in losses], counts),
        corrected=slope <= -0.8 and excess[-1] <= 1e-3,
        evidence=f"Of models that say one probability for class 1, at 9:1 with log loss and class weights, the "
        f"weighted minimiser says {chosen[-1]:.2f} and has the validation loss {losses[0]:.3f} at N_eff = "
        f"{counts[0]:.1f} and {losses[-1]:.3f} at {counts[-1]:.0f}; the smallest is {best:.3f}. Weighted alike, its "
        f"loss is above the minimum by {excess[0]:.1e} on average at N = {_SAMPLES[0]} and by {excess[-1]:.1e} at "
        f"{_SAMPLES[-1]}, which is as N to the power {slope:.2f}.",
        measured=losses[-1],
        bound=best,
    )


def log_loss(says: float, share: float) -> float:
    """Compute the mean log loss of predicting one probability, not 0 or 1, where class 1 has a share."""
    return -share * math.log(says) - (1 - share) * math.log(1 - says)


def threshold_risks(inputs: Array, classes: Classes, values: Array) -> Array:
    """Sum, over samples, values times the 0-1 loss of each threshold, which says class 1 above itself.

    Parameters
    ----------
    inputs, values : array, shape (repeats, n)

    Returns
    -------
    array, shape (repeats, thresholds)
    """
    places = np.searchsorted(THRESHOLDS, inputs)  # x <= threshold k if its place is at most k
    width, repeats = len(THRESHOLDS) + 1, len(inputs)
    offset = width * np.arange(repeats)[:, None]
    below: list[Array] = []
    for members in (classes == 0, classes == 1):
        summed = np.bincount(
            (places + offset)[:, members].ravel(), values[:, members].ravel(), minlength=width * repeats
        )
        below.append(np.cumsum(summed.reshape(repeats, width), axis=1, dtype=np.float64))
    return below[1][:, :-1] + below[0][:, -1:] - below[0][:, :-1]


class _Side:
    """The largest deviation of the weighted mean from its expectation to one side, over random samples of a size.

    Attributes
    ----------
    mean : float
        Its average.
    complexity : float
        Weighted Rademacher complexity R.
    above_mean, outside : dict
        For each level delta the share of samples in which it exceeds its average by sqrt(log(2/delta)/(2 N_eff)), and
        in which either side exceeds 2 R by that.
    """

    def __init__(self, up: Array, down: Array, complexity: float, n_eff: float) -> None:
        self.mean, self.complexity = max(float(up.mean()), float(down.mean())), complexity
        self.above_mean, self.outside = {}, {}
        for level in LEVELS:
            root = math.sqrt(math.log(2 / level) / (2 * n_eff))
            self.above_mean[level] = max(float((side - side.mean() > root).mean()) for side in (up, down))
            self.outside[level] = float((np.maximum(up, down) > 2 * complexity + root).mean())

    @classmethod
    def of(cls, rng: np.random.Generator, n: int, weigh: Weigh, draw: Draw, count: Callable[[Tensor], Tensor]) -> _Side:
        """Draw samples of n with fixed classes and weights."""
        classes = (rng.random(n) < 0.1).astype(np.int64)
        batch = make_batch(classes, counts=[9, 1], difficulty=rng.uniform(0, 0.5, size=n))
        weights = weigh(batch, FossilOptions(), Progress(10, 50))
        shares = np.tile((weights / weights.sum()).numpy(), (_REPEATS, 1))
        inputs = draw(rng, _REPEATS, classes)
        # P(loss = 1) of a sample: class 1 below the threshold, class 0 above it.
        chances = np.where(classes[:, None] == 1, 1, -1) * (THRESHOLDS - CENTRES[classes][:, None])
        deviations = threshold_risks(inputs, classes, shares) - shares[0] @ ndtr(chances)
        signed = threshold_risks(inputs, classes, shares * rng.choice([-1.0, 1.0], size=shares.shape))
        return cls(deviations.max(1), -deviations.min(1), float(signed.max(1).mean()), float(count(weights)))


def _printed_limits(rng: np.random.Generator, weigh: Weigh) -> tuple[list[float], list[float], list[float]]:
    """Compute the largest gap of three constant classifiers by class weights, the limit with c = 1, and N_eff."""
    losses = np.stack([_CONSTANTS**2, (1 - _CONSTANTS) ** 2])  # of classes 0 and 1
    gaps, limits, counts = [], [], []
    for copies in COPIES:
        classes, weights = class_weighted_sample(copies, weigh)
        normalised = weights / weights.sum()
        shares, weighted = np.bincount(classes) / len(classes), np.bincount(classes, normalised)
        gaps.append(float(np.abs((shares - weighted) @ losses).max()))
        sums = [np.bincount(classes, normalised * rng.choice([-1.0, 1.0], size=len(normalised))) for _ in range(_SIGNS)]
        complexity = float((np.array(sums) @ losses).max(axis=1).mean())
        counts.append(float(effective_sample_size(torch.from_numpy(weights))))
        limits.append(2 * complexity + math.sqrt(math.log(1 / _LEVEL) / counts[-1]))
    return gaps, limits, counts


def _weighted_excess(
    rng: np.random.Generator, weigh: Weigh, weigh_validation: Weigh, *, repeats: int = 40
) -> list[float]:
    """Compute for each size how far the weighted minimiser is on average above the smallest weighted validation loss.

    The validation sample has every difficulty of a grid in every class, so that there is no chance in it.
    """

    def weighted_share(classes: Classes, difficulty: Array, weigh_by: Weigh) -> float:
        batch = make_batch(classes, counts=[9, 1], difficulty=difficulty)
        weights = weigh_by(batch, FossilOptions(), Progress(10, 50)).double().numpy()
        return float(weights @ classes / weights.sum())

    grid = np.tile((np.arange(_GRID) + 0.5) / _GRID, 10)
    share = weighted_share(np.repeat([0, 1], [9 * _GRID, _GRID]), grid, weigh_validation)
    excess = []
    for n in _SAMPLES:
        chosen = [weighted_share((rng.random(n) < 0.1).astype(np.int64), rng.random(n), weigh) for _ in range(repeats)]
        says = np.clip(chosen, 0.01, 0.99)
        excess.append(float(np.mean([log_loss(p, share) for p in says])) - log_loss(share, share))
    return excess
