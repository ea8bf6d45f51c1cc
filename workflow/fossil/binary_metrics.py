"""Metrics of binary predictions that training reports after each epoch and evaluation reports in the end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

THRESHOLD = 0.5


def recall_and_specificity(
    positive: NDArray[np.bool_], decided: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute recall and specificity of decisions, each of shape (...), from shape (..., n).

    Both classes must occur.
    """
    recall = (decided & positive).sum(axis=-1) / positive.sum(axis=-1)
    specificity = (~decided & ~positive).sum(axis=-1) / (~positive).sum(axis=-1)
    return recall, specificity


def area_under_roc_curve(positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the AUC, where ties count half; shape (..., n) to (...).

    Computed from mean ranks (Mann and Whitney 1947). Both classes must occur.
    """
    order, first, last = sorted_ties(scores)
    mean_ranks = (first + last) / 2 + 1
    n1 = positive.sum(axis=-1)
    rank_sum = (mean_ranks * np.take_along_axis(positive, order, axis=-1)).sum(axis=-1)
    return (rank_sum - n1 * (n1 + 1) / 2) / (n1 * (positive.shape[-1] - n1))


def sorted_ties(values: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Sort along the last axis; return the order, and the first and last position of each position's ties."""
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    n = values.shape[-1]
    edge = np.ones((*values.shape[:-1], 1), dtype=bool)
    differs = ordered[..., 1:] != ordered[..., :-1]
    at = np.arange(n)
    first = np.maximum.accumulate(np.where(np.concatenate([edge, differs], axis=-1), at, 0), axis=-1)
    ends = np.where(np.concatenate([differs, edge], axis=-1), at, n - 1)
    last = np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1]
    return order, first, last
