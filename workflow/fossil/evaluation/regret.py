"""Regret of a training run, measured on one loss that is the same for all methods.

f_t is the unweighted cross-entropy on the validation split after epoch t. The paper never defines its regret; these are
the definitions used here, and ``balanced_error`` in ``metrics`` is the column to hold against the paper's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def static_regret_terms(losses: ArrayLike) -> NDArray[np.float64]:
    """Compute f_t - min_s f_s for losses of shape (..., T): the distance to the best epoch in hindsight."""
    f = np.asarray(losses, dtype=np.float64)
    return f - f.min(axis=-1, keepdims=True)


def dynamic_regret_terms(losses: ArrayLike) -> NDArray[np.float64]:
    """Compute f_t - min_{s <= t} f_s for losses of shape (..., T): the distance to the best epoch so far."""
    f = np.asarray(losses, dtype=np.float64)
    return f - np.minimum.accumulate(f, axis=-1)


def area_under_regret_curve(losses: ArrayLike) -> NDArray[np.float64]:
    """Compute the area under the cumulative mean of the dynamic regret, with epochs scaled to [0, 1].

    Losses of shape (..., T) give shape (...); by the trapezoidal rule, and 0 for a single epoch.
    """
    terms = dynamic_regret_terms(losses)
    epochs = terms.shape[-1]
    curve = terms.cumsum(axis=-1) / np.arange(1, epochs + 1)
    return np.trapezoid(curve, np.linspace(0, 1, epochs) if epochs > 1 else np.zeros(1), axis=-1)  # type: ignore[return-value]
