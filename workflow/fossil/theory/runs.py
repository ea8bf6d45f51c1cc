"""Observations of runs about the statements; no verdict rests on them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from fossil.theory.statement import loglog_slope


def describe_gaps(runs: pd.DataFrame, *, comparable: Sequence[str] | None = None) -> str:
    """Describe the correlation of the final gap with 1/sqrt(N_eff), over all methods and within each.

    Parameters
    ----------
    comparable : sequence of str or None
        Methods that train on cross-entropy and do not see the validation split; None for all.

    Returns
    -------
    str
        Sentences with a space before them; nothing for fewer than three runs, or where all have one N_eff or gap.
    """
    left_out = [] if comparable is None else sorted(set(runs["method"]) - set(comparable))
    asked = runs[~runs["method"].isin(left_out)]
    gaps = last_gaps(asked)
    if len(gaps) < 3 or min(np.ptp(gaps["x"]), np.ptp(gaps["gap"])) <= 1e-12:
        return ""
    rank = float(stats.spearmanr(gaps["x"], gaps["gap"])[0])
    slope = loglog_slope(gaps["x"], gaps["gap"].clip(lower=1e-12))
    inside = within_methods(gaps)
    listed = ", ".join(f"{method} {value:.2f}" for method, value in inside.items()) or "none has several N_eff"
    others = f" Left out, with another loss or trained on the validation split: {', '.join(left_out)}." * bool(left_out)
    total = asked.groupby(["method", "seed"]).ngroups
    return (
        " In the runs, as a description, since a bound with a free constant can be neither verified nor refuted by "
        f"them: over {len(gaps)} of {total} runs ({', '.join(gaps['method'].unique())}) Spearman's correlation of the "
        f"gap with 1/sqrt(N_eff) is {rank:.2f} and the slope in logarithms {slope:.2f}, all methods together, which "
        f"differ in more than N_eff; within methods the correlation is: {listed}.{others} The training loss is "
        "averaged during the last epoch, while the validation loss is taken after it."
    )


def describe_shares(runs: pd.DataFrame) -> str:
    """Describe the largest share of weight of one sample, and the smallest N_eff/N of each method.

    The largest share of one sample is at most the root of sum (w / sum w)^2 = 1 / N_eff. A sentence with a space before
    it; nothing without runs.
    """
    trained = runs[runs["n_eff"] > 0]
    if trained.empty:
        return ""
    shares = (trained["n_eff"] / trained["samples"]).groupby(trained["method"], sort=False).min()
    largest = 1 / math.sqrt(float(trained["n_eff"].min()))
    listed = ", ".join(f"{name} {share:.3f}" for name, share in shares.items())
    return (
        f" In {trained.groupby(['method', 'seed']).ngroups} runs, as a description, no sample has more than "
        f"{100 * largest:.1f}% of the weight in any epoch, the square root of 1/N_eff at the smallest N_eff; smallest "
        f"N_eff/N by method: {listed}."
    )


def within_methods(gaps: pd.DataFrame) -> dict[str, float]:
    """Compute Spearman's correlation of x and gap within each method that has several of both."""
    return {
        str(method): float(stats.spearmanr(of_method["x"], of_method["gap"])[0])
        for method, of_method in gaps.groupby("method", sort=False)
        if len(of_method) > 2 and min(np.ptp(of_method["x"]), np.ptp(of_method["gap"])) > 1e-9
    }


def last_gaps(runs: pd.DataFrame) -> pd.DataFrame:
    """Compute x = 1/sqrt(N_eff) and the gap of each run's last epoch.

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
    gaps = last[["method", "seed"]].assign(x=1 / np.sqrt(last["n_eff"]), gap=gap)
    return gaps[np.isfinite(gaps["x"]) & np.isfinite(gaps["gap"])].reset_index(drop=True)
