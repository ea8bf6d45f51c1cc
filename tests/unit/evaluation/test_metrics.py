"""Metrics of runs, against scikit-learn, imbalanced-learn, definitions written out, and hand calculation."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imblearn.metrics import geometric_mean_score, specificity_score
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
)

from fossil.evaluation.metrics import RUN_METRICS, prediction_metrics, training_metrics

TARGETS = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
PROBABILITIES = [0.9, 0.8, 0.7, 0.2, 0.75, 0.6, 0.4, 0.3, 0.1, 0.05]

# Few different probabilities, so that many tie, lie on the edge of a bin, or are 0, 1/2 or 1.
tied = st.integers(0, 20).map(lambda twentieths: twentieths / 20)
probabilities = st.one_of(tied, st.floats(0, 1))
predictions = st.lists(st.tuples(st.integers(0, 1), probabilities), min_size=2, max_size=40).filter(
    lambda rows: len({target for target, _ in rows}) == 2
)


def arrays(rows: list[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([target for target, _ in rows]), np.array([p for _, p in rows], dtype=np.float64)


def calibration_error(targets: np.ndarray, p: np.ndarray) -> float:
    """Bin by bin: weight of the bin times distance of its mean probability from its share of class 1."""
    bins = [(p >= k / 10) & (p < (k + 1) / 10) for k in range(10)] + [p == 1]
    return sum(b.mean() * abs(p[b].mean() - targets[b].mean()) for b in bins if b.any())


def risk_coverage(wrong: list[bool]) -> float:
    """Area of decisions in order, from sure to unsure."""
    return float(np.mean([np.mean(wrong[: k + 1]) for k in range(len(wrong))]))


def test_metrics_of_ten_predictions_by_hand() -> None:
    # TP 3, FN 1, FP 2, TN 4. Of 24 pairs, .9 and .8 win 6 each, .7 wins 5 and .2 wins 2.
    recall, specificity = 3 / 4, 4 / 6
    # Every bin has one sample but [.7, .8), with .7 of class 1 and .75 of class 0: |1 - 1.45|.
    gaps = [0.1, 0.2, 0.45, 0.8, 0.6, 0.4, 0.3, 0.1, 0.05]
    squares = [0.01, 0.04, 0.09, 0.64, 0.5625, 0.36, 0.16, 0.09, 0.01, 0.0025]
    # Surest first: .95 .9 .9 | .8 .8 (.8 right, .2 wrong) | .75 wrong | .7 .7 right | .6 .6 (.6 wrong, .4 right).
    errors = [0, 0, 0, 0.5, 1, 2, 2, 2, 2.5, 3]
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
            "expected_calibration_error": sum(gaps) / 10,
            "brier_score": sum(squares) / 10,
            "area_under_risk_coverage": sum(error / k for k, error in enumerate(errors, start=1)) / 10,
        }
    )


@settings(deadline=None, max_examples=150)
@given(rows=predictions)
def test_metrics_are_those_of_scikit_learn_and_imbalanced_learn(rows: list[tuple[int, float]]) -> None:
    targets, p = arrays(rows)
    decided = (p >= 0.5).astype(int)
    found = prediction_metrics(targets, p)
    expected = {
        "auc": roc_auc_score(targets, p),
        "balanced_accuracy": balanced_accuracy_score(targets, decided),
        "recall": recall_score(targets, decided),
        "specificity": specificity_score(targets, decided),
        "precision": precision_score(targets, decided, zero_division=0),
        "f1": f1_score(targets, decided, zero_division=0),
        "g_mean": geometric_mean_score(targets, decided),
        "balanced_error": 1 - balanced_accuracy_score(targets, decided),
        "brier_score": brier_score_loss(targets, p),
    }
    assert {metric: found[metric] for metric in expected} == pytest.approx(expected, abs=1e-12)


@settings(deadline=None, max_examples=150)
@given(rows=predictions)
def test_calibration_error_is_that_of_bins_counted_one_by_one(rows: list[tuple[int, float]]) -> None:
    targets, p = arrays(rows)
    found = prediction_metrics(targets, p)["expected_calibration_error"]
    assert found == pytest.approx(calibration_error(targets, p), abs=1e-12)


@pytest.mark.parametrize(
    ("p", "error"),
    [
        # .3 opens the bin [.3, .4), so that it is apart from .29 and together with .39.
        ([0.3, 0.29], (abs(1 - 0.3) + 0.29) / 2),
        ([0.3, 0.39], abs(1 - 0.69) / 2),
        # 1 is apart from .95, and 0 together with .05.
        ([1.0, 0.95], 0.95 / 2),
        ([0.0, 0.05], abs(1 - 0.05) / 2),
    ],
)
def test_a_bin_of_the_calibration_error_has_its_lower_edge(p: list[float], error: float) -> None:
    assert prediction_metrics([1, 0], p)["expected_calibration_error"] == pytest.approx(error)


def test_calibration_error_is_zero_where_frequencies_are_the_probabilities() -> None:
    found = prediction_metrics([1, 0, 0, 0, 1, 1, 1, 0], [0.25] * 4 + [0.75] * 4)
    assert found["expected_calibration_error"] == pytest.approx(0, abs=1e-15)


@settings(deadline=None, max_examples=60)
@given(rows=st.lists(st.tuples(st.integers(0, 1), tied), min_size=2, max_size=7).filter(lambda r: len({*dict(r)}) == 2))
def test_area_under_risk_coverage_is_the_mean_over_all_orders_from_sure_to_unsure(
    rows: list[tuple[int, float]],
) -> None:
    targets, p = arrays(rows)
    wrong, confidence = ((p >= 0.5) != targets).tolist(), np.maximum(p, 1 - p).tolist()
    orders = [
        risk_coverage([wrong[i] for i in order])
        for order in itertools.permutations(range(len(p)))
        if all(confidence[i] >= confidence[j] for i, j in itertools.pairwise(order))
    ]
    found = prediction_metrics(targets, p)["area_under_risk_coverage"]
    assert found == pytest.approx(np.mean(orders), abs=1e-12)


def test_area_under_risk_coverage_by_hand() -> None:
    # Surest first: right, wrong, right, wrong; risks 0, 1/2, 1/3, 2/4.
    found = prediction_metrics([1, 0, 0, 1], [0.99, 0.9, 0.2, 0.4])
    assert found["area_under_risk_coverage"] == pytest.approx((0 + 1 / 2 + 1 / 3 + 2 / 4) / 4)
    assert prediction_metrics([1, 0], [0.9, 0.2])["area_under_risk_coverage"] == 0
    assert prediction_metrics([1, 0], [0.1, 0.8])["area_under_risk_coverage"] == 1


@settings(deadline=None, max_examples=60)
@given(rows=predictions, random=st.randoms(use_true_random=False))
def test_metrics_do_not_see_the_order_of_the_samples(rows: list[tuple[int, float]], random: object) -> None:
    mixed = list(rows)
    random.shuffle(mixed)
    expected = prediction_metrics(*arrays(rows))
    assert prediction_metrics(*arrays(mixed)) == pytest.approx(expected, abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(rows=predictions)
def test_metrics_lie_between_zero_and_one(rows: list[tuple[int, float]]) -> None:
    for metric, value in prediction_metrics(*arrays(rows)).items():
        assert -1e-15 <= value <= 1 + 1e-15, metric


@settings(deadline=None, max_examples=40)
@given(
    targets=st.lists(st.permutations([0, 0, 0, 1, 1, 1]), min_size=6, max_size=6),
    p=st.lists(st.lists(probabilities, min_size=6, max_size=6), min_size=6, max_size=6),
)
def test_runs_that_are_measured_together_have_the_metrics_of_each_alone(
    targets: list[list[int]], p: list[list[float]]
) -> None:
    together = prediction_metrics(np.reshape(targets, (2, 3, 6)), np.reshape(p, (2, 3, 6)))
    for run in range(6):
        alone = prediction_metrics(targets[run], p[run])
        assert {metric: value.reshape(6)[run] for metric, value in together.items()} == alone
    losses = np.reshape(p, (2, 3, 6))
    for run in range(6):
        alone = training_metrics(p[run], p[run])
        found = {metric: value.reshape(6)[run] for metric, value in training_metrics(losses, losses).items()}
        assert found == alone


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


@pytest.mark.parametrize("targets", [[0, 0], [1, 1], [[0, 1], [0, 0]]])
def test_a_run_of_one_class_is_an_error_that_says_so(targets: list) -> None:
    with pytest.raises(ValueError, match=r"all of one class.*both classes"):
        prediction_metrics(targets, np.full(np.shape(targets), 0.5))


def test_training_metrics_by_hand() -> None:
    # Static terms 2, 0, 1; dynamic terms 0, 0, 1, with cumulative means 0, 0, 1/3.
    assert training_metrics([3.0, 1.0, 2.0], [100.0, 40.0, 10.0]) == pytest.approx(
        {"static_regret": 1.0, "dynamic_regret": 1 / 3, "area_under_regret_curve": 1 / 12, "n_eff": 50.0}
    )


def test_list_of_metrics_is_what_the_two_functions_compute() -> None:
    found = {**prediction_metrics(TARGETS, PROBABILITIES), **training_metrics([1.0, 0.5], [3.0, 2.0])}
    assert tuple(found) == RUN_METRICS
    assert all(np.shape(value) == () for value in found.values())


def test_metrics_need_numpy_alone() -> None:
    code = (
        "import sys, fossil.evaluation.metrics as metrics;"
        "metrics.prediction_metrics([1, 0], [.9, .1]); metrics.training_metrics([1], [1]);"
        "print([name for name in ('sklearn', 'imblearn', 'scipy', 'torch', 'pandas') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
