"""Operating points: thresholds and temperatures that a run's validation images choose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

from fossil.binary_metrics import THRESHOLD
from fossil.evaluation.metrics import METRICS, Predictions

TEMPERATURES = (0.1, 10.0)
"""Lowest and highest temperature that is fitted."""

DECISIONS = ("recall", "specificity", "precision", "f1", "balanced_accuracy")
CALIBRATION = ("expected_calibration_error", "brier_score", "negative_log_likelihood")

OPERATING_METRICS = (
    *DECISIONS,
    *(f"{name}_chosen" for name in DECISIONS),
    *("threshold", "validation_recall", "validation_positives", "reached"),
    *CALIBRATION,
    *(f"{name}_scaled" for name in CALIBRATION),
    "temperature",
)

_CLOSEST = 2.0**-25
"""Half of the distance between 1 and the float32 below it: how far off probabilities of 0 and 1 are taken to be."""


def operating_point(validation: pd.DataFrame, test: pd.DataFrame, *, recall: float) -> dict[str, float]:
    """Measure a run's decisions and probabilities on its test images, as they are and adjusted on validation images.

    Parameters
    ----------
    validation, test : DataFrame
        target (0 or 1; both must occur) and probability (of class 1) of the images.
    recall : float
        Recall wanted of the threshold, in (0, 1].

    Returns
    -------
    dict of float
        `OPERATING_METRICS`. `DECISIONS` are those at probability .5, and with ``_chosen`` those at ``threshold``, whose
        recall on the validation images is ``validation_recall``; ``reached`` is 1 where the recall on the test images
        is at least the wanted one too, and otherwise 0. `CALIBRATION` is that of the probabilities, and with
        ``_scaled`` that after division of the logits by ``temperature``.

    Raises
    ------
    ValueError
        Where images are all of one class, or a probability is none.
    """
    seen, p_seen = _checked(validation["target"], validation["probability"])
    positive, p = _checked(test["target"], test["probability"])
    threshold = threshold_for_recall(seen, p_seen, recall=recall)
    temperature = fit_temperature(seen, p_seen)
    chosen = _decisions(positive, p, threshold=threshold)
    return {
        **_decisions(positive, p, threshold=THRESHOLD),
        **{f"{name}_chosen": value for name, value in chosen.items()},
        "threshold": threshold,
        "validation_recall": _decisions(seen, p_seen, threshold=threshold)["recall"],
        "validation_positives": float(seen.sum()),
        "reached": float(chosen["recall"] >= recall),
        **_calibration(positive, p),
        **{f"{name}_scaled": value for name, value in _calibration(positive, scale(p, temperature)).items()},
        "temperature": temperature,
    }


def threshold_for_recall(targets: ArrayLike, probabilities: ArrayLike, *, recall: float) -> float:
    """Return the highest threshold whose decisions, probability >= threshold, reach a recall.

    It is the probability of a positive image, so that of images that tie with it all are decided positive.

    Parameters
    ----------
    targets, probabilities : array, shape (n,)
        0 or 1, and the probability of class 1.
    recall : float
        In (0, 1].

    Raises
    ------
    ValueError
        Where the images are all of one class, or a probability is none.
    """
    positive, p = _checked(targets, probabilities)
    highest_first = np.sort(p[positive])[::-1]
    # Shares are compared as recall is computed: a product with n would miss 7 of 100 for a recall of .07.
    reached = np.arange(1, len(highest_first) + 1) / len(highest_first) >= recall
    return float(highest_first[reached.argmax()])


def fit_temperature(targets: ArrayLike, probabilities: ArrayLike) -> float:
    """Fit the temperature by which logits are divided so that the negative log likelihood is least (Guo et al. 2017).

    It is convex in 1/T, so that its slope has one root. Where the best T is outside of `TEMPERATURES`, as it is where
    .5 separates the classes without an error (0) and where logits point to the wrong class on average (infinity), the
    nearer end is taken. Where every probability is .5, T changes nothing and is 1.

    Parameters
    ----------
    targets, probabilities : array, shape (n,)
        0 or 1, and the probability of class 1; 0 and 1 count as 2^-25 away from themselves.

    Raises
    ------
    ValueError
        Where the images are all of one class, or a probability is none.
    """
    positive, p = _checked(targets, probabilities)
    margins = np.where(positive, 1, -1) * _logits(p)
    if not margins.any():
        return 1.0

    def slope(inverse: float) -> float:
        return -float((margins * expit(-inverse * margins)).mean())

    coldest, hottest = TEMPERATURES
    if slope(1 / coldest) <= 0:
        return coldest
    if slope(1 / hottest) >= 0:
        return hottest
    return 1 / float(brentq(slope, 1 / hottest, 1 / coldest, xtol=1e-12))


def scale(probabilities: ArrayLike, temperature: float) -> NDArray[np.float64]:
    """Divide the logits of probabilities by a temperature; the result has the same shape."""
    return expit(_logits(np.asarray(probabilities, dtype=np.float64)) / temperature)


def _decisions(positive: NDArray[np.bool_], p: NDArray[np.float64], *, threshold: float) -> dict[str, float]:
    return _measured(DECISIONS, Predictions(positive, p, threshold))


def _calibration(positive: NDArray[np.bool_], p: NDArray[np.float64]) -> dict[str, float]:
    return {
        **_measured(CALIBRATION[:2], Predictions(positive, p)),
        "negative_log_likelihood": float(np.logaddexp(0, np.where(positive, -1, 1) * _logits(p)).mean()),
    }


def _measured(names: Sequence[str], predictions: Predictions) -> dict[str, float]:
    functions = {name: METRICS[name].of_predictions for name in names}
    return {name: float(function(predictions)) for name, function in functions.items() if function is not None}


def _logits(p: NDArray[np.float64]) -> NDArray[np.float64]:
    return logit(np.clip(p, _CLOSEST, 1 - _CLOSEST))


def _checked(targets: ArrayLike, probabilities: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    positive, p = np.asarray(targets) == 1, np.asarray(probabilities, dtype=np.float64)
    if positive.all() or not positive.any():
        raise ValueError(
            f"of {len(positive)} images {int(positive.sum())} are positive; a threshold and a temperature need both "
            "classes among the validation and the test images"
        )
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("a probability is not between 0 and 1; make the run again")
    return positive, p
