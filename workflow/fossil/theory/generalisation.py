"""The gap between weighted training loss and validation loss of one model: Theorem 4.2."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from fossil.config.methods.fossil import FossilOptions
from fossil.config.methods.temperature import TemperatureOptions
from fossil.methods.base import Progress
from fossil.theory.equation import Weigh, make_batch, trained_weights
from fossil.theory.runs import describe_gaps
from fossil.theory.statement import Outcome, loglog_slope, statement
from fossil.training.history import effective_sample_size

SIZES = (30, 100, 300, 1000, 3000)
LEVELS = (0.5, 0.2, 0.05)
REPEATS = 4000
COPIES = (1, 10, 100, 1000, 10_000)
"""Tens of samples with 9:1 classes."""

_RATE = -0.4


@statement(
    "theorem-4.2",
    order=9,
    place="Theorem 4.2, Eq. 5",
    claim="The gap between validation loss and weighted training loss is of order 1/sqrt(N_eff).",
    correction="The validation loss is unweighted and has another expectation. What is of order 1/sqrt(N_eff) is "
    "the deviation of the weighted mean from its own expectation, at fixed parameters and with weights that do not "
    "depend on the losses: for losses in [0, 1] it exceeds sqrt(log(2/delta)/(2 N_eff)) with probability delta at "
    "most (Hoeffding).",
)
def theorem_4_2(
    *,
    seed: int,
    weigh: Weigh = trained_weights,
    runs: pd.DataFrame | None = None,
    comparable: Sequence[str] | None = None,
) -> Outcome:
    """Check Theorem 4.2 with a constant classifier, and its corrected form by drawing losses.

    The evidence also describes ``runs``, if given (see ``runs.describe_gaps``).
    """
    gaps, counts = constant_classifier_gaps(weigh)
    ratios, exceedances = _deviations(seed, weigh)
    within = all(share <= level for level, share in exceedances.items())
    scaled = float(np.abs(np.array(ratios) - 1).max())
    shares = ", ".join(f"{share:.4f} at delta = {level:g}" for level, share in exceedances.items())
    return Outcome(
        printed=vanishes(gaps, counts),
        corrected=within and scaled <= 0.05,
        evidence=f"A constant classifier under class weights at 9:1 has the gap {gaps[0]:.2f} at N_eff = "
        f"{counts[0]:.1f} and {gaps[-1]:.2f} at {counts[-1]:.0f}. The deviation from its own expectation has sd "
        f"sqrt(N_eff)/sigma within {scaled:.3f} of 1 for N from {SIZES[0]} to {SIZES[-1]}, and exceeds the limit in "
        f"a share of {shares} at most." + ("" if runs is None else describe_gaps(runs, comparable=comparable)),
        measured=gaps[-1],
        bound=gaps[0] * math.sqrt(counts[0] / counts[-1]),
    )


def vanishes(values: Sequence[float], counts: Sequence[float]) -> bool:
    """Return whether values are 0, or fall about as 1/sqrt(N_eff) or faster."""
    return max(values) <= 1e-12 or loglog_slope(counts, np.maximum(values, 1e-300)) <= _RATE


def constant_classifier_gaps(weigh: Weigh = trained_weights) -> tuple[list[float], list[float]]:
    """Compute gap and N_eff of a model that always predicts .1, under class weights, for growing samples at 9:1.

    The loss is the squared error of the probability; every sample has the classes in the proportion of the population,
    so that nothing in the gap is chance.
    """
    losses = np.array([0.1**2, 0.9**2])
    gaps, counts = [], []
    for copies in COPIES:
        classes, weights = class_weighted_sample(copies, weigh)
        sampled = losses[classes]
        gaps.append(abs(float(sampled.mean()) - float(weights @ sampled / weights.sum())))
        counts.append(float(effective_sample_size(torch.from_numpy(weights))))
    return gaps, counts


def class_weighted_sample(copies: int, weigh: Weigh = trained_weights) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return classes in the proportion 9:1 and their class weights, both of shape (10 copies,)."""
    options = FossilOptions(temperature=TemperatureOptions(schedule="infinite"), gamma_initial=0.0)
    classes = np.repeat([0, 1], [9 * copies, copies])
    batch = make_batch(classes, counts=[9 * copies, copies], difficulty=np.zeros(len(classes)))
    return classes, weigh(batch, options, Progress(40, 50)).double().numpy()


def _deviations(seed: int, weigh: Weigh) -> tuple[list[float], dict[float, float]]:
    """Compute sd sqrt(N_eff) / sigma for each size, and for each level the largest share of deviations above it."""
    rng = np.random.default_rng(seed)
    ratios: list[float] = []
    exceedances = dict.fromkeys(LEVELS, 0.0)
    for n in SIZES:
        classes = (rng.random(n) < 0.1).astype(int)
        batch = make_batch(classes, counts=[9, 1], difficulty=rng.uniform(0, 0.5, size=n))
        weights = weigh(batch, FossilOptions(), Progress(10, 50))
        n_eff = float(effective_sample_size(weights))
        normalised = (weights / weights.sum()).numpy()
        for losses, sigma in ((_coins, 0.5), (_uniform, 1 / math.sqrt(12))):
            deviations = np.array([normalised @ losses(rng, n) for _ in range(REPEATS)])
            ratios.append(float(deviations.std()) * math.sqrt(n_eff) / sigma)
            for level in LEVELS:
                limit = math.sqrt(math.log(2 / level) / (2 * n_eff))
                exceedances[level] = max(exceedances[level], float((np.abs(deviations) > limit).mean()))
    return ratios, exceedances


def _coins(rng: np.random.Generator, n: int) -> NDArray[np.floating]:
    return rng.integers(2, size=n).astype(np.float64) - 0.5


def _uniform(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    return rng.random(n) - 0.5
