"""Manifest of PAD-UFES-20: layouts, labels, and errors that name what is wrong."""

from __future__ import annotations

import csv
import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fossil.commands import make_manifest
from fossil.data.manifest import Manifest, ManifestError
from fossil.data.pad_ufes_20 import Options, read_manifest

POSITIVE = ["MEL", "SCC"]
COLUMNS = ["image_id", "patient_id", "class_name", "label", "is_augmented", "source_id", "path", "sha256"]
ROWS = [("PAT_2", "NEV", "PAT_2_1_3.png"), ("PAT_1", "MEL", "PAT_1_1_1.png"), ("PAT_1", "SCC", "PAT_1_2_2.png")]


def make_folder(
    folder: Path, rows: Sequence[tuple[str, str, str]] = ROWS, *, files: Sequence[str] | None = None
) -> Path:
    """Lay out metadata and images; an image's content is its name, for the manifest never decodes it."""
    metadata = folder / "metadata.csv"
    lines = [f"{patient},7,{diagnosis},{image}" for patient, diagnosis, image in rows]
    metadata.write_text("\n".join(["patient_id,lesion_id,diagnostic,img_id", *lines, ""]), encoding="utf-8")
    images = folder / "images"
    images.mkdir()
    for name in [row[2] for row in rows] if files is None else files:
        (images / name).parent.mkdir(parents=True, exist_ok=True)
        (images / name).write_text(Path(name).name, encoding="utf-8")
    return folder


def read(root: Path, **changed: Any) -> Manifest:
    return read_manifest(root, Options.model_validate({"positive": POSITIVE, "allow_missing": False} | changed))


def complaint(root: Path, **changed: Any) -> str:
    with pytest.raises(ManifestError) as caught:
        read(root, **changed)
    return str(caught.value)


# --- What is read ---------------------------------------------------------------------------------------------------


def test_a_flat_folder_gives_a_sorted_manifest_with_labels_and_hashes(tmp_path: Path) -> None:
    found = read(make_folder(tmp_path))
    expected = pd.DataFrame(
        {
            "image_id": ["PAT_1_1_1.png", "PAT_1_2_2.png", "PAT_2_1_3.png"],
            "patient_id": ["PAT_1", "PAT_1", "PAT_2"],
            "class_name": ["MEL", "SCC", "NEV"],
            "label": [1, 1, 0],
            "is_augmented": [False, False, False],
            "source_id": ["PAT_1_1_1.png", "PAT_1_2_2.png", "PAT_2_1_3.png"],
            "path": ["images/PAT_1_1_1.png", "images/PAT_1_2_2.png", "images/PAT_2_1_3.png"],
            "sha256": [
                hashlib.sha256(name).hexdigest() for name in (b"PAT_1_1_1.png", b"PAT_1_2_2.png", b"PAT_2_1_3.png")
            ],
        }
    )
    pd.testing.assert_frame_equal(found.table, expected, check_dtype=False)
    assert (found.facts["rows"], found.facts["missing_images"]) == (3, 0)


def test_images_in_folders_of_any_depth_have_relative_paths_and_the_same_rows_otherwise(tmp_path: Path) -> None:
    (tmp_path / "flat").mkdir()
    (tmp_path / "parts").mkdir()
    files = ["imgs_part_1/PAT_2_1_3.png", "imgs_part_1/imgs_part_1/PAT_1_1_1.png", "PAT_1_2_2.png"]
    flat, parts = read(make_folder(tmp_path / "flat")), read(make_folder(tmp_path / "parts", files=files))
    pd.testing.assert_frame_equal(flat.table.drop(columns="path"), parts.table.drop(columns="path"))
    assert list(parts.table["path"]) == [
        "images/imgs_part_1/imgs_part_1/PAT_1_1_1.png",
        "images/PAT_1_2_2.png",
        "images/imgs_part_1/PAT_2_1_3.png",
    ]


def test_files_that_no_row_names_are_left_alone(tmp_path: Path) -> None:
    files = [*(row[2] for row in ROWS), "notes.txt", "imgs_part_1/PAT_9_9_9.png", "imgs_part_2/notes.txt"]
    assert len(read(make_folder(tmp_path, files=files)).table) == 3


@pytest.mark.parametrize(("positive", "labels"), [(["MEL"], [1, 0, 0]), (["NEV"], [0, 0, 1]), (POSITIVE, [1, 1, 0])])
def test_the_positive_diagnoses_are_class_one_and_all_others_class_zero(
    tmp_path: Path, positive: list[str], labels: list[int]
) -> None:
    assert list(read(make_folder(tmp_path), positive=positive).table["label"]) == labels


def test_patients_that_are_numbers_stay_text_with_their_leading_zeros(tmp_path: Path) -> None:
    rows = [("007", "MEL", "a.png"), ("7", "NEV", "b.png")]
    assert list(read(make_folder(tmp_path, rows), positive=["MEL"]).table["patient_id"]) == ["007", "7"]


@pytest.mark.parametrize("text", ["\ufeff", ""])
def test_a_byte_order_mark_and_empty_lines_do_no_harm(tmp_path: Path, text: str) -> None:
    root = make_folder(tmp_path)
    metadata = root / "metadata.csv"
    metadata.write_text(text + metadata.read_text(encoding="utf-8") + ",,,\n\n", encoding="utf-8")
    assert len(read(root).table) == 3


def test_a_true_difficulty_is_carried_along_in_the_order_of_the_images(tmp_path: Path) -> None:
    root = make_folder(tmp_path)
    table = pd.read_csv(root / "metadata.csv")
    table["true_difficulty"] = [0.3, 0.1, 0.2]
    table.to_csv(root / "metadata.csv", index=False)
    found = read(root).table
    assert list(found.columns) == [*COLUMNS, "true_difficulty"]
    assert list(found["true_difficulty"]) == [0.1, 0.2, 0.3]


def test_rows_without_an_image_are_left_out_and_counted_where_that_is_allowed(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, files=["PAT_2_1_3.png", "PAT_1_2_2.png"])
    found = read(folder, positive=["SCC"], allow_missing=True)
    assert list(found.table["image_id"]) == ["PAT_1_2_2.png", "PAT_2_1_3.png"]
    assert (found.facts["rows"], found.facts["missing_images"]) == (3, 1)


# --- Errors ---------------------------------------------------------------------------------------------------------


def test_a_folder_without_metadata_is_an_error_that_names_file_and_key(tmp_path: Path) -> None:
    message = complaint(tmp_path)
    assert str(tmp_path / "metadata.csv") in message
    assert "datasets.pad_ufes_20.root" in message


@pytest.mark.parametrize("column", ["patient_id", "diagnostic", "img_id"])
def test_a_missing_column_is_an_error_that_names_it(tmp_path: Path, column: str) -> None:
    metadata = make_folder(tmp_path) / "metadata.csv"
    metadata.write_text(metadata.read_text(encoding="utf-8").replace(column, "something"), encoding="utf-8")
    assert complaint(tmp_path).startswith(f"{metadata}: no column {column};")


def test_an_image_that_two_rows_name_is_an_error_that_names_it(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, [*ROWS, ("PAT_3", "NEV", "PAT_1_1_1.png")])
    message = complaint(folder)
    assert message.startswith(f"{folder / 'metadata.csv'}: ")
    assert "PAT_1_1_1.png" in message


def test_an_image_that_lies_in_two_folders_is_an_error_that_names_both(tmp_path: Path) -> None:
    files = [*(row[2] for row in ROWS), "imgs_part_3/PAT_1_1_1.png"]
    root = make_folder(tmp_path, files=files)
    message = complaint(root)
    assert str(root / "images" / "PAT_1_1_1.png") in message
    assert str(root / "images" / "imgs_part_3" / "PAT_1_1_1.png") in message


def test_missing_images_are_an_error_that_counts_and_names_them_and_says_what_to_do(tmp_path: Path) -> None:
    root = make_folder(tmp_path, files=["PAT_2_1_3.png"])
    message = complaint(root)
    assert f"{root / 'metadata.csv'}: 2 of 3 rows have no image below {root}" in message
    assert "PAT_1_1_1.png, PAT_1_2_2.png" in message
    assert "datasets.pad_ufes_20.allow_missing: true" in message


def test_many_missing_images_are_counted_and_not_all_listed(tmp_path: Path) -> None:
    rows = [*ROWS, *(("PAT_4", "NEV", f"PAT_4_{n}.png") for n in range(30))]
    message = complaint(make_folder(tmp_path, rows, files=[row[2] for row in ROWS]))
    assert "30 of 33 rows" in message
    assert "and 25 more" in message
    assert message.count("PAT_4_") == 5


def test_a_folder_with_none_of_the_images_is_an_error_even_where_missing_ones_are_allowed(tmp_path: Path) -> None:
    root = make_folder(tmp_path, files=[])
    assert complaint(root, allow_missing=True).startswith(f"{root}: none of the 3 images")


def test_a_positive_diagnosis_that_no_row_has_is_an_error_that_names_the_key(tmp_path: Path) -> None:
    message = complaint(make_folder(tmp_path), positive=["MEL", "MELANOMA"])
    assert message.startswith(f"{tmp_path / 'metadata.csv'}: no image of MELANOMA, which datasets.pad_ufes_20.positive")


def test_a_positive_diagnosis_whose_images_are_all_missing_is_an_error_that_names_the_folder(tmp_path: Path) -> None:
    root = make_folder(tmp_path, files=["PAT_2_1_3.png", "PAT_1_2_2.png"])
    assert complaint(root, allow_missing=True).startswith(f"{root}: no image of MEL,")


# --- Real photographs -----------------------------------------------------------------------------------------------


def test_the_real_metadata_with_507_photographs_gives_507_rows_and_counts_1791_missing(
    pad_sample: Path, tmp_path: Path
) -> None:
    manifest = tmp_path / "manifest.parquet"
    settings = make_manifest.Settings(reader="pad_ufes_20", options={"positive": POSITIVE, "allow_missing": True})
    facts = make_manifest.run(settings, root=pad_sample, manifest=manifest)
    table = pd.read_parquet(manifest)
    assert (facts["rows"], facts["missing_images"]) == (2298, 1791)
    assert list(table.columns) == COLUMNS
    assert table["image_id"].is_monotonic_increasing
    assert table["image_id"].is_unique
    counts = table["class_name"].value_counts().to_dict()
    assert counts == {"BCC": 138, "NEV": 137, "SEK": 97, "ACK": 83, "MEL": 37, "SCC": 15}
    assert table["label"].sum() == 37 + 15
    one = table.iloc[300]
    assert hashlib.sha256((pad_sample / one["path"]).read_bytes()).hexdigest() == one["sha256"]


def test_the_real_metadata_has_patients_with_several_diagnoses_and_rows_with_empty_fields(
    pad_sample: Path, tmp_path: Path
) -> None:
    # That 179 patients have several diagnoses is known of the whole file.
    folder = tmp_path / "whole"
    folder.mkdir()
    shutil.copy(pad_sample / "metadata.csv", folder)
    with (pad_sample / "metadata.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        (folder / row["img_id"]).write_text(row["img_id"], encoding="utf-8")
    facts = read(folder).facts
    assert facts == {
        "rows": 2298,
        "missing_images": 0,
        "patients_with_several_diagnoses": 179,
        "images_with_empty_fields": sum("" in row.values() for row in rows),
    }
