"""How far the weighted training loss is from the validation loss: Theorem 4.2."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from fossil.config import FossilOptions, TemperatureOptions
from fossil.evaluation.theory.equation import Weigh, make_batch, trained_weights
from fossil.evaluation.theory.statement import Statement, judge, loglog_slope
from fossil.methods.base import Progress
from fossil.training.history import effective_sample_size

SIZES = (30, 100, 300, 1000, 3000)
LEVELS = (0.5, 0.2, 0.05)
REPEATS = 4000

_COPIES = (1, 10, 100, 1000, 10_000)
_SIGNIFICANCE = 0.05
_SHUFFLES = 10_000


def theorem_4_2(*, seed: int, weigh: Weigh = trained_weights) -> Statement:
    """Theorem 4.2: the gap does not vanish; the deviation of the weighted mean from its own expectation does."""
    gaps, counts = constant_classifier_gaps(weigh)
    ratios, exceedances = _deviations(seed, weigh)
    within = all(share <= level for level, share in exceedances.items())
    scaled = float(np.abs(np.array(ratios) - 1).max())
    shares = ", ".join(f"{share:.4f} at delta = {level:g}" for level, share in exceedances.items())
    return judge(
        "theorem-4.2",
        place="Theorem 4.2, Eq. 5; appendix, Uniform Convergence",
        claim="The gap between validation loss and weighted training loss is of order 1/sqrt(N_eff).",
        printed=max(gaps) <= 1e-12 or loglog_slope(counts, gaps) <= -0.4,
        corrected=within and scaled <= 0.05,
        correction="The validation loss is unweighted and has another expectation. What is of order 1/sqrt(N_eff) is "
        "the deviation of the weighted mean from its own expectation, at fixed parameters and with weights that do not "
        "depend on the losses: for losses in [0, 1] it exceeds sqrt(log(2/delta)/(2 N_eff)) with probability delta at "
        "most (Hoeffding).",
        evidence=f"A constant classifier under class weights at 9:1 has the gap {gaps[0]:.2f} at N_eff = "
        f"{counts[0]:.1f} and {gaps[-1]:.2f} at {counts[-1]:.0f}. The deviation from its own expectation has sd "
        f"sqrt(N_eff)/sigma within {scaled:.3f} of 1 for N from {SIZES[0]} to {SIZES[-1]}, and exceeds the limit in "
        f"a share of {shares} at most.",
        measured=gaps[-1],
        bound=gaps[0] * math.sqrt(counts[0] / counts[-1]),
    )


def theorem_4_2_runs(runs: pd.DataFrame, *, seed: int, comparable: Sequence[str] | None = None) -> Statement | None:
    """Theorem 4.2 in the runs: whether the gap after training goes with 1/sqrt(N_eff), among methods and within them.

    Parameters
    ----------
    comparable : sequence of str or None
        Methods that train on cross-entropy and do not see the validation split; None for all.

    Returns
    -------
    Statement or None
        Nothing where it cannot be asked: with fewer than three runs, or where all have the same N_eff or gap.
    """
    gaps = last_gaps(runs)
    left_out = [] if comparable is None else sorted(set(gaps["method"]) - set(comparable))
    gaps = gaps[~gaps["method"].isin(left_out)]
    if len(gaps) < 3 or min(np.ptp(gaps["x"]), np.ptp(gaps["gap"])) <= 1e-12:
        return None
    rank, p = stats.spearmanr(gaps["x"], gaps["gap"], alternative="greater")
    slope = loglog_slope(gaps["x"], gaps["gap"].clip(lower=1e-12))
    inside = within_methods(gaps)
    chance = within_methods_p(gaps, np.random.default_rng(seed)) if inside else p
    listed = ", ".join(f"{method} {value:.2f}" for method, value in inside.items()) or "none has several N_eff"
    others = f" {', '.join(left_out)} left out: another loss, or trained on the validation split." if left_out else ""
    return judge(
        "theorem-4.2-runs",
        place="Theorem 4.2, in the runs",
        claim="Over the runs the gap between validation loss and weighted training loss grows with 1/sqrt(N_eff), "
        "among methods and within them.",
        printed=max(p, chance) < _SIGNIFICANCE,
        correction="The gap after training shows no such relation: it holds overfitting and the difference between the "
        "weighted and the unweighted loss, beside sampling error.",
        evidence=f"Over {len(gaps)} runs, all methods together, Spearman's correlation is {rank:.2f} (one-sided p = "
        f"{p:.2g}) and the slope in logarithms {slope:.2f}; within methods the correlation is {listed} (mean, shuffled "
        f"within methods: one-sided p = {chance:.2g}). Methods differ in more than N_eff.{others}",
        measured=float(rank),
        bound=0.0,
    )


def within_methods(gaps: pd.DataFrame) -> dict[str, float]:
    """Spearman's correlation of x and gap within each method that has several of both."""
    return {
        str(method): float(stats.spearmanr(own["x"], own["gap"])[0])
        for method, own in gaps.groupby("method", sort=False)
        if len(own) > 2 and min(np.ptp(own["x"]), np.ptp(own["gap"])) > 1e-9
    }


def within_methods_p(gaps: pd.DataFrame, rng: np.random.Generator) -> float:
    """One-sided p of the mean correlation within methods, by shuffling the gaps of each method."""
    ranked = [
        (stats.zscore(stats.rankdata(own["x"])), stats.zscore(stats.rankdata(own["gap"])))
        for method, own in gaps.groupby("method", sort=False)
        if method in within_methods(gaps)
    ]
    observed = sum(float(x @ y) / len(x) for x, y in ranked)
    shuffled = np.zeros(_SHUFFLES)
    for x, y in ranked:
        shuffled += rng.permuted(np.tile(y, (_SHUFFLES, 1)), axis=1) @ x / len(x)
    return float((1 + (shuffled >= observed - 1e-12).sum()) / (1 + _SHUFFLES))


def last_gaps(runs: pd.DataFrame) -> pd.DataFrame:
    """Find x = 1/sqrt(N_eff) and the gap of each run's last epoch.

    The gap is |validation loss - mean of w l / mean of w|. Runs that failed are left out.

    Parameters
    ----------
    runs : DataFrame
        method, seed, epoch and the columns of a history.

    Returns
    -------
    DataFrame
        method, seed, x, gap.
    """
    last = runs.sort_values("epoch", kind="stable").groupby(["method", "seed"], sort=False).tail(1)
    gap = (last["validation_loss"] - last["weighted_train_loss"] / last["weight_mean"]).abs()
    found = last[["method", "seed"]].assign(x=1 / np.sqrt(last["n_eff"]), gap=gap)
    return found[np.isfinite(found["x"]) & np.isfinite(found["gap"])].reset_index(drop=True)


def constant_classifier_gaps(weigh: Weigh = trained_weights) -> tuple[list[float], list[float]]:
    """Gap and N_eff of a model that always says .1, under class weights, for growing samples with 9:1 classes.

    The loss is the squared error of the probability; every sample has the classes in the proportion of the population,
    so that nothing in the gap is chance.
    """
    losses = np.array([0.1**2, 0.9**2])
    options = FossilOptions(temperature=TemperatureOptions(schedule="infinite"), gamma_initial=0.0)
    gaps, counts = [], []
    for copies in _COPIES:
        classes = np.repeat([0, 1], [9 * copies, copies])
        batch = make_batch(classes, counts=[9 * copies, copies], difficulty=np.zeros(len(classes)))
        weights = weigh(batch, options, Progress(40, 50))
        own = losses[classes]
        weighted = float(weights.numpy() @ own / weights.sum())
        gaps.append(abs(float(own.mean()) - weighted))
        counts.append(float(effective_sample_size(weights)))
    return gaps, counts


def _deviations(seed: int, weigh: Weigh) -> tuple[list[float], dict[float, float]]:
    """For each size sd sqrt(N_eff) / sigma, and for each level the largest share of deviations above its limit."""
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


def _coins(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    return rng.integers(2, size=n) - 0.5


def _uniform(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    return rng.random(n) - 0.5
