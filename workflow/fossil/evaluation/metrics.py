"""Metrics of a run: of its predictions on the test split, and of its losses on the validation split."""

from __future__ import annotations

import numpy as np
from imblearn.metrics import geometric_mean_score, specificity_score
from numpy.typing import ArrayLike
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
)

from fossil.evaluation.regret import area_under_regret_curve, dynamic_regret_terms, static_regret_terms

THRESHOLD = 0.5

METRICS = (
    "auc",
    "balanced_accuracy",
    "recall",
    "specificity",
    "precision",
    "f1",
    "g_mean",
    "balanced_error",
    "static_regret",
    "dynamic_regret",
    "area_under_regret_curve",
)


def prediction_metrics(targets: ArrayLike, probabilities: ArrayLike) -> dict[str, float]:
    """Metrics of binary predictions; the decision is probability >= 0.5, the positive class is 1.

    Parameters
    ----------
    targets : array, shape (n,)
        0 or 1; both must occur.
    probabilities : array, shape (n,)
        Probability of class 1.

    Returns
    -------
    dict
        Precision is 0 where nothing was predicted positive.
    """
    y, p = np.asarray(targets), np.asarray(probabilities)
    decided = (p >= THRESHOLD).astype(y.dtype)
    balanced_accuracy = balanced_accuracy_score(y, decided)
    return {
        "auc": float(roc_auc_score(y, p)),
        "balanced_accuracy": float(balanced_accuracy),
        "recall": float(recall_score(y, decided)),
        "specificity": float(specificity_score(y, decided)),
        "precision": float(precision_score(y, decided, zero_division=0)),
        "f1": float(f1_score(y, decided, zero_division=0)),
        "g_mean": float(geometric_mean_score(y, decided)),
        "balanced_error": float(1 - balanced_accuracy),
    }


def training_metrics(validation_losses: ArrayLike) -> dict[str, float]:
    """Regret of a run from its validation loss after each epoch, shape (T,)."""
    return {
        "static_regret": float(static_regret_terms(validation_losses).mean()),
        "dynamic_regret": float(dynamic_regret_terms(validation_losses).mean()),
        "area_under_regret_curve": float(area_under_regret_curve(validation_losses)),
    }
