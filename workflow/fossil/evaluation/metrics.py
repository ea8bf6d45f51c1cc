"""Metrics of runs: of their predictions on the test split, and of their epochs. Many runs at once, in numpy alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fossil.binary_metrics import THRESHOLD, area_under_roc_curve, recall_and_specificity, sorted_ties
from fossil.evaluation.regret import area_under_regret_curve, dynamic_regret_terms, static_regret_terms

CALIBRATION_BINS = 10

PREDICTION_METRICS = (
    "auc",
    "balanced_accuracy",
    "recall",
    "specificity",
    "precision",
    "f1",
    "g_mean",
    "balanced_error",
    "expected_calibration_error",
    "brier_score",
    "area_under_risk_coverage",
)
METRICS = (*PREDICTION_METRICS, "static_regret", "dynamic_regret", "area_under_regret_curve", "n_eff")


def prediction_metrics(targets: ArrayLike, probabilities: ArrayLike) -> dict[str, NDArray[np.float64]]:
    """Metrics of binary predictions; the decision is probability >= 0.5, the positive class is 1.

    Parameters
    ----------
    targets : array, shape (..., n)
        0 or 1; both must occur in every run.
    probabilities : array, shape (..., n)
        Probability of class 1, in [0, 1].

    Returns
    -------
    dict of array, shape (...)
        Precision is 0 where nothing was predicted positive.

    Raises
    ------
    ValueError
        Where a run has one class only, so that recall or specificity and AUC are not defined.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    positive, p = np.broadcast_arrays(np.asarray(targets) == 1, p)
    decisions = decision_metrics(positive, p, threshold=THRESHOLD)
    return {
        "auc": area_under_roc_curve(positive, p),
        **decisions,
        "expected_calibration_error": expected_calibration_error(positive, p),
        "brier_score": brier_score(positive, p),
        "area_under_risk_coverage": area_under_risk_coverage((p >= THRESHOLD) != positive, np.maximum(p, 1 - p)),
    }


def decision_metrics(
    positive: NDArray[np.bool_], probabilities: NDArray[np.float64], *, threshold: float
) -> dict[str, NDArray[np.float64]]:
    """Metrics of the decisions probability >= threshold; (..., n) to (...).

    Precision is 0 where nothing was predicted positive.

    Raises
    ------
    ValueError
        Where a run has one class only.
    """
    if not (positive.any(axis=-1) & ~positive.all(axis=-1)).all():
        raise ValueError("targets of a run are all of one class; metrics need both classes in the test split")
    decided = probabilities >= threshold
    hits = (decided & positive).sum(axis=-1)
    recall, specificity = recall_and_specificity(positive, decided)
    return {
        "balanced_accuracy": (recall + specificity) / 2,
        "recall": recall,
        "specificity": specificity,
        "precision": hits / np.maximum(decided.sum(axis=-1), 1),
        "f1": 2 * hits / (decided.sum(axis=-1) + positive.sum(axis=-1)),
        "g_mean": np.sqrt(recall * specificity),
        "balanced_error": 1 - (recall + specificity) / 2,
    }


def training_metrics(validation_losses: ArrayLike, n_eff: ArrayLike) -> dict[str, NDArray[np.float64]]:
    """Regret and mean effective sample size of runs.

    Parameters
    ----------
    validation_losses : array, shape (..., T)
        Loss on the validation split after each epoch.
    n_eff : array, shape (..., T)
        Kish's effective sample size of each epoch's weights, in samples.

    Returns
    -------
    dict of array, shape (...)
    """
    return {
        "static_regret": static_regret_terms(validation_losses).mean(axis=-1),
        "dynamic_regret": dynamic_regret_terms(validation_losses).mean(axis=-1),
        "area_under_regret_curve": area_under_regret_curve(validation_losses),
        "n_eff": np.asarray(n_eff, dtype=np.float64).mean(axis=-1),
    }


def expected_calibration_error(positive: NDArray[np.bool_], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean distance between probability and frequency of class 1, over bins of equal width; (..., n) to (...).

    Bin k is [k/10, (k + 1)/10), and 1 has a bin of its own, as in torchmetrics' ``BinaryCalibrationError`` with norm
    l1; each bin counts by its samples (Naeini et al. 2015).
    """
    shape, n = probabilities.shape[:-1], probabilities.shape[-1]
    edges = np.arange(CALIBRATION_BINS + 1) / CALIBRATION_BINS
    bins = np.searchsorted(edges, probabilities.reshape(-1, n), side="right") - 1
    runs = len(bins)
    cells = bins + np.arange(runs)[:, None] * len(edges)
    gaps = np.bincount(cells.ravel(), weights=(positive - probabilities).ravel(), minlength=runs * len(edges))
    return np.abs(gaps).reshape(runs, len(edges)).sum(axis=-1).reshape(shape) / n


def brier_score(positive: NDArray[np.bool_], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean squared distance between probability and outcome (Brier 1950); (..., n) to (...)."""
    return ((probabilities - positive) ** 2).mean(axis=-1)


def area_under_risk_coverage(wrong: NDArray[np.bool_], confidences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over k = 1 .. n of the share of wrong decisions among the k surest; (..., n) to (...).

    Geifman and El-Yaniv (2017). Of samples that are equally sure any order may come first: theirs is the mean over all
    orders.
    """
    order, first, last = sorted_ties(-confidences)
    errors = np.take_along_axis(wrong, order, axis=-1).cumsum(axis=-1)
    before = np.where(first > 0, np.take_along_axis(errors, np.maximum(first - 1, 0), axis=-1), 0)
    of_ties = np.take_along_axis(errors, last, axis=-1) - before
    at = np.arange(wrong.shape[-1])
    expected = before + of_ties * (at - first + 1) / (last - first + 1)
    return (expected / (at + 1)).mean(axis=-1)
