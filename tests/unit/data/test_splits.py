"""Problems on disk, and augmented copies of their training samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fossil.commands import make_synthetic as command
from fossil.config.synthetic import SyntheticAugmentation, SyntheticScenario
from fossil.data.splits import ROLES, SyntheticData, as_table, read_problems
from fossil.data.synthetic import make_synthetic
from fossil.design.models import Problem
from fossil.runtime.files import read_json, sha256, write_parquet

SCENARIO = SyntheticScenario(n_samples=500, imbalance_ratio=4.0)
SEEDS = [3, 4]


def augmented(seed: int = 3, **options: Any) -> SyntheticData:
    return make_synthetic(SCENARIO, seed=seed, augmentation=SyntheticAugmentation(**options))


def plain(seed: int = 3) -> SyntheticData:
    return make_synthetic(SCENARIO, seed=seed)


def test_problems_are_read_as_they_were_written_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    written = {seed: augmented(seed) for seed in SEEDS}
    write_parquet(path, as_table(written))
    for seed, found in zip((4, 3), read_problems(path, [4, 3]), strict=True):
        for role in ROLES:
            mine, theirs = getattr(found, role), getattr(written[seed], role)
            np.testing.assert_array_equal(mine.inputs, theirs.inputs)
            np.testing.assert_array_equal(mine.targets, theirs.targets)
            np.testing.assert_array_equal(mine.is_augmented, theirs.is_augmented)
            assert mine.inputs.dtype == np.float64


def test_a_seed_that_is_not_in_the_file_is_an_error_that_names_both(tmp_path: Path) -> None:
    write_parquet(tmp_path / "p.parquet", as_table({3: plain()}))
    with pytest.raises(ValueError, match=r"p\.parquet: no problem for seeds \[5\]"):
        read_problems(tmp_path / "p.parquet", [3, 5])


def test_copies_come_after_the_originals_and_change_neither_them_nor_the_other_splits() -> None:
    with_copies, without = augmented(), plain()
    count = len(without.train.targets)
    np.testing.assert_array_equal(with_copies.train.inputs[:count], without.train.inputs)
    assert not with_copies.train.is_augmented[:count].any()
    assert with_copies.train.is_augmented[count:].all()
    for role in ("validation", "test"):
        np.testing.assert_array_equal(getattr(with_copies, role).inputs, getattr(without, role).inputs)
        assert not getattr(with_copies, role).is_augmented.any()
    assert with_copies.train.class_counts == without.train.class_counts


@pytest.mark.parametrize("copies", [1, 3])
def test_minority_samples_take_turns_until_the_nominal_number_of_copies_is_reached(copies: int) -> None:
    train = augmented(copies=copies).train
    source = train.source[train.is_augmented]
    originals = int((~train.is_augmented).sum())
    # 500 samples: 100 test, 60 of the rest validate, 340 train; a fifth of them are nominally positive.
    assert originals == 340
    assert len(source) == copies * 68
    assert (train.targets[source] == 1).all()
    turns = np.bincount(source, minlength=originals)[train.targets[:originals] == 1]
    assert turns.max() - turns.min() <= 1


def test_all_samples_can_be_copied() -> None:
    train = augmented(classes="all", copies=2).train
    source = train.source[train.is_augmented]
    assert np.bincount(source).tolist() == [2] * 340
    np.testing.assert_array_equal(train.targets[train.is_augmented], train.targets[source])


def test_a_copy_is_its_original_with_noise_in_proportion_to_the_feature() -> None:
    scenario = SCENARIO.model_copy(update={"standardise": False, "n_samples": 5000})
    train = make_synthetic(scenario, seed=3, augmentation=SyntheticAugmentation(classes="all", noise=0.2)).train
    source = train.source[train.is_augmented]
    noise = train.inputs[train.is_augmented] - train.inputs[source]
    spread = train.inputs[~train.is_augmented].std(axis=0)
    np.testing.assert_allclose(noise.std(axis=0) / spread, 0.2, rtol=0.05)
    assert np.abs(noise.mean(axis=0) / spread).max() < 0.01


def test_copies_depend_on_the_seed_and_on_nothing_else() -> None:
    np.testing.assert_array_equal(augmented().train.inputs, augmented().train.inputs)

    def noise(seed: int) -> np.ndarray:
        train = augmented(seed).train
        copies = train.is_augmented
        return (train.inputs[copies] - train.inputs[train.source[copies]]) / train.inputs[~copies].std(axis=0)

    assert np.abs(noise(3) - noise(4)).max() > 0.01


def test_stage_writes_problems_and_describes_them(tmp_path: Path) -> None:
    options = SyntheticAugmentation(copies=1)
    settings = command.Settings(
        problems={
            "plain": Problem(scenario=SCENARIO, augmentation=None),
            "copied": Problem(scenario=SCENARIO, augmentation=options),
        },
        seeds=SEEDS,
    )
    paths = {kind: [tmp_path / f"{name}.{kind}" for name in settings.problems] for kind in ("parquet", "json")}
    command.run(settings, problems=paths["parquet"], descriptions=paths["json"])
    found = read_problems(tmp_path / "copied.parquet", SEEDS)
    record = read_json(tmp_path / "copied.json")
    assert record["sha256"] == sha256(tmp_path / "copied.parquet")
    assert record["imbalance_ratio"] == 4.0
    assert record["augmented"]
    train = record["splits"]["train"]
    assert train["rows"] == 340 + 68
    for seed, problem in zip(SEEDS, found, strict=True):
        originals, rows = train["class_counts"][str(seed)], train["class_counts_of_rows"][str(seed)]
        assert originals == problem.train.class_counts
        assert rows == [originals[0], originals[1] + 68]
    assert not read_json(tmp_path / "plain.json")["augmented"]
