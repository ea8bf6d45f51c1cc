"""The effective sample size N_eff = (sum w)^2 / sum w^2: its range, the variance it stands for, and Corollary 4.1."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from fossil.config.methods.temperature import TemperatureOptions
from fossil.methods.base import Progress
from fossil.theory.equation import Weigh, constant_options, make_batch, trained_weights
from fossil.theory.runs import describe_shares
from fossil.theory.statement import Outcome, loglog_slope, statement
from fossil.training.history import effective_sample_size

SIZES = (10, 100, 1000, 10_000, 100_000)

_ROUNDING = 1e-9


def kantorovich_share(ratio: float) -> float:
    """Compute the smallest N_eff/N of weights whose smallest is ``ratio`` times the largest: 4r/(1 + r)^2."""
    return 4 * ratio / (1 + ratio) ** 2


_COLDEST = TemperatureOptions().minimum
_VACUOUS = kantorovich_share(math.exp(-1 / _COLDEST))


@statement(
    "n-eff-range",
    order=13,
    place="Theorem 4.2; appendix, Effective Sample Size",
    claim="The effective sample size lies between 1 and N, and is N exactly if all weights are equal.",
)
def n_eff_range(*, seed: int, count: Callable[[Tensor], Tensor] = effective_sample_size) -> Outcome:
    """Check the range of N_eff on random and on equal weights."""
    rng = np.random.default_rng(seed)
    shares, smallest, gap = [], math.inf, 0.0
    for _ in range(500):
        n = int(rng.integers(2, 200))
        weights = rng.uniform(size=n) ** rng.uniform(0.1, 40)
        counted = float(count(torch.from_numpy(weights)))
        shares.append(counted / n)
        smallest = min(smallest, counted)
        # N / N_eff - 1 is the squared coefficient of variation, which is 0 only for equal weights.
        gap = max(gap, abs(n / counted / (1 + float(np.var(weights / weights.mean()))) - 1))
    equal = max(abs(float(count(torch.full((n,), 0.3, dtype=torch.float64))) / n - 1) for n in (1, 2, 7, 1000))
    within = smallest >= 1 - _ROUNDING and max(shares) <= 1 + _ROUNDING
    return Outcome(
        printed=within and equal <= _ROUNDING and gap <= 1e-6,
        evidence=f"Over {len(shares)} random vectors of weights N_eff is at least {smallest:.4f} and N_eff/N at most "
        f"{max(shares):.4f}; N/N_eff is 1 + the squared coefficient of variation within {gap:.0e}, and equal weights "
        f"give N within {equal:.0e}.",
        measured=max(shares),
        bound=1.0,
    )


@statement(
    "variance-decomposition",
    order=14,
    place="Appendix, Effective Sample Size, variance decomposition",
    claim="The weighted loss has the variance sigma^2/N_eff, with sigma^2 the variance of a weighted term.",
    correction="sigma^2 is the variance of one unweighted loss; the weights sum to 1 and do not depend on the "
    "losses, which are independent with equal variance.",
)
def variance_decomposition(*, seed: int) -> Outcome:
    """Check the variance of the weighted mean by adding up all outcomes of twelve two-valued losses."""
    rng = np.random.default_rng(seed)
    chance, n = 0.3, 12
    outcomes = np.array(list(itertools.product([0.0, 1.0], repeat=n)))
    probability = np.prod(np.where(outcomes == 1, chance, 1 - chance), axis=1)
    sigma_squared = chance * (1 - chance)
    printed_ratios, corrected_ratios = [], []
    for _ in range(20):
        weights = rng.uniform(size=n) ** rng.uniform(0.5, 5)
        weights /= weights.sum()
        means = outcomes @ weights
        variance = float(probability @ means**2 - (probability @ means) ** 2)
        n_eff = 1 / float((weights**2).sum())
        corrected_ratios.append(variance / (sigma_squared / n_eff))
        printed_ratios.append(variance / (float((weights**2).mean()) * sigma_squared / n_eff))
    off = float(np.abs(np.array(corrected_ratios) - 1).max())
    return Outcome(
        printed=float(np.abs(np.array(printed_ratios) - 1).max()) <= 1e-6,
        corrected=off <= 1e-9,
        evidence=f"Over all {len(outcomes)} outcomes of {n} losses and 20 vectors of weights the variance is "
        f"sigma^2/N_eff within {off:.0e} with sigma^2 of an unweighted loss, and at least {min(printed_ratios):.0f} "
        "times too large for it with sigma^2 of a weighted term.",
        measured=max(corrected_ratios),
        bound=1.0,
    )


@statement(
    "corollary-4.1",
    order=10,
    place="Corollary 4.1",
    claim="Since w <= 1/(K p(y)), the effective sample size grows in proportion to N.",
    correction="N_eff/N >= 4r/(1 + r)^2 with r = min w / max w > 0 (Kantorovich), and no better in general. "
    f"At the lowest temperature {_COLDEST:g} with difficulties up to 1 that is {_VACUOUS:.1e}: it promises nothing.",
)
def corollary_4_1(*, seed: int, weigh: Weigh = trained_weights, runs: pd.DataFrame | None = None) -> Outcome:
    """Check Corollary 4.1 with one easy sample among hard ones, and its corrected form on random weights.

    The evidence also describes ``runs``, if given (see ``runs.describe_shares``).
    """
    counts, bounded = [], True
    for n in SIZES:
        batch = make_batch(np.arange(n) % 2, counts=[1, 1], difficulty=np.where(np.arange(n) == 0, 0.0, 1.0))
        weights = weigh(batch, constant_options(_COLDEST), Progress(1, 1))
        bounded = bounded and bool((weights <= 1 + _ROUNDING).all())
        counts.append(float(effective_sample_size(weights)))
    slack = _smallest_slack(np.random.default_rng(seed))
    return Outcome(
        printed=bounded and loglog_slope(SIZES, counts) >= 0.9,
        corrected=bounded and slack >= 1 - _ROUNDING,
        evidence=f"One easy sample among hard ones at T = {_COLDEST:g}, two equal classes: for N from {SIZES[0]} to "
        f"{SIZES[-1]} every weight {'keeps' if bounded else 'breaks'} the bound and N_eff goes from {counts[0]:.4f} to "
        f"{counts[-1]:.4f}. Over random weights N_eff/N is at least {slack:.4f} of the corrected bound."
        + ("" if runs is None else describe_shares(runs)),
        measured=counts[-1],
        bound=SIZES[-1],
    )


def _smallest_slack(rng: np.random.Generator) -> float:
    """Compute the smallest N_eff/N over its lower bound, over random weights and the closest two-valued ones."""
    slack = []
    for _ in range(500):
        n, ratio = int(rng.integers(2, 300)), float(10 ** rng.uniform(-6, 0))
        for weights in (ratio + (1 - ratio) * rng.uniform(size=n) ** 3, _two_valued(n, ratio)):
            share = float(effective_sample_size(torch.from_numpy(weights))) / n
            slack.append(share / kantorovich_share(float(weights.min() / weights.max())))
    return min(slack)


def _two_valued(n: int, ratio: float) -> NDArray[np.float64]:
    large = min(max(round(n * ratio / (1 + ratio)), 1), n - 1)
    return np.where(np.arange(n) < large, 1.0, ratio)
