"""Manifest of MSLD v2.0: layouts, what is not taken, and errors that name what is wrong."""

from __future__ import annotations

import hashlib
import logging
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fossil.data.manifest import COLUMNS
from fossil.runtime import files
from fossil.runtime.files import read_json, write_json
from tests.unit.data.msld_folders import (
    LAYOUTS,
    ORIGINALS,
    PREFIXES,
    PUBLISHED,
    complaint,
    fold_facts,
    jpeg,
    name_of,
    official_split,
    read,
    write,
    write_copy,
    write_flat,
    write_folds,
)

# --- What is read ---------------------------------------------------------------------------------------------------


def test_each_original_is_one_row_with_patient_class_label_hash_and_the_first_of_its_places(tmp_path: Path) -> None:
    table = read(write_folds(tmp_path)).table
    assert list(table.columns) == list(COLUMNS)
    assert list(table["image_id"]) == sorted(ORIGINALS)
    assert list(table["source_id"]) == sorted(ORIGINALS)
    assert not table["is_augmented"].any()
    for row in table.itertuples():
        prefix, patient, _ = row.image_id.split("_")
        assert row.patient_id == f"{prefix}_{patient}"
        assert row.class_name == PREFIXES[prefix]
        assert row.label == (prefix == "MKP")
        assert row.sha256 == hashlib.sha256(jpeg(row.image_id)).hexdigest()
        assert row.path == PUBLISHED.path(row.image_id, fold=1, split=official_split(row.image_id, 1))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_changes_nothing_but_the_path(tmp_path: Path, layout: str) -> None:
    published = read(write_folds(tmp_path / "published"))
    found = read(write_folds(tmp_path / "other", layout=LAYOUTS[layout]))
    pd.testing.assert_frame_equal(found.table.drop(columns="path"), published.table.drop(columns="path"))
    assert found.facts == published.facts
    assert all((tmp_path / "other" / path).is_file() for path in found.table["path"])


@pytest.mark.parametrize("depth", range(4))
def test_the_folder_may_be_any_one_above_the_folds(tmp_path: Path, depth: int) -> None:
    write_folds(tmp_path, layout=LAYOUTS["parent"])
    inside = "/".join(["mpox-skin-lesion/versions/4", "Original Images", "Original Images", "FOLDS"][:depth])
    assert read(tmp_path / inside).facts == read(tmp_path).facts


def test_a_flat_folder_of_classes_gives_the_same_rows_and_no_folds(tmp_path: Path) -> None:
    flat = read(write_flat(tmp_path / "flat"))
    folds = read(write_folds(tmp_path / "folds"))
    pd.testing.assert_frame_equal(flat.table.drop(columns="path"), folds.table.drop(columns="path"))
    assert flat.facts["folds"] == flat.facts["official_folds"] == []


def test_splits_without_folds_are_read_and_are_no_official_fold(tmp_path: Path) -> None:
    for name in ORIGINALS:
        write(tmp_path, f"{official_split(name, 1)}/{PREFIXES[name.split('_')[0]]}/{name}.jpg", jpeg(name))
    found = read(tmp_path)
    assert list(found.table["image_id"]) == sorted(ORIGINALS)
    assert found.facts["folds"] == []


def test_some_of_the_folds_are_enough_and_the_facts_say_which(tmp_path: Path) -> None:
    found = read(write_folds(tmp_path, folds=[2, 5]))
    assert found.facts["folds"] == [2, 5]
    assert list(found.table["image_id"]) == sorted(ORIGINALS)


def test_links_to_folders_and_files_are_followed(tmp_path: Path) -> None:
    store = write_folds(tmp_path / "store")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(store, target_is_directory=True)
    one = PUBLISHED.path("MKP_09_01")
    write(tmp_path, "elsewhere.bin", jpeg("MKP_09_01"))
    (store / one).symlink_to(tmp_path / "elsewhere.bin")
    table = read(tmp_path / "root").table.set_index("image_id")
    assert set(table.index) == {*ORIGINALS, "MKP_09_01"}
    assert table.loc["MKP_09_01", "path"] == f"link/{one}"


@pytest.mark.parametrize("seed", range(2))
def test_the_order_in_which_files_are_listed_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    write_folds(tmp_path)
    write_copy(tmp_path, f"{name_of(1, 'Test')}_2", fold=1)
    write(tmp_path, "unknown.txt")
    write(tmp_path, "another.txt")
    for name in ORIGINALS:
        path = PUBLISHED.path(name, split=official_split(name, 1))
        write(tmp_path, path.replace(".jpg", ".jpeg"), jpeg(name))
    before = read(tmp_path)
    walk, shuffle = os.walk, random.Random(seed).shuffle

    def shuffled(*arguments: Any, **options: Any) -> Iterator[tuple[str, list[str], list[str]]]:
        for parent, folders, names in walk(*arguments, **options):
            shuffle(folders)
            shuffle(names)
            yield parent, folders, names

    monkeypatch.setattr(files.os, "walk", shuffled)
    after = read(tmp_path)
    pd.testing.assert_frame_equal(after.table, before.table)
    assert after.facts == before.facts


def test_a_patient_number_is_one_patient_with_and_without_leading_zero(tmp_path: Path) -> None:
    write_flat(tmp_path, [*ORIGINALS, "MKP_1_07"])
    table = read(tmp_path).table.set_index("image_id")
    assert table.loc["MKP_1_07", "patient_id"] == table.loc["MKP_01_01", "patient_id"] == "MKP_01"


def test_facts_count_images_and_patients_and_are_written_as_json(tmp_path: Path) -> None:
    facts = read(write_folds(tmp_path / "data")).facts
    assert facts["found"] == {
        "Chickenpox": {"images": 2, "patients": 1},
        "Cowpox": {"images": 3, "patients": 1},
        "HFMD": {"images": 1, "patients": 1},
        "Healthy": {"images": 1, "patients": 1},
        "Measles": {"images": 1, "patients": 1},
        "Monkeypox": {"images": 4, "patients": 3},
    }
    write_json(tmp_path / "facts.json", facts)
    assert read_json(tmp_path / "facts.json") == facts


# --- What is not taken ----------------------------------------------------------------------------------------------


def test_hidden_files_and_those_of_operating_systems_are_passed_over(tmp_path: Path) -> None:
    before = read(write_folds(tmp_path))
    folder = Path(PUBLISHED.path("MKP_01_01")).parent
    for path in (".DS_Store", folder / ".DS_Store", folder / "Thumbs.db", folder / "._MKP_01_01.jpg", "desktop.ini"):
        write(tmp_path, str(path))
    write(tmp_path, "__MACOSX/Original Images/FOLDS/fold1/Train/Monkeypox/MKP_88_01.jpg", b"no photograph")
    after = read(tmp_path)
    pd.testing.assert_frame_equal(after.table, before.table)
    assert after.facts == before.facts


@pytest.mark.parametrize(
    "path",
    [
        "notes.txt",
        "FOLDS/fold1/Train/Monkeypox/MKP_50_01.gif",
        "FOLDS/fold1/Train/Monkeypox/MPX_50_01.jpg",
        "FOLDS/fold1/Train/Monkeypox/MKP_50.jpg",
        "FOLDS/fold1/Train/Monkeypox/MKP_50_01b.jpg",
        "FOLDS/fold1/Train/Monkeypox/old/MKP_50_01.jpg",
        "FOLDS/fold1/Train/old/Monkeypox/MKP_50_01.jpg",
        "FOLDS/fold6/Train/Monkeypox/MKP_50_01.jpg",
        "FOLDS/fold1/Train/Test/Monkeypox/MKP_50_01.jpg",
        "FOLDS/fold1/fold2/Train/Monkeypox/MKP_50_01.jpg",
        "FOLDS/fold1/Train/MKP_50_01.jpg",
        "FOLDS/fold1/Train/Smallpox/MKP_50_01.jpg",
    ],
)
def test_an_unknown_file_is_counted_and_named_and_not_taken(
    tmp_path: Path, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    write_folds(tmp_path)
    write(tmp_path, path, jpeg("MKP_50_01"))
    with caplog.at_level(logging.WARNING, logger="fossil"):
        found = read(tmp_path)
    assert found.facts["unknown_files"] == {"count": 1, "names": [path]}
    assert list(found.table["image_id"]) == sorted(ORIGINALS)
    assert path in caplog.text


def test_of_many_unknown_files_all_are_counted_and_twenty_named(tmp_path: Path) -> None:
    write_folds(tmp_path)
    for number in range(30):
        write(tmp_path, f"note{number:02d}.txt")
    unknown = read(tmp_path).facts["unknown_files"]
    assert unknown == {"count": 30, "names": [f"note{number:02d}.txt" for number in range(20)]}


@pytest.mark.parametrize("content", [jpeg("another"), jpeg("CWP_07_02")[:-1] + b"x"])
def test_an_original_whose_files_differ_even_in_the_last_byte_is_one_row_and_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    write_folds(tmp_path)
    before = read(tmp_path)
    assert before.facts["differing_files"] == []
    write(tmp_path, PUBLISHED.path("CWP_07_02", fold=4, split=official_split("CWP_07_02", 4)), content)
    with caplog.at_level(logging.WARNING, logger="fossil"):
        after = read(tmp_path)
    assert after.facts["differing_files"] == ["CWP_07_02"]
    assert "CWP_07_02" in caplog.text
    pd.testing.assert_frame_equal(after.table, before.table)


def test_one_photograph_under_two_names_is_reported(tmp_path: Path) -> None:
    write_flat(tmp_path)
    write(tmp_path, "Healthy/HEALTHY_77_01.jpg", jpeg("CWP_07_01"))
    assert read(tmp_path).facts["same_photograph"] == [["CWP_07_01", "HEALTHY_77_01"]]


def test_fewer_originals_than_published_are_said_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="fossil"):
        read(write_flat(tmp_path))
    assert "12 originals; the whole data set has 755" in caplog.text


# --- Errors ---------------------------------------------------------------------------------------------------------


def test_a_missing_folder_is_an_error_that_names_it_and_the_key(tmp_path: Path) -> None:
    message = complaint(tmp_path / "nowhere")
    assert message.startswith(f"{tmp_path / 'nowhere'}: no such folder")
    assert "datasets.msld_v2.root" in message


def test_a_folder_without_photographs_is_an_error_that_names_what_is_there_and_what_was_expected(
    tmp_path: Path,
) -> None:
    write(tmp_path, "archive.zip")
    message = complaint(tmp_path)
    assert message.startswith(f"{tmp_path}: no original of MSLD v2.0; found 0 augmented copies and 1 other files")
    assert "archive.zip" in message
    assert "FOLDS/fold1/Train/Monkeypox/MKP_01_01.jpg" in message


def test_augmented_copies_alone_are_an_error_that_counts_them(tmp_path: Path) -> None:
    write_copy(tmp_path, "MKP_01_01_1", fold=1)
    write_copy(tmp_path, "MKP_01_01", fold=1)
    assert "found 2 augmented copies and 0 other files. Expected" in complaint(tmp_path)


def test_missing_classes_are_an_error_that_lists_them_and_says_what_to_do(tmp_path: Path) -> None:
    write_folds(tmp_path, [name for name in ORIGINALS if name[:3] not in {"MSL", "CWP"}])
    message = complaint(tmp_path)
    assert "no image of Cowpox, Measles; found Chickenpox, HFMD, Healthy, Monkeypox" in message
    assert "datasets.msld_v2.allow_missing_classes: true" in message
    facts = read(tmp_path, allow_missing_classes=True).facts
    assert facts["absent_classes"] == ["Cowpox", "Measles"]
    assert facts["present_classes"] == ["Chickenpox", "HFMD", "Healthy", "Monkeypox"]


def test_a_missing_positive_class_is_an_error_even_where_classes_may_be_missing(tmp_path: Path) -> None:
    write_folds(tmp_path, [name for name in ORIGINALS if not name.startswith("MKP")])
    message = complaint(tmp_path, allow_missing_classes=True)
    assert "no image of Monkeypox, which datasets.msld_v2.positive names" in message


@pytest.mark.parametrize(("prefix", "folder"), [*zip(PREFIXES, reversed(PREFIXES.values()), strict=True)])
def test_a_name_that_contradicts_its_folder_is_an_error_that_names_the_file(
    tmp_path: Path, prefix: str, folder: str
) -> None:
    write_flat(tmp_path)
    write(tmp_path, f"{folder}/{prefix}_90_01.jpg", jpeg("x"))
    message = complaint(tmp_path)
    assert message.startswith(f"{tmp_path}: 1 names contradict the folder of their class")
    assert f"{folder}/{prefix}_90_01.jpg" in message
    assert f"{prefix} in {PREFIXES[prefix]}" in message


def test_a_copys_name_that_contradicts_its_folder_is_an_error(tmp_path: Path) -> None:
    write_folds(tmp_path)
    write(tmp_path, "FOLDS_AUG/fold1_AUG/Train/Cowpox/MKP_01_01_2.jpg")
    assert "Cowpox/MKP_01_01_2.jpg" in complaint(tmp_path)


# --- Real photographs -----------------------------------------------------------------------------------------------


def test_the_real_sample_has_150_originals_in_five_classes_and_all_five_folds(msld_sample: Path) -> None:
    found = read(msld_sample, allow_missing_classes=True, imbalance_ratio=9.0)
    names = {path.stem for path in msld_sample.rglob("*.jpg")}
    assert len(names) == 150
    assert sum(count["images"] for count in found.facts["found"].values()) == 150
    assert found.facts["absent_classes"] == ["Measles"]
    assert found.facts["folds"] == [1, 2, 3, 4, 5]
    assert found.facts["unknown_files"]["count"] == found.facts["augmented_copies"] == 0
    assert found.facts["differing_files"] == found.facts["same_photograph"] == []
    negative = found.table[found.table["label"] == 0]
    assert set(negative["image_id"]) == {name for name in names if not name.startswith("MKP")}
    assert 75 / 9 - 4 < found.facts["positive"] <= 75 / 9
    row = found.table.iloc[40]
    assert hashlib.sha256((msld_sample / row["path"]).read_bytes()).hexdigest() == row["sha256"]


def test_the_real_samples_folds_are_those_that_a_search_of_its_paths_finds(msld_sample: Path) -> None:
    found = read(msld_sample, allow_missing_classes=True)
    for fold in range(1, 6):
        splits: dict[str, set[str]] = {}
        (folder,) = msld_sample.rglob(f"fold{fold}")
        for path in folder.rglob("*.jpg"):
            splits.setdefault(path.stem.rsplit("_", 1)[0], set()).add(path.parts[-3])
        facts = fold_facts(found, fold)
        assert facts["patients"] == len(splits)
        assert facts["images"] == 150
        assert facts["crossing_patients"] == sorted(patient for patient, where in splits.items() if len(where) > 1)
