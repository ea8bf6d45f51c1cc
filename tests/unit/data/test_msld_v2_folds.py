"""The folds that MSLD v2.0 comes with: patients that cross, copies that leak."""

from __future__ import annotations

import logging
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.data.msld_folders import (
    AUGMENTED,
    ORIGINALS,
    PREFIXES,
    PUBLISHED,
    fold_facts,
    jpeg,
    name_of,
    official_split,
    read,
    write,
    write_copy,
    write_folds,
)

# --- Official folds -------------------------------------------------------------------------------------------------


def test_folds_that_divide_no_patient_have_nothing_to_report(tmp_path: Path) -> None:
    found = read(write_folds(tmp_path))
    for fold in range(1, 6):
        assert fold_facts(found, fold) == {
            "fold": fold,
            "images": 12,
            "patients": 8,
            "crossing_patients": [],
            "images_in_two_splits": [],
            "missing_images": [],
            "augmented_copies": 0,
            "leaking_copies": 0,
            "leaking_copies_of_the_same_image": 0,
            "leaking_patients": [],
        }


@pytest.mark.parametrize("splits", [("Train", "Test"), ("Train", "Valid"), ("Valid", "Test")])
def test_a_patient_in_two_splits_is_named_in_that_fold_only(tmp_path: Path, splits: tuple[str, str]) -> None:
    moved = {("MKP_01_01", 3): splits[0], ("MKP_01_02", 3): splits[1]}
    found = read(write_folds(tmp_path, moved=moved))
    assert [facts["crossing_patients"] for facts in found.facts["official_folds"]] == [[], [], ["MKP_01"], [], []]
    assert all(facts["images_in_two_splits"] == [] for facts in found.facts["official_folds"])


def test_an_image_in_two_splits_is_named_and_so_is_its_patient(tmp_path: Path) -> None:
    write_folds(tmp_path)
    name = name_of(2, "Test")
    write(tmp_path, PUBLISHED.path(name, fold=2, split="Train"), jpeg(name))
    found = read(tmp_path)
    assert fold_facts(found, 2)["images_in_two_splits"] == [name]
    assert fold_facts(found, 2)["crossing_patients"] == [name.rsplit("_", 1)[0]]
    assert fold_facts(found, 2)["images"] == 12
    assert len(found.table) == 12


def test_an_original_that_a_fold_lacks_is_named(tmp_path: Path) -> None:
    write_folds(tmp_path)
    (tmp_path / PUBLISHED.path("CHP_01_02", fold=4, split=official_split("CHP_01_02", 4))).unlink()
    found = read(tmp_path)
    assert [facts["missing_images"] for facts in found.facts["official_folds"]] == [[], [], [], ["CHP_01_02"], []]
    assert fold_facts(found, 4)["images"] == 11


# --- Augmented copies -----------------------------------------------------------------------------------------------


def test_augmented_copies_are_counted_and_are_no_rows(tmp_path: Path) -> None:
    before = read(write_folds(tmp_path))
    name = name_of(1, "Train")
    for copy in (f"{name}_ORIGINAL", f"{name}_1", f"{name}_14", name):
        write_copy(tmp_path, copy, fold=1)
    after = read(tmp_path)
    pd.testing.assert_frame_equal(after.table, before.table)
    assert after.facts["augmented_copies"] == fold_facts(after, 1)["augmented_copies"] == 4
    assert fold_facts(after, 1)["leaking_copies"] == fold_facts(after, 2)["augmented_copies"] == 0


AUGMENTED_FOLDERS = [
    *("FOLDS_AUG/fold2", "Augmented Images/fold2", "fold2_AUG", "folds/fold 2 augmented", "AUGMENTED/FOLD2"),
    "fold2/Augmented",
]


@pytest.mark.parametrize(
    "path",
    [
        # In an augmented folder, whatever its name.
        *(f"{folder}/Train/{{class_name}}/{{name}}.jpg" for folder in AUGMENTED_FOLDERS),
        # By its name in a folder of originals too.
        *(
            PUBLISHED.folder.format(fold=2, split="Train", class_name="{class_name}") + f"/{{name}}{copy}.jpg"
            for copy in ("_ORIGINAL", "_3", " (3)", "-rotated", ".2")
        ),
    ],
)
def test_a_copy_is_known_by_its_folder_or_its_name(tmp_path: Path, path: str) -> None:
    before = read(write_folds(tmp_path))
    name = name_of(2, "Train")
    write(tmp_path, path.format(name=name, class_name=PREFIXES[name.split("_")[0]]), jpeg("turned"))
    after = read(tmp_path)
    assert after.facts["augmented_copies"] == fold_facts(after, 2)["augmented_copies"] == 1
    pd.testing.assert_frame_equal(after.table, before.table)
    assert after.facts["differing_files"] == []


@pytest.mark.parametrize("split", ["Valid", "Test"])
@pytest.mark.parametrize("suffix", ["_ORIGINAL", "_7", ""])
def test_a_training_copy_of_a_held_out_image_is_a_leak(
    tmp_path: Path, split: str, suffix: str, caplog: pytest.LogCaptureFixture
) -> None:
    write_folds(tmp_path)
    name = name_of(3, split)
    write_copy(tmp_path, name + suffix, fold=3)
    with caplog.at_level(logging.WARNING, logger="fossil"):
        found = read(tmp_path)
    assert [facts["leaking_copies"] for facts in found.facts["official_folds"]] == [0, 0, 1, 0, 0]
    assert fold_facts(found, 3)["leaking_copies_of_the_same_image"] == 1
    assert fold_facts(found, 3)["leaking_patients"] == [name.rsplit("_", 1)[0]]
    assert "official fold 3: 1 augmented training copies leak" in caplog.text


def test_a_training_copy_of_another_image_of_a_held_out_patient_is_a_leak(tmp_path: Path) -> None:
    write_folds(tmp_path, moved={("MKP_01_01", 1): "Train", ("MKP_01_02", 1): "Test"})
    write_copy(tmp_path, "MKP_01_01_1", fold=1)
    facts = fold_facts(read(tmp_path), 1)
    assert (facts["leaking_copies"], facts["leaking_copies_of_the_same_image"]) == (1, 0)
    assert facts["leaking_patients"] == ["MKP_01"]


def test_a_copy_that_is_held_out_with_its_original_is_no_leak(tmp_path: Path) -> None:
    write_folds(tmp_path)
    write_copy(tmp_path, f"{name_of(1, 'Test')}_1", fold=1, split="Test")
    facts = fold_facts(read(tmp_path), 1)
    assert (facts["augmented_copies"], facts["leaking_copies"]) == (1, 0)


def test_a_copy_belongs_to_the_original_of_its_whole_number_and_not_to_one_that_begins_alike(tmp_path: Path) -> None:
    names = [*ORIGINALS, "HFMD_1_1", "HFMD_1_11"]
    write_folds(tmp_path, names, moved={("HFMD_1_11", 1): "Test", ("HFMD_1_1", 1): "Train"})
    write_copy(tmp_path, "HFMD_1_11_4", fold=1)
    assert fold_facts(read(tmp_path), 1)["leaking_copies_of_the_same_image"] == 1


def test_copies_of_no_original_are_counted_named_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_folds(tmp_path)
    write_copy(tmp_path, "MKP_99_01_1", fold=1)
    with caplog.at_level(logging.WARNING, logger="fossil"):
        found = read(tmp_path)
    path = AUGMENTED.path("MKP_99_01_1")
    assert found.facts["copies_without_original"] == {"count": 1, "names": [path]}
    assert found.facts["augmented_copies"] == fold_facts(found, 1)["augmented_copies"] == 0
    assert path in caplog.text


@given(st.sets(st.tuples(st.sampled_from(ORIGINALS), st.integers(1, 14), st.integers(1, 5)), max_size=25))
@settings(deadline=None, max_examples=10)
def test_leaks_are_the_training_copies_of_those_held_out(
    tmp_path_factory: pytest.TempPathFactory, copies: set[tuple[str, int, int]]
) -> None:
    root = write_folds(tmp_path_factory.mktemp("leaks"))
    for name, number, fold in copies:
        write_copy(root, f"{name}_{number}", fold=fold)
    found = read(root)
    for fold in range(1, 6):
        mine = [name for name, _, where in copies if where == fold]
        assert fold_facts(found, fold)["augmented_copies"] == len(mine)
        held_out = [name for name in mine if official_split(name, fold) != "Train"]
        assert fold_facts(found, fold)["leaking_copies"] == len(held_out)
