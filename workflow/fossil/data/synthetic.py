"""Generated classification problems with a chosen imbalance, split into training, validation and test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from fossil.config import SyntheticScenario


@dataclass(frozen=True)
class Split:
    """Inputs of shape (n, features), float64, and targets of shape (n,), int64."""

    inputs: NDArray[np.float64]
    targets: NDArray[np.int64]


@dataclass(frozen=True)
class SyntheticData:
    """The three splits of one generated problem."""

    train: Split
    validation: Split
    test: Split


def make_synthetic(scenario: SyntheticScenario, *, seed: int) -> SyntheticData:
    """Generate and split a problem (paper, Sec. 5 and App. B.1); the seed makes the data and both splits.

    The test split is cut off first and the validation split from the rest, both stratified. Inputs are standardised
    with mean and deviation of the training split.
    """
    majority = scenario.imbalance_ratio / (1 + scenario.imbalance_ratio)
    inputs, targets = make_classification(
        n_samples=scenario.n_samples,
        n_features=scenario.n_features,
        n_informative=scenario.n_informative,
        n_redundant=scenario.n_redundant,
        n_clusters_per_class=scenario.n_clusters_per_class,
        weights=[majority],
        flip_y=scenario.flip_y,
        class_sep=scenario.class_sep,
        random_state=seed,
    )
    rest, test = _split(Split(inputs, targets), scenario.test_fraction, seed)
    train, validation = _split(rest, scenario.validation_fraction, seed)
    if not scenario.standardise:
        return SyntheticData(train, validation, test)
    scaler = StandardScaler().fit(train.inputs)
    return SyntheticData(*(Split(scaler.transform(part.inputs), part.targets) for part in (train, validation, test)))


def _split(data: Split, fraction: float, seed: int) -> tuple[Split, Split]:
    try:
        kept_inputs, cut_inputs, kept_targets, cut_targets = train_test_split(
            data.inputs, data.targets, test_size=fraction, stratify=data.targets, random_state=seed
        )
    except ValueError as error:
        raise ValueError(
            f"synthetic.scenarios: {len(data.targets)} samples with {data.targets.sum()} of class 1 cannot be split at "
            f"{fraction} (seed {seed}): {error}. Raise n_samples or lower imbalance_ratio"
        ) from None
    return Split(kept_inputs, kept_targets), Split(cut_inputs, cut_targets)
