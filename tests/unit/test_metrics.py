"""Metrics of a run, from confusion matrices written out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fossil.evaluation.metrics import METRICS, prediction_metrics, training_metrics

TARGETS = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
PROBABILITIES = [0.9, 0.8, 0.7, 0.2, 0.75, 0.6, 0.4, 0.3, 0.1, 0.05]


def test_metrics_of_ten_predictions_by_hand() -> None:
    # TP 3, FN 1, FP 2, TN 4. Of 24 pairs, .9 and .8 win 6 each, .7 wins 5 and .2 wins 2.
    recall, specificity = 3 / 4, 4 / 6
    assert prediction_metrics(TARGETS, PROBABILITIES) == pytest.approx(
        {
            "auc": 19 / 24,
            "balanced_accuracy": (recall + specificity) / 2,
            "recall": recall,
            "specificity": specificity,
            "precision": 3 / 5,
            "f1": 6 / 9,
            "g_mean": math.sqrt(1 / 2),
            "balanced_error": 1 - (recall + specificity) / 2,
        }
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probability_of_exactly_one_half_counts_as_positive(dtype: type) -> None:
    below = np.nextafter(dtype(0.5), dtype(0))
    found = prediction_metrics([1, 1, 0, 0], np.array([0.5, below, 0.5, below], dtype=dtype))
    assert [found["recall"], found["specificity"], found["precision"]] == [0.5, 0.5, 0.5]
    sure = prediction_metrics([1, 1, 0, 0], np.array([0.5, 0.5, below, below], dtype=dtype))
    assert [sure["recall"], sure["specificity"], sure["auc"]] == [1.0, 1.0, 1.0]


def test_precision_and_f1_are_zero_where_nothing_is_predicted_positive() -> None:
    found = prediction_metrics([1, 0, 0], [0.1, 0.2, 0.3])
    assert [found[key] for key in ("recall", "precision", "f1", "g_mean")] == [0.0, 0.0, 0.0, 0.0]
    assert [found["specificity"], found["balanced_accuracy"], found["auc"]] == [1.0, 0.5, 0.0]


@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 8)), min_size=2, max_size=30).filter(
        lambda rows: len({target for target, _ in rows}) == 2
    )
)
def test_metrics_are_those_of_counting(rows: list[tuple[int, int]]) -> None:
    targets = np.array([target for target, _ in rows])
    probabilities = np.array([eighths / 8 for _, eighths in rows])
    found = prediction_metrics(targets, probabilities)
    positive, negative = probabilities[targets == 1], probabilities[targets == 0]
    pairs = (positive[:, None] > negative).mean() + (positive[:, None] == negative).mean() / 2
    recall, specificity = (positive >= 0.5).mean(), (negative < 0.5).mean()
    assert found["auc"] == pytest.approx(pairs)
    assert found["recall"] == pytest.approx(recall)
    assert found["specificity"] == pytest.approx(specificity)
    assert found["balanced_accuracy"] == pytest.approx((recall + specificity) / 2)
    assert found["balanced_error"] == pytest.approx(1 - (recall + specificity) / 2)
    assert found["g_mean"] == pytest.approx(math.sqrt(recall * specificity))
    predicted, hits = (probabilities >= 0.5).sum(), (positive >= 0.5).sum()
    assert found["precision"] == pytest.approx(hits / predicted if predicted else 0)
    assert found["f1"] == pytest.approx(2 * hits / (len(positive) + predicted))


def test_training_metrics_by_hand() -> None:
    # Static terms 2, 0, 1; dynamic terms 0, 0, 1, with cumulative means 0, 0, 1/3.
    assert training_metrics([3.0, 1.0, 2.0]) == pytest.approx(
        {"static_regret": 1.0, "dynamic_regret": 1 / 3, "area_under_regret_curve": 1 / 12}
    )


def test_list_of_metrics_is_what_the_two_functions_compute() -> None:
    found = {**prediction_metrics(TARGETS, PROBABILITIES), **training_metrics([1.0, 0.5])}
    assert tuple(found) == METRICS
    assert all(type(value) is float for value in found.values())
