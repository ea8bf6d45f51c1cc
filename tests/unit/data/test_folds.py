"""Folds: no patient is divided, every image tests once, and what cannot be divided is named."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fossil.commands import make_folds as folds_stage
from fossil.data.fold_data import FoldData, FoldDataError, load_fold
from tests.unit.data.fold_manifests import (
    ROLES,
    complaint,
    divide,
    make_manifest,
    many_patients,
    pairs_of,
    require_sound_folds,
)

# --- Real patients --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(pad_sample: Path) -> pd.DataFrame:
    """All 2298 rows of the real metadata, as a manifest, in the manifest's order."""
    table = pd.read_csv(pad_sample / "metadata.csv").rename(columns={"img_id": "image_id"})
    table["label"] = table["diagnostic"].isin(["MEL", "SCC"]).astype("int64")
    table = table.sort_values("image_id", ignore_index=True)
    assert (len(table), table["patient_id"].nunique(), table["label"].sum()) == (2298, 1373, 52 + 192)
    return table.assign(source_id=table["image_id"])[["image_id", "patient_id", "source_id", "label"]]


@pytest.mark.parametrize("folds", [3, 5])
def test_real_patients_are_never_divided_and_every_role_has_both_classes(real: pd.DataFrame, folds: int) -> None:
    require_sound_folds(real, divide(real, folds=folds), folds=folds, fraction=0.15)


@pytest.mark.parametrize("seed", [1, 42, 2025])
def test_no_patient_duplicate_or_augmented_copy_of_the_real_data_crosses(real: pd.DataFrame, seed: int) -> None:
    # The two files that are known to be pixel-identical belong to one patient; four more pairs are made up here that
    # belong to two, and every image of class 1 gets two augmented copies.
    known = {"PAT_701_4056_457.png": "PAT_701_1321_156.png"}
    singles = real.drop_duplicates("patient_id")["image_id"].tolist()
    pairs = known | dict(zip(singles[10:14], singles[:4], strict=True))
    copies = [
        real[real["label"] == 1].assign(image_id=lambda table, n=n: table["source_id"] + f"_copy{n}") for n in (1, 2)
    ]
    whole = pd.concat([real, *copies], ignore_index=True)
    roles = divide(whole, pairs_of(whole, pairs), folds=5, seed=seed).merge(whole, on="image_id")
    by_patient = roles.groupby(["fold", "patient_id"])["role"].nunique()
    by_source = roles.groupby(["fold", "source_id"])["role"].nunique()
    assert len(by_patient) == 5 * 1373
    assert by_patient.max() == by_source.max() == 1
    role = roles.set_index(["fold", "image_id"])["role"]
    for again, first in pairs.items():
        assert all(role[fold, again] == role[fold, first] for fold in range(5))
    assert len(set(known) & set(real["image_id"])) == 1


def test_every_fold_of_the_real_patients_has_about_the_same_share_of_positive_images(real: pd.DataFrame) -> None:
    table = divide(real, folds=5).merge(real, on="image_id")
    shares = table[table["role"] == "test"].groupby("fold")["label"].mean()
    assert np.abs(shares - 244 / 2298).max() < 0.02


def test_validation_has_about_the_share_of_positive_patients_of_training(real: pd.DataFrame) -> None:
    table = divide(real, folds=5).merge(real, on="image_id")
    patients = table.groupby(["fold", "role", "patient_id"])["label"].max()
    for fold in range(5):
        validation, train = patients[fold, "validation"], patients[fold, "train"]
        assert abs(validation.mean() - train.mean()) < 1 / len(validation)


# --- Made patients --------------------------------------------------------------------------------------------------


@st.composite
def manifests(draw: st.DrawFn) -> tuple[pd.DataFrame, int]:
    """Make enough patients for every role of every fold: some have several images."""
    folds = draw(st.integers(2, 4))
    single = [(f"n{n}", 0) for n in range(draw(st.integers(40, 70)))]
    single += [(f"p{n}", 1) for n in range(draw(st.integers(20, 30)))]
    several = draw(st.lists(st.lists(st.integers(0, 1), min_size=2, max_size=4), max_size=6))
    images = single + [(f"s{n}", label) for n, labels in enumerate(several) for label in labels]
    return make_manifest(draw(st.permutations(images))), folds


@settings(max_examples=30, deadline=None)
@given(manifests(), st.sampled_from([0.15, 0.3]), st.integers(0, 2**31))
def test_made_patients_are_never_divided_and_every_role_has_both_classes(
    made: tuple[pd.DataFrame, int], fraction: float, seed: int
) -> None:
    manifest, folds = made
    require_sound_folds(
        manifest, divide(manifest, folds=folds, fraction=fraction, seed=seed), folds=folds, fraction=fraction
    )


def test_fifteen_per_cent_of_the_training_patients_validate_rounded_up() -> None:
    manifest = many_patients(40, 20)
    roles = divide(manifest)
    counts = roles.groupby(["fold", "role"]).size()
    for fold in range(3):
        assert counts[fold, "validation"] == math.ceil(0.15 * (60 - counts[fold, "test"]))


def test_the_same_seed_gives_the_same_folds_and_another_gives_other_patients_to_validation_and_test() -> None:
    first, again, other = (divide(many_patients(40, 20), seed=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    for role in ("validation", "test"):
        one, two = (roles.loc[roles["role"].eq(role) & roles["fold"].eq(0), "image_id"] for roles in (first, other))
        assert set(one) != set(two)


def test_a_patient_with_both_classes_stays_together() -> None:
    manifest = make_manifest([(f"m{n}", label) for n in range(40) for label in (0, 0, 1)])
    require_sound_folds(manifest, divide(manifest), folds=3, fraction=0.15)


# --- Errors ---------------------------------------------------------------------------------------------------------


def few_positive(names: str, *, images: int) -> pd.DataFrame:
    """Make 40 negative patients with one image each, and named positive ones with so many."""
    return make_manifest([*((f"n{n}", 0) for n in range(40)), *((name, 1) for name in names for _ in range(images))])


@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
@pytest.mark.parametrize(
    ("manifest", "folds", "fraction", "message"),
    [
        (many_patients(1, 1, images=9), 3, 0.15, r"2 patients cannot be divided into images\.folds = 3 folds$"),
        (many_patients(4, 4), 5, 0.15, r".*images\.folds = 5"),
        (many_patients(40, 0), 3, 0.15, r"images\.folds = 3, but class 1 has 0 images"),
        (few_positive("p", images=9), 3, 0.15, "fold .*(no train image of class 1|1 of them with a positive image)"),
        # Three positive patients test in three of four folds; elsewhere two are left, and one of the two validates.
        (few_positive("pqr", images=6), 4, 0.5, r"fold [0123]: no test image of class 1;.*images\.folds"),
        # Of two positive patients with as many images as folds ask for, one tests and one is left.
        (
            *(few_positive("pq", images=3), 2, 0.15),
            r"fold 0: (?=.*1 of them with a positive image).*images\.validation_fraction = 0\.15",
        ),
        (many_patients(40, 10), 3, 0.01, r"fold 0: .*images\.validation_fraction = 0\.01"),
        (many_patients(40, 10), 3, 0.99, r"fold 0: .*images\.validation_fraction = 0\.99"),
        # In some fold 2 of about 29 patients left are positive; of the 5 that validate, that is a third of a patient.
        (many_patients(40, 4, images=6), 3, 0.15, "fold [012]: no validation image of class 1;"),
    ],
)
def test_what_cannot_be_divided_is_an_error_that_names_fold_role_class_and_key(
    manifest: pd.DataFrame, folds: int, fraction: float, message: str
) -> None:
    assert re.match(message, complaint(manifest, folds=folds, fraction=fraction))


# --- Command and loading ----------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    manifest = many_patients(40, 20)
    manifest.to_parquet(tmp_path / "manifest.parquet")
    pairs_of(manifest).to_parquet(tmp_path / "properties.parquet")
    np.save(tmp_path / "images.npy", np.arange(60, dtype=np.uint8).repeat(2 * 2 * 3).reshape(60, 2, 2, 3))
    folds_stage.run(
        folds_stage.Settings(folds=3, validation_fraction=0.15, seed=42),
        manifest=tmp_path / "manifest.parquet",
        properties=tmp_path / "properties.parquet",
        folds=tmp_path / "folds.parquet",
    )
    return tmp_path


def load(folder: Path, fold: int) -> FoldData:
    paths = {name: folder / f"{name}.parquet" for name in ("manifest", "folds")}
    return load_fold(**paths, images=folder / "images.npy", fold=fold)


def test_a_loaded_fold_has_the_roles_that_were_made_beside_the_right_images(folder: Path) -> None:
    made = divide(many_patients(40, 20))
    data = load(folder, 1)
    assert list(data.table["image_id"]) == [f"image_{n:05d}" for n in range(60)]
    assert list(data.table["role"]) == list(made.loc[made["fold"] == 1, "role"])
    assert data.images[:, 0, 0, 0].tolist() == list(range(60))
    for role in ROLES:
        assert set(data.table["role"].iloc[data.positions(role)]) == {role}
    assert sorted(np.concatenate([data.positions(role) for role in ROLES])) == list(range(60))


def test_a_fold_that_was_not_made_is_an_error_that_names_the_file(folder: Path) -> None:
    with pytest.raises(FoldDataError, match=r"folds\.parquet: fold 3 has no role"):
        load(folder, 3)


def test_an_array_with_another_number_of_images_than_the_manifest_is_an_error_that_names_it(folder: Path) -> None:
    np.save(folder / "images.npy", np.zeros((61, 2, 2, 3), dtype=np.uint8))
    with pytest.raises(FoldDataError, match=r"images\.npy"):
        load(folder, 1)
