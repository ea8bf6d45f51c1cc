"""Threshold and temperature of a run: by hand, against brute force, scikit-learn and a fine grid, and properties."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import brier_score_loss, f1_score, log_loss, precision_score, recall_score, roc_auc_score

from fossil.commands import measure_operating_points as command
from fossil.evaluation.fold_runs import CollectError
from fossil.evaluation.operating_point import (
    CALIBRATION,
    DECISIONS,
    OPERATING_METRICS,
    TEMPERATURES,
    fit_temperature,
    operating_point,
    scale,
    threshold_for_recall,
)
from tests.unit.reporting.figure_examples import make_row

# Few different probabilities, so that many tie, and some are 0, 1/2 or 1.
predictions = st.lists(
    st.tuples(st.integers(0, 1), st.one_of(st.integers(0, 8).map(lambda k: k / 8), st.floats(0, 1, width=32))),
    min_size=2,
    max_size=40,
).filter(lambda rows: len({target for target, _ in rows}) == 2)
recalls = st.one_of(st.integers(1, 100).map(lambda k: k / 100), st.floats(0.001, 1))


def arrays(rows: list[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([target for target, _ in rows]), np.array([p for _, p in rows], dtype=np.float32)


def frame(targets: list[int], probabilities: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"target": targets, "probability": np.array(probabilities, dtype=np.float32)})


def sigmoid(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-logits))


def simulated(n: int, *, sharpness: float, seed: int, share: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    """Targets drawn with true probabilities, whose logits are then multiplied by a sharpness."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(np.log(share / (1 - share)), 1.5, size=n)
    targets = (rng.random(n) < sigmoid(logits)).astype(int)
    return targets, sigmoid(sharpness * logits).astype(np.float32)


class Logits(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose decision function is its only input."""

    def fit(self, inputs: np.ndarray, targets: np.ndarray) -> Logits:
        self.classes_ = np.unique(targets)
        return self

    def decision_function(self, inputs: np.ndarray) -> np.ndarray:
        return inputs[:, 0]

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        return self.classes_[(inputs[:, 0] >= 0).astype(int)]


def test_an_operating_point_by_hand() -> None:
    # Of 5 positive validation images .75 of the recall needs 4, so that the fourth highest of .9 .6 .4 .2 .1 decides.
    validation = frame([1, 1, 1, 1, 1, 0, 0, 0], [0.9, 0.6, 0.4, 0.2, 0.1, 0.7, 0.2, 0.05])
    test = frame([1, 1, 1, 0, 0, 0], [0.8, 0.3, 0.1, 0.6, 0.25, 0.1])
    found = operating_point(validation, test, recall=0.75)
    assert tuple(found) == OPERATING_METRICS
    # At .5: 1 of 3 positives and 2 of 3 negatives right, 2 called positive. At .2: 2 of 3 and 1 of 3, and 4 called so.
    by_hand = {
        **{"recall": 1 / 3, "specificity": 2 / 3, "precision": 1 / 2, "f1": 2 / 5, "balanced_accuracy": 1 / 2},
        **{"recall_chosen": 2 / 3, "specificity_chosen": 1 / 3, "precision_chosen": 1 / 2, "f1_chosen": 4 / 7},
        **{"balanced_accuracy_chosen": 1 / 2, "threshold": 0.2, "validation_recall": 0.8, "validation_positives": 5},
        **{"reached": 0, "brier_score": (0.04 + 0.49 + 0.81 + 0.36 + 0.0625 + 0.01) / 6},
        "negative_log_likelihood": -np.log([0.8, 0.3, 0.1, 0.4, 0.75, 0.9]).mean(),
        # Bins: .1 and .1 (one of two), .25, .3, .6, .8.
        "expected_calibration_error": (0.8 + 0.25 + 0.7 + 0.6 + 0.2) / 6,
    }
    assert {name: found[name] for name in by_hand} == pytest.approx(by_hand)
    assert operating_point(validation, test, recall=0.6)["recall_chosen"] == pytest.approx(1 / 3)
    assert operating_point(validation, test[test["probability"] > 0.2], recall=0.75)["reached"] == 1


def test_the_temperature_of_two_levels_by_hand() -> None:
    # Sure by 9:1 and right 3 times of 4: the best probability is .75, and T is log 9 / log 3.
    targets, p = [1, 1, 1, 0], [0.9] * 4
    assert fit_temperature([*targets, 0, 0, 0, 1], [*p, *[0.1] * 4]) == pytest.approx(2)
    # Sure by 3:1 and right 9 times of 10: T is log 3 / log 9.
    assert fit_temperature([1] * 9 + [0], [0.75] * 10) == pytest.approx(0.5)


@settings(deadline=None, max_examples=200)
@given(rows=predictions, recall=recalls)
def test_the_threshold_is_the_highest_of_all_that_reach_the_recall(
    rows: list[tuple[int, float]], recall: float
) -> None:
    targets, p = arrays(rows)
    p = p.astype(np.float64)
    threshold = threshold_for_recall(targets, p, recall=recall)
    of_positives = p[targets == 1]
    assert (of_positives >= threshold).mean() >= recall
    for higher in [*p[p > threshold], np.nextafter(threshold, 2)]:
        assert (of_positives >= higher).mean() < recall


def test_shares_that_products_round_up_take_no_image_too_many() -> None:
    # .07 * 100 is 7.000000000000001 in floating point.
    p = np.arange(101)[::-1] / 100
    assert threshold_for_recall([1] * 100 + [0], p, recall=0.07) == p[6]
    assert threshold_for_recall([1] * 100 + [0], p, recall=1) == p[99]


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("seed", range(3))
def test_the_temperature_is_that_of_scikit_learn(sharpness: float, seed: int) -> None:
    targets, p = simulated(400, sharpness=sharpness, seed=seed)
    clipped = np.clip(p.astype(np.float64), 2.0**-25, 1 - 2.0**-25)
    inputs = np.log(clipped / (1 - clipped))[:, None]
    scaler = CalibratedClassifierCV(FrozenEstimator(Logits().fit(inputs, targets)), method="temperature")
    expected = scaler.fit(inputs, targets).predict_proba(inputs)[:, 1]
    np.testing.assert_allclose(scale(p, fit_temperature(targets, p)), expected, atol=1e-5)


@settings(deadline=None, max_examples=60)
@given(rows=predictions)
def test_no_temperature_of_a_fine_grid_is_better(rows: list[tuple[int, float]]) -> None:
    targets, p = arrays(rows)
    fitted = fit_temperature(targets, p)
    assert TEMPERATURES[0] <= fitted <= TEMPERATURES[1]
    clipped = np.clip(p.astype(np.float64), 2.0**-25, 1 - 2.0**-25)
    signed = np.where(targets == 1, -1, 1) * np.log(clipped / (1 - clipped))

    def likelihood(temperature: float) -> float:
        return float(np.logaddexp(0, signed / temperature).mean())

    assert likelihood(fitted) <= min(map(likelihood, np.geomspace(*TEMPERATURES, 400))) + 1e-12


@pytest.mark.parametrize("sharpness", [0.5, 2.0, 4.0])
def test_probabilities_that_were_sharpened_are_blunted_by_as_much(sharpness: float) -> None:
    targets, p = simulated(200_000, sharpness=sharpness, seed=1)
    assert fit_temperature(targets, p) == pytest.approx(sharpness, rel=0.02)


def test_an_optimum_without_a_finite_temperature_is_at_the_nearer_end() -> None:
    coldest, hottest = TEMPERATURES
    assert fit_temperature([1, 1, 0, 0], [0.9, 0.6, 0.4, 0.1]) == coldest
    assert fit_temperature([1, 0], [1.0, 0.0]) == coldest
    assert fit_temperature([1, 1, 0, 0], [0.4, 0.1, 0.9, 0.6]) == hottest
    assert fit_temperature([1, 0, 0], [0.5, 0.5, 0.5]) == 1


@settings(deadline=None, max_examples=100)
@given(
    rows=st.lists(st.tuples(st.integers(0, 1), st.integers(-16, 16)), min_size=2, max_size=30).filter(
        lambda rows: len({target for target, _ in rows}) == 2
    ),
    temperature=st.floats(0.5, 10),
)
def test_a_temperature_keeps_auc_and_the_decisions_at_a_half(rows: list[tuple[int, int]], temperature: float) -> None:
    targets, quarters = (np.array(column) for column in zip(*rows, strict=True))
    p = sigmoid(quarters / 4).astype(np.float32)
    scaled = scale(p, temperature)
    assert roc_auc_score(targets, scaled) == roc_auc_score(targets, p)
    np.testing.assert_array_equal(scaled >= 0.5, p >= 0.5)


@settings(deadline=None, max_examples=100)
@given(rows=predictions)
def test_classes_that_are_swapped_have_the_same_temperature(rows: list[tuple[int, float]]) -> None:
    targets, p = arrays(rows)
    p = np.round(p.astype(np.float64) * 64) / 64
    assert fit_temperature(1 - targets, 1 - p) == pytest.approx(fit_temperature(targets, p), rel=1e-9)


@settings(deadline=None, max_examples=60)
@given(seen=predictions, tested=predictions, recall=recalls)
def test_metrics_are_those_of_scikit_learn_at_both_thresholds_and_both_temperatures(
    seen: list[tuple[int, float]], tested: list[tuple[int, float]], recall: float
) -> None:
    targets, p = arrays(tested)
    p = p.astype(np.float64)
    found = operating_point(*(frame(*map(list, zip(*rows, strict=True))) for rows in (seen, tested)), recall=recall)
    for end, threshold in (("", 0.5), ("_chosen", found["threshold"])):
        decided = p >= threshold
        assert found[f"recall{end}"] == pytest.approx(recall_score(targets, decided))
        assert found[f"specificity{end}"] == pytest.approx(recall_score(targets, decided, pos_label=0))
        assert found[f"precision{end}"] == pytest.approx(precision_score(targets, decided, zero_division=0))
        assert found[f"f1{end}"] == pytest.approx(f1_score(targets, decided, zero_division=0))
    clipped = np.clip(p, 2.0**-25, 1 - 2.0**-25)
    scaled = 1 / (1 + ((1 - clipped) / clipped) ** (1 / found["temperature"]))
    assert found["brier_score"] == pytest.approx(brier_score_loss(targets, p))
    assert found["brier_score_scaled"] == pytest.approx(brier_score_loss(targets, scaled), abs=1e-9)
    assert found["negative_log_likelihood"] == pytest.approx(log_loss(targets, clipped))
    assert found["reached"] == (found["recall_chosen"] >= recall)


def test_validation_images_alone_choose() -> None:
    validation = frame(*map(list, simulated(60, sharpness=2, seed=0)))
    one, two = (frame(*map(list, simulated(60, sharpness=2, seed=seed))) for seed in (1, 2))
    found = [operating_point(validation, test, recall=0.8) for test in (one, two)]
    for name in ("threshold", "temperature", "validation_recall", "validation_positives"):
        assert found[0][name] == found[1][name]
    assert all(found[0][name] != found[1][name] for name in (*DECISIONS, *CALIBRATION))


def test_images_of_one_class_and_what_is_no_probability_are_refused() -> None:
    both = frame([1, 0], [0.9, 0.1])
    for images in (frame([0, 0], [0.1, 0.2]), frame([1, 1], [0.1, 0.2])):
        for validation, test in ((images, both), (both, images)):
            with pytest.raises(ValueError, match=r"of 2 images [02] are positive.*both classes"):
                operating_point(validation, test, recall=0.8)
    for p in (np.nan, 1.5, -0.1):
        with pytest.raises(ValueError, match="not between 0 and 1"):
            fit_temperature([1, 0], [p, 0.5])


def write_run(folder: Path, *, seed: int, status: str = "ok") -> dict[str, pd.DataFrame]:
    parts = {}
    for role, offset in (("validation", 0), ("test", 100)):
        targets, p = simulated(60, sharpness=2, seed=seed + offset)
        parts[role] = pd.DataFrame({"image_id": "i", "role": role, "target": targets, "probability": p})
    folder.mkdir(parents=True)
    pd.concat(parts.values()).iloc[: None if status == "ok" else 0].to_parquet(folder / "predictions.parquet")
    (folder / "run.json").write_text(json.dumps({"status": status}))
    return parts


def measured(root: Path, **changes: object) -> pd.DataFrame:
    rows = [make_row("phantom", "erm"), make_row("phantom", "fossil", "entropy")]
    values = {"study": "s", "rows": rows, "folds": 2, "seeds": [4, 7], "recall": 0.8}
    command.run(command.Settings.model_validate(values | changes), runs=root, metrics=root / "metrics.parquet")
    return pd.read_parquet(root / "metrics.parquet")


def test_the_stage_measures_every_run_and_says_which_lack_or_failed(tmp_path: Path) -> None:
    parts = write_run(tmp_path / "erm-baseline" / "fold1-seed7", seed=3)
    write_run(tmp_path / "fossil-entropy" / "fold0-seed4", seed=5, status="failed")
    table = measured(tmp_path)
    assert list(table.columns) == [
        *("study", "scenario", "method", "variant", "fold", "seed", "metric", "value", "status")
    ]
    keys = table[["scenario", "method", "variant", "fold", "seed"]].drop_duplicates().itertuples(index=False, name=None)
    arms = [("phantom", "erm", "baseline"), ("phantom", "fossil", "entropy")]
    assert list(keys) == [(*arm, fold, seed) for arm in arms for fold in (0, 1) for seed in (4, 7)]
    assert len(table) == 8 * len(OPERATING_METRICS)
    ok = table[table["status"] == "ok"]
    assert dict(zip(ok["metric"], ok["value"], strict=True)) == operating_point(
        parts["validation"], parts["test"], recall=0.8
    )
    assert set(ok["method"]) == {"erm"}
    assert table[table["value"].notna()].equals(ok)
    assert table["status"].value_counts().to_dict() == {
        status: runs * len(OPERATING_METRICS) for status, runs in (("missing", 6), ("ok", 1), ("failed", 1))
    }


def test_a_study_without_runs_and_a_run_that_cannot_be_measured_are_errors(tmp_path: Path) -> None:
    with pytest.raises(CollectError, match="none of its runs is there"):
        measured(tmp_path)
    parts = write_run(tmp_path / "erm-baseline" / "fold0-seed4", seed=3)
    parts["test"].to_parquet(tmp_path / "erm-baseline" / "fold0-seed4" / "predictions.parquet")
    with pytest.raises(CollectError, match=r"erm-baseline.fold0-seed4: of 0 images 0 are positive"):
        measured(tmp_path)
