"""Generated problems and their splits, by hand calculation and against scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification

from fossil.config.synthetic import SyntheticScenario
from fossil.data.synthetic import SyntheticData, make_synthetic

SEEDS = [42, 77, 123]


def make(seed: int = 42, **changes: Any) -> SyntheticData:
    return make_synthetic(SyntheticScenario(**changes), seed=seed)


def whole(data: SyntheticData, column: str) -> np.ndarray:
    """Inputs or targets of all splits."""
    return np.concatenate([getattr(part, column) for part in (data.train, data.validation, data.test)])


@pytest.mark.parametrize(
    ("n_samples", "sizes"),
    [
        # A fifth tests: 600; 15% of the other 2400 validate: 360. A hundred samples: 20, then 12 of 80.
        (3000, (2040, 360, 600)),
        (100, (68, 12, 20)),
    ],
)
def test_splits_have_the_sizes_of_the_protocol(n_samples: int, sizes: tuple[int, int, int]) -> None:
    data = make(n_samples=n_samples, imbalance_ratio=3.0)
    parts = (data.train, data.validation, data.test)
    assert tuple(len(part.targets) for part in parts) == sizes
    assert [part.inputs.shape for part in parts] == [(size, 20) for size in sizes]
    assert {part.inputs.dtype for part in parts} == {np.dtype("float64")}
    assert {part.targets.dtype for part in parts} == {np.dtype("int64")}


@pytest.mark.parametrize("seed", SEEDS)
def test_each_split_has_the_share_of_positives_of_the_whole(seed: int) -> None:
    data = make(seed)
    share = whole(data, "targets").mean()
    for part in (data.train, data.validation, data.test):
        # Stratified twice, so each count is off by rounding at most, once for each cut.
        assert abs(part.targets.sum() - share * len(part.targets)) <= 2


def test_inputs_are_standardised_on_the_training_split_and_only_there() -> None:
    data = make()
    np.testing.assert_allclose(data.train.inputs.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(data.train.inputs.std(0), 1, rtol=1e-12)
    for part in (data.validation, data.test):
        assert np.abs(part.inputs.mean(0)).max() > 1e-3
        assert np.abs(part.inputs.std(0) - 1).max() > 1e-3


def test_other_splits_are_scaled_with_mean_and_deviation_of_the_training_split() -> None:
    raw, scaled = make(standardise=False), make()
    mean, deviation = raw.train.inputs.mean(0), raw.train.inputs.std(0)
    for part in ("train", "validation", "test"):
        expected = (getattr(raw, part).inputs - mean) / deviation
        np.testing.assert_allclose(getattr(scaled, part).inputs, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(getattr(scaled, part).targets, getattr(raw, part).targets)


def test_splits_are_disjoint_and_together_are_the_generated_problem() -> None:
    data = make(seed=77, standardise=False)
    rows = np.column_stack([whole(data, "inputs"), whole(data, "targets")])
    assert len(np.unique(rows, axis=0)) == 3000
    inputs, targets = make_classification(
        n_samples=3000,
        n_features=20,
        n_informative=10,
        n_redundant=5,
        n_clusters_per_class=2,
        weights=[0.9],
        flip_y=0.05,
        class_sep=1.0,
        random_state=77,
    )
    generated = np.column_stack([inputs, targets])
    np.testing.assert_array_equal(np.unique(rows, axis=0), np.unique(generated, axis=0))


def test_same_seed_gives_the_same_data_and_another_seed_other_data() -> None:
    first, again, other = make(123), make(123), make(999)
    for part in ("train", "validation", "test"):
        np.testing.assert_array_equal(getattr(first, part).inputs, getattr(again, part).inputs)
        np.testing.assert_array_equal(getattr(first, part).targets, getattr(again, part).targets)
    assert not np.array_equal(first.train.inputs, other.train.inputs)
    assert first.train.inputs.shape == other.train.inputs.shape


def test_data_do_not_depend_on_the_global_random_state() -> None:
    np.random.seed(0)  # noqa: NPY002
    first = make(42)
    np.random.seed(1)  # noqa: NPY002
    np.testing.assert_array_equal(first.test.inputs, make(42).test.inputs)


@pytest.mark.parametrize(("ratio", "minority"), [(9.0, 300), (4.0, 600), (1.0, 1500)])
def test_without_label_noise_the_minority_is_its_share_of_the_imbalance_ratio(ratio: float, minority: int) -> None:
    # n / (1 + IR), give or take the rounding of four clusters.
    assert abs(whole(make(imbalance_ratio=ratio, flip_y=0.0), "targets").sum() - minority) <= 4


@pytest.mark.parametrize("seed", SEEDS)
def test_label_noise_moves_the_imbalance_as_calculated(seed: int) -> None:
    # A share f of the labels is drawn anew, half of them positive: 300 (1 - f/2) + 2700 f/2 = 300 * .975 + 2700 * .025
    # = 360 positives, with a variance of 3000 * .025 * .975, so a deviation of 8.6.
    assert abs(whole(make(seed), "targets").sum() - 360) <= 4 * 8.6
    # f = .4: 300 * .8 + 2700 * .2 = 780, deviation sqrt(3000 * .2 * .8) = 21.9.
    assert abs(whole(make(seed, flip_y=0.4), "targets").sum() - 780) <= 4 * 21.9


def test_number_of_features_is_that_of_the_scenario() -> None:
    data = make(n_features=7, n_informative=4, n_redundant=2, n_samples=200)
    assert data.test.inputs.shape == (40, 7)
