"""Manifest of MSLD v2.0: layouts, official folds, leaks, constructions, and errors that name what is wrong."""

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
from hypothesis import given, settings
from hypothesis import strategies as st

from fossil import files
from fossil.config import Datasets
from fossil.data.manifest import COLUMNS, Manifest, ManifestError
from fossil.data.msld_v2 import Options, read_manifest
from fossil.files import read_json, write_json
from tests.requirements import require_sample
from tests.unit.msld_folders import (
    AUGMENTED,
    LAYOUTS,
    ORIGINALS,
    PREFIXES,
    PUBLISHED,
    jpeg,
    official_split,
    write,
    write_copy,
    write_flat,
    write_folds,
)


@pytest.fixture(scope="session")
def msld_sample() -> Path:
    """150 photographs of MSLD v2.0, without Measles, each in all five folds."""
    return require_sample("msld-v2-sample")


def read(root: Path, **changed: Any) -> Manifest:
    defaults = Datasets().msld_v2.model_dump(include=set(Options.model_fields))
    return read_manifest(root, Options.model_validate(defaults | {"imbalance_ratio": 1.0} | changed))


def complaint(root: Path, **changed: Any) -> str:
    with pytest.raises(ManifestError) as caught:
        read(root, **changed)
    return str(caught.value)


def fold_facts(found: Manifest, fold: int) -> dict[str, Any]:
    (facts,) = [facts for facts in found.facts["official_folds"] if facts["fold"] == fold]
    return facts


def name_of(fold: int, split: str) -> str:
    """Find a photograph that the official fold holds in a split."""
    return next(name for name in ORIGINALS if official_split(name, fold) == split)


# --- What is read ---------------------------------------------------------------------------------------------------


def test_each_original_is_one_row_with_patient_class_label_and_hash(tmp_path: Path) -> None:
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


def test_the_path_is_the_first_of_an_originals_places(tmp_path: Path) -> None:
    table = read(write_folds(tmp_path)).table.set_index("image_id")
    for name in ORIGINALS:
        expected = PUBLISHED.path(name, fold=1, split=official_split(name, 1))
        assert table.loc[name, "path"] == expected


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


def test_an_original_whose_files_differ_is_one_row_and_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_folds(tmp_path)
    before = read(tmp_path)
    assert before.facts["differing_files"] == []
    write(tmp_path, PUBLISHED.path("CWP_07_02", fold=4, split=official_split("CWP_07_02", 4)), jpeg("another"))
    with caplog.at_level(logging.WARNING, logger="fossil"):
        after = read(tmp_path)
    assert after.facts["differing_files"] == ["CWP_07_02"]
    assert "CWP_07_02" in caplog.text
    pd.testing.assert_frame_equal(after.table, before.table)


def test_files_of_one_original_that_differ_in_the_last_byte_differ(tmp_path: Path) -> None:
    write_folds(tmp_path)
    write(
        tmp_path,
        PUBLISHED.path("MKP_01_01", fold=5, split=official_split("MKP_01_01", 5)),
        jpeg("MKP_01_01")[:-1] + b"x",
    )
    assert read(tmp_path).facts["differing_files"] == ["MKP_01_01"]


def test_one_photograph_under_two_names_is_reported(tmp_path: Path) -> None:
    write_flat(tmp_path)
    write(tmp_path, "Healthy/HEALTHY_77_01.jpg", jpeg("CWP_07_01"))
    assert read(tmp_path).facts["same_photograph"] == [["CWP_07_01", "HEALTHY_77_01"]]


def test_fewer_originals_than_published_are_said_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="fossil"):
        read(write_flat(tmp_path))
    assert "12 originals; the whole data set has 755" in caplog.text


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


@pytest.mark.parametrize(
    "folder",
    [
        "FOLDS_AUG/fold2",
        "Augmented Images/fold2",
        "fold2_AUG",
        "folds/fold 2 augmented",
        "AUGMENTED/FOLD2",
        "fold2/Augmented",
    ],
)
def test_a_photograph_in_an_augmented_folder_is_a_copy_whatever_its_name(tmp_path: Path, folder: str) -> None:
    before = read(write_folds(tmp_path))
    name = name_of(2, "Train")
    write(tmp_path, f"{folder}/Train/{PREFIXES[name.split('_')[0]]}/{name}.jpg", jpeg("turned"))
    after = read(tmp_path)
    assert after.facts["augmented_copies"] == fold_facts(after, 2)["augmented_copies"] == 1
    pd.testing.assert_frame_equal(after.table, before.table)
    assert after.facts["differing_files"] == []


@pytest.mark.parametrize("copy", ["{}_ORIGINAL", "{}_3", "{} (3)", "{}-rotated", "{}.2"])
def test_a_copy_is_known_by_its_name_in_a_folder_of_originals_too(tmp_path: Path, copy: str) -> None:
    before = read(write_folds(tmp_path))
    name = copy.format(name_of(1, "Train"))
    write(tmp_path, PUBLISHED.path(name, fold=1), jpeg(name))
    after = read(tmp_path)
    assert after.facts["augmented_copies"] == 1
    pd.testing.assert_frame_equal(after.table, before.table)


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


# --- Construction originals -----------------------------------------------------------------------------------------


def many(positive: int, negative: int) -> list[str]:
    """Name originals of patients with two images each; negative ones in all five classes."""
    others = ["CHP", "MSL", "CWP", "HFMD", "HEALTHY"]
    names = [f"MKP_{number // 2:02d}_{number % 2:02d}" for number in range(positive)]
    return names + [f"{others[number // 2 % 5]}_{number // 2:02d}_{number % 2:02d}" for number in range(negative)]


def test_positive_images_are_thinned_to_the_ratio_by_whole_patients_and_negative_ones_all_kept(tmp_path: Path) -> None:
    found = read(write_flat(tmp_path, many(30, 54)), imbalance_ratio=9.0)
    positive = found.table[found.table["label"] == 1]
    assert (len(positive), len(found.table)) == (6, 60)
    assert set(positive["patient_id"].value_counts()) == {2}
    facts = {key: found.facts[key] for key in ("positive_target", "positive_available", "positive", "negative")}
    assert facts == {"positive_target": 6.0, "positive_available": 30, "positive": 6, "negative": 54}
    assert found.facts["imbalance_ratio"] == 9.0
    assert found.facts["construction"] == "originals"


def test_a_target_that_no_whole_patients_make_is_approached_from_below_and_the_ratio_reported(tmp_path: Path) -> None:
    facts = read(write_flat(tmp_path, many(30, 50)), imbalance_ratio=10.0).facts
    assert (facts["positive_target"], facts["positive"], facts["imbalance_ratio"]) == (5.0, 4, 12.5)


def test_fewer_positive_images_than_wanted_are_all_kept_and_so_are_all_negative_ones(tmp_path: Path) -> None:
    found = read(write_flat(tmp_path, many(2, 40)), imbalance_ratio=4.0)
    assert (found.facts["positive"], found.facts["negative"], found.facts["imbalance_ratio"]) == (2, 40, 20.0)


def test_another_seed_takes_other_patients_and_the_same_number(tmp_path: Path) -> None:
    write_flat(tmp_path, many(40, 54))
    chosen = {
        tuple(table.loc[table["label"] == 1, "patient_id"])
        for table in (read(tmp_path, imbalance_ratio=9.0, seed=seed).table for seed in range(5))
    }
    assert len(chosen) == 5
    assert {len(patients) for patients in chosen} == {6}


@given(positive=st.integers(1, 16), negative=st.integers(10, 40), ratio=st.floats(1, 12), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=10)
def test_the_ratio_is_within_one_patients_images_of_the_target_and_no_patient_is_divided(
    tmp_path_factory: pytest.TempPathFactory, positive: int, negative: int, ratio: float, seed: int
) -> None:
    names = many(positive, negative)
    found = read(write_flat(tmp_path_factory.mktemp("ratio"), names), imbalance_ratio=ratio, seed=seed)
    kept = set(found.table["image_id"])
    assert abs(found.facts["positive"] - min(negative / ratio, positive)) < 2
    assert {name for name in names if name[:3] != "MKP"} <= kept
    for name in kept:
        patient = {other for other in names if other.rsplit("_", 1)[0] == name.rsplit("_", 1)[0]}
        assert patient <= kept


def test_further_negative_images_leave_the_positive_ones_in_and_add_others(tmp_path: Path) -> None:
    taken = [
        set(read(write_flat(tmp_path / str(negative), many(40, negative)), imbalance_ratio=5.0).table["image_id"])
        for negative in (20, 22, 60)
    ]
    fewer, same, more = ({name for name in names if name.startswith("MKP")} for names in taken)
    assert fewer == same
    assert fewer < more


# --- Construction paper ---------------------------------------------------------------------------------------------


def test_the_papers_construction_has_the_numbers_of_images_that_are_asked_for(tmp_path: Path) -> None:
    found = read(
        write_flat(tmp_path, many(30, 50)), construction="paper", paper_positive=15, paper_negative=135, seed=3
    )
    table = found.table
    assert table["label"].value_counts().to_dict() == {1: 15, 0: 135}
    assert not table.loc[table["label"] == 1, "is_augmented"].any()
    negative = table[table["label"] == 0]
    assert (~negative["is_augmented"]).sum() == 50
    assert set(negative["source_id"].value_counts()) == {2, 3}
    assert (found.facts["positive"], found.facts["negative"], found.facts["imbalance_ratio"]) == (15, 135, 9.0)
    assert sum(rows["copies"] for rows in found.facts["rows"].values()) == 85


def test_a_copy_has_the_file_patient_class_and_label_of_its_original(tmp_path: Path) -> None:
    found = read(write_folds(tmp_path), construction="paper", paper_positive=9, paper_negative=20)
    table = found.table.set_index("image_id")
    copies = table[table["is_augmented"]]
    assert len(copies) == (9 - 4) + (20 - 8)
    for name, copy in copies.iterrows():
        original = table.loc[copy["source_id"]]
        assert name == f"{copy['source_id']}_weak{copy['copy']}"
        for column in ("patient_id", "class_name", "label", "path", "sha256"):
            assert copy[column] == original[column]
    assert list(found.table.columns) == [*COLUMNS, "copy"]
    assert found.table["copy"].dtype == "int64"
    assert (found.table["copy"] == 0).equals(~found.table["is_augmented"])


def test_the_papers_construction_is_flagged_with_its_contradiction_and_the_numbers_used(tmp_path: Path) -> None:
    facts = read(write_folds(tmp_path), construction="paper", paper_positive=6, paper_negative=9).facts
    assert facts["construction"] == "paper"
    for number in ("150", "1350", "1510", "6 and 9"):
        assert number in facts["paper"]
    assert facts["rows"]["Monkeypox"] == {"originals": 4, "copies": 2}


def test_copies_are_not_taken_for_one_photograph_under_several_names(tmp_path: Path) -> None:
    facts = read(write_folds(tmp_path), construction="paper", paper_positive=9, paper_negative=20).facts
    assert facts["same_photograph"] == []


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


def test_classes_that_are_all_positive_are_an_error(tmp_path: Path) -> None:
    write_folds(tmp_path)
    assert "one must be negative" in complaint(tmp_path, positive=list(PREFIXES.values()))


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


def test_the_real_sample_without_leave_to_miss_classes_is_an_error(msld_sample: Path) -> None:
    assert "no image of Measles" in complaint(msld_sample)
