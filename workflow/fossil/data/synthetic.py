"""Generated classification problems with a chosen imbalance, split into training, validation and test."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from fossil.config.synthetic import SyntheticAugmentation, SyntheticScenario
from fossil.data.splits import Split, SyntheticData


def make_synthetic(
    scenario: SyntheticScenario, *, seed: int, augmentation: SyntheticAugmentation | None = None
) -> SyntheticData:
    """Generate and split a problem (paper, Sec. 5 and App. B.1); the seed decides data, splits and copies.

    The test split is cut off first and the validation split from the rest, both stratified. Inputs are standardised
    with mean and deviation of the training split. Augmented copies come after the originals, which are the same with
    and without them.
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
    if scenario.standardise:
        scaler = StandardScaler().fit(train.inputs)
        train, validation, test = (
            Split(scaler.transform(part.inputs), part.targets) for part in (train, validation, test)
        )
    if augmentation is not None:
        train = augment(train, augmentation, imbalance_ratio=scenario.imbalance_ratio, seed=seed)
    return SyntheticData(train, validation, test)


def augment(split: Split, options: SyntheticAugmentation, *, imbalance_ratio: float, seed: int) -> Split:
    """Append augmented copies: originals with Gaussian noise in every feature.

    Where only the minority is copied, the number of copies is ``copies`` times the nominal number of minority samples,
    n / (1 + imbalance ratio), so that it does not depend on the labels that were flipped; the originals of class 1 take
    turns in random order.
    """
    draws = np.random.default_rng([seed, 1])
    source = _copied(split.targets, options, imbalance_ratio, draws)
    noise = options.noise * split.inputs.std(axis=0) * draws.standard_normal((len(source), split.inputs.shape[1]))
    return Split(
        np.concatenate([split.inputs, split.inputs[source] + noise]),
        np.concatenate([split.targets, split.targets[source]]),
        np.concatenate([np.full(len(split.targets), -1), source]),
    )


def _copied(
    targets: NDArray[np.int64], options: SyntheticAugmentation, imbalance_ratio: float, draws: np.random.Generator
) -> NDArray[np.int64]:
    if options.classes == "all":
        return np.tile(np.arange(len(targets)), options.copies)
    minority = draws.permutation(np.flatnonzero(targets == 1))
    return np.resize(minority, round(options.copies * len(targets) / (1 + imbalance_ratio)))


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
