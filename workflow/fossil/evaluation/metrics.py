"""The registry of metrics: how each is computed, what it is called, and which direction is better.

A metric is added here alone: its function, its entry in `METRICS`, and its name among the `COLUMNS` of the tables that
print it. All functions take many runs at once and need numpy only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fossil.binary_metrics import THRESHOLD, area_under_roc_curve, recall_and_specificity, sorted_ties
from fossil.evaluation.regret import area_under_regret_curve, dynamic_regret_terms, static_regret_terms

CALIBRATION_BINS = 10

Best = Literal["highest", "lowest", "none"]
_Array = NDArray[np.float64]


@dataclass(frozen=True)
class Predictions:
    """Binary predictions of runs: arrays of shape (..., n), of which the metrics have shape (...).

    Raises
    ------
    ValueError
        Where a run has one class only, so that recall, specificity and AUC are not defined.
    """

    positive: NDArray[np.bool_]
    probabilities: _Array
    threshold: float = THRESHOLD

    def __post_init__(self) -> None:
        if not (self.positive.any(axis=-1) & ~self.positive.all(axis=-1)).all():
            raise ValueError("targets of a run are all of one class; metrics need both classes in the test split")

    @cached_property
    def decided(self) -> NDArray[np.bool_]:
        """Return the decisions for class 1: probability >= threshold."""
        return self.probabilities >= self.threshold

    @cached_property
    def hits(self) -> NDArray[np.int64]:
        """Count the true positives."""
        return (self.decided & self.positive).sum(axis=-1)

    @cached_property
    def recall(self) -> _Array:
        """Compute the recall."""
        return recall_and_specificity(self.positive, self.decided)[0]

    @cached_property
    def specificity(self) -> _Array:
        """Compute the specificity."""
        return recall_and_specificity(self.positive, self.decided)[1]

    @cached_property
    def balanced_accuracy(self) -> _Array:
        """Compute the mean of recall and specificity."""
        return (self.recall + self.specificity) / 2


@dataclass(frozen=True)
class Epochs:
    """Validation loss and Kish's effective sample size of each epoch, shape (..., T)."""

    validation_losses: _Array
    n_eff: _Array


@dataclass(frozen=True, kw_only=True)
class Metric:
    r"""A metric of a run.

    Attributes
    ----------
    label : str
        Name in figures.
    heading : str
        Name in tables, in LaTeX; ``\\`` breaks it.
    of_predictions, of_epochs : callable or None
        The function that computes it; neither for a metric that compares runs.
    decimals : int
        Decimals in tables. A table for which the paper prints more takes those.
    direction : str
        Which values are better.
    marks_best : bool
        Whether tables print the best mean in bold and figures draw an arrow. Not where a better value may be that of a
        worse model, as with regret.
    note : str
        Sentence in LaTeX that explains the metric below a table, where the heading does not.
    """

    label: str
    heading: str
    of_predictions: Callable[[Predictions], _Array] | None = None
    of_epochs: Callable[[Epochs], _Array] | None = None
    decimals: int = 2
    direction: Literal["higher", "lower"] = "higher"
    marks_best: bool = True
    note: str = ""

    @property
    def lower_is_better(self) -> bool:
        """Return whether the smaller of two values is better."""
        return self.direction == "lower"

    @property
    def best(self) -> Best:
        """Return the best mean of a column, which tables set in bold."""
        if not self.marks_best:
            return "none"
        return "lowest" if self.lower_is_better else "highest"

    @property
    def plain_heading(self) -> str:
        """Return the heading in one line."""
        first, _, second = self.heading.partition(r"\\")
        return f"{first}{second}" if first.endswith("-") else f"{first} {second}".strip()


def expected_calibration_error(predictions: Predictions) -> _Array:
    """Compute the mean distance between probability and frequency of class 1, over bins of equal width.

    Bin k is [k/10, (k + 1)/10), and 1 has a separate bin, as in torchmetrics' ``BinaryCalibrationError`` with norm
    l1; each bin counts by its samples (Naeini et al. 2015).
    """
    probabilities = predictions.probabilities
    shape, n = probabilities.shape[:-1], probabilities.shape[-1]
    edges = np.arange(CALIBRATION_BINS + 1) / CALIBRATION_BINS
    bins = np.searchsorted(edges, probabilities.reshape(-1, n), side="right") - 1
    runs = len(bins)
    cells = bins + np.arange(runs)[:, None] * len(edges)
    distances = (predictions.positive - probabilities).ravel()
    gaps = np.bincount(cells.ravel(), weights=distances, minlength=runs * len(edges))
    return np.abs(gaps).reshape(runs, len(edges)).sum(axis=-1).reshape(shape) / n


def area_under_risk_coverage(predictions: Predictions) -> _Array:
    """Compute the mean over k = 1 .. n of the share of wrong decisions among the k surest.

    Geifman and El-Yaniv (2017). Samples that are equally sure may come in any order: they count with the mean over all
    orders.
    """
    wrong = predictions.decided != predictions.positive
    order, first, last = sorted_ties(-np.maximum(predictions.probabilities, 1 - predictions.probabilities))
    errors = np.take_along_axis(wrong, order, axis=-1).cumsum(axis=-1)
    before = np.where(first > 0, np.take_along_axis(errors, np.maximum(first - 1, 0), axis=-1), 0)
    of_ties = np.take_along_axis(errors, last, axis=-1) - before
    at = np.arange(wrong.shape[-1])
    expected = before + of_ties * (at - first + 1) / (last - first + 1)
    return (expected / (at + 1)).mean(axis=-1)


METRICS: dict[str, Metric] = {
    "auc": Metric(
        label="AUC", heading="AUC", of_predictions=lambda p: area_under_roc_curve(p.positive, p.probabilities)
    ),
    "balanced_accuracy": Metric(
        label="Balanced accuracy", heading=r"Bal.\\acc.", of_predictions=lambda p: p.balanced_accuracy
    ),
    "recall": Metric(label="Recall", heading="Recall", of_predictions=lambda p: p.recall),
    "specificity": Metric(label="Specificity", heading=r"Speci-\\ficity", of_predictions=lambda p: p.specificity),
    # Precision is 0 where nothing was decided positive.
    "precision": Metric(
        label="Precision",
        heading=r"Preci-\\sion",
        of_predictions=lambda p: p.hits / np.maximum(p.decided.sum(axis=-1), 1),
    ),
    "f1": Metric(
        label="F1",
        heading="F1",
        of_predictions=lambda p: 2 * p.hits / (p.decided.sum(axis=-1) + p.positive.sum(axis=-1)),
    ),
    "g_mean": Metric(label="G-mean", heading=r"G-\\mean", of_predictions=lambda p: np.sqrt(p.recall * p.specificity)),
    "balanced_error": Metric(
        label="Balanced error",
        heading=r"Bal.\\error",
        of_predictions=lambda p: 1 - p.balanced_accuracy,
        direction="lower",
        note=r"Bal. error is 1 $-$ Bal. acc.",
    ),
    "expected_calibration_error": Metric(
        label="Expected calibration error",
        heading="ECE",
        of_predictions=expected_calibration_error,
        decimals=3,
        direction="lower",
    ),
    # Mean squared distance between probability and outcome (Brier 1950).
    "brier_score": Metric(
        label="Brier score",
        heading="Brier",
        of_predictions=lambda p: ((p.probabilities - p.positive) ** 2).mean(axis=-1),
        decimals=3,
        direction="lower",
    ),
    "area_under_risk_coverage": Metric(
        label="Area under risk-coverage curve",
        heading=r"Risk-\\cover.",
        of_predictions=area_under_risk_coverage,
        decimals=3,
        direction="lower",
    ),
    "static_regret": Metric(
        label="Static regret",
        heading=r"Static\\regret",
        of_epochs=lambda e: static_regret_terms(e.validation_losses).mean(axis=-1),
        decimals=3,
        direction="lower",
        marks_best=False,
    ),
    "dynamic_regret": Metric(
        label="Dynamic regret",
        heading=r"Dyn.\\regret",
        of_epochs=lambda e: dynamic_regret_terms(e.validation_losses).mean(axis=-1),
        decimals=3,
        direction="lower",
        marks_best=False,
    ),
    "area_under_regret_curve": Metric(
        label="Area under regret curve",
        heading="AURC",
        of_epochs=lambda e: area_under_regret_curve(e.validation_losses),
        decimals=3,
        direction="lower",
        marks_best=False,
    ),
    "n_eff": Metric(
        label="Effective sample size",
        heading=r"Eff.\\size",
        of_epochs=lambda e: e.n_eff.mean(axis=-1),
        decimals=0,
        marks_best=False,
    ),
    "generalization_gap": Metric(
        label="Generalization gap",
        heading=r"Gen.\\gap",
        decimals=3,
        marks_best=False,
        note="Gen. gap: AUC here minus AUC of the same model on its own test images; the paper subtracts one number "
        "per method. It is not bold, since a model that is bad on both has none.",
    ),
    "generalization_gap_constant": Metric(
        label="Generalization gap to the mean", heading=r"Gap to\\mean", decimals=3, marks_best=False
    ),
}
"""All metrics by name, in the order of the long tables."""

PREDICTION_METRICS = tuple(name for name, metric in METRICS.items() if metric.of_predictions)
TRAINING_METRICS = tuple(name for name, metric in METRICS.items() if metric.of_epochs)
RUN_METRICS = (*PREDICTION_METRICS, *TRAINING_METRICS)
REGRETS = ("static_regret", "dynamic_regret", "area_under_regret_curve")
"""Metrics that compare a run with its own losses: a loss that only falls has no dynamic regret, however high it is."""

_PERFORMANCE = ("auc", "balanced_accuracy", "g_mean", "f1", "recall")

COLUMNS: dict[str, tuple[str, ...]] = {
    "synthetic": ("auc", "balanced_accuracy", "recall", "g_mean", "dynamic_regret", "balanced_error"),
    "synthetic_short": ("auc", "balanced_accuracy", "g_mean", "dynamic_regret", "balanced_error"),
    "images": (*_PERFORMANCE, "dynamic_regret"),
    "external": (*_PERFORMANCE, "generalization_gap"),
    "regret": (*REGRETS, "area_under_risk_coverage", "expected_calibration_error", "brier_score"),
}
"""Metrics that tables print, in their order; a table names one of these lists."""

RANKED = ("auc", "balanced_accuracy", "g_mean", "f1", "recall", "dynamic_regret")
"""Metrics by which the rows of a block are ranked."""

GRID_METRICS = (
    *("auc", "balanced_accuracy", "recall", "g_mean", "balanced_error"),
    *("dynamic_regret", "expected_calibration_error"),
)
"""Metrics on which the effects of a grid's factors are tested."""


def prediction_metrics(targets: ArrayLike, probabilities: ArrayLike) -> dict[str, _Array]:
    """Compute the metrics of binary predictions; the decision is probability >= 0.5, the positive class is 1.

    Parameters
    ----------
    targets : array, shape (..., n)
        0 or 1; both must occur in every run.
    probabilities : array, shape (..., n)
        Probability of class 1, in [0, 1].

    Returns
    -------
    dict of array, shape (...)

    Raises
    ------
    ValueError
        Where a run has one class only.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    positive, p = np.broadcast_arrays(np.asarray(targets) == 1, p)
    predictions = Predictions(positive, p)
    return {name: metric.of_predictions(predictions) for name, metric in METRICS.items() if metric.of_predictions}


def training_metrics(validation_losses: ArrayLike, n_eff: ArrayLike) -> dict[str, _Array]:
    """Compute regret and mean effective sample size of runs; shape (..., T) to (...)."""
    epochs = Epochs(np.asarray(validation_losses, dtype=np.float64), np.asarray(n_eff, dtype=np.float64))
    return {name: metric.of_epochs(epochs) for name, metric in METRICS.items() if metric.of_epochs}
