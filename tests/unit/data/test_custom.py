"""Manifest of images of one's own: what the CSV file says, and errors that name what is wrong."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from fossil.data.custom import Options, read_manifest
from fossil.data.manifest import COLUMNS, Manifest, ManifestError
from fossil.runtime.digest import table_digest

TABLE = """image,label,patient,split
photos/a.jpg,malignant,7,train
photos/b.jpg,benign,007,Train
deep/er/c.png,benign,NA,validation
d.png,benign,8,TEST
"""


def options(**changes: Any) -> Options:
    values: dict[str, Any] = {
        "table": "images.csv",
        "image_column": "image",
        "label_column": "label",
        "patient_column": "patient",
        "split_column": None,
        "positive": ["malignant"],
    }
    return Options.model_validate(values | changes)


def lay_out(folder: Path, table: str = TABLE, *, but: str | None = None) -> Path:
    (folder / "images.csv").write_text(table, encoding="utf-8")
    for name in ("photos/a.jpg", "photos/b.jpg", "deep/er/c.png", "d.png"):
        if name != but:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(name, encoding="utf-8")
    return folder


def read(folder: Path, **changes: Any) -> Manifest:
    return read_manifest(folder, options(**changes))


def complaint(folder: Path, **changes: Any) -> str:
    with pytest.raises(ManifestError) as caught:
        read(folder, **changes)
    return str(caught.value)


def test_each_row_is_an_image_with_the_patient_and_class_that_the_table_says(tmp_path: Path) -> None:
    table = read(lay_out(tmp_path)).table
    assert list(table.columns) == list(COLUMNS)
    assert table["image_id"].tolist() == ["d.png", "deep/er/c.png", "photos/a.jpg", "photos/b.jpg"]
    assert table["patient_id"].tolist() == ["8", "NA", "7", "007"]
    assert table["class_name"].tolist() == ["benign", "benign", "malignant", "benign"]
    assert table["label"].tolist() == [0, 0, 1, 0]
    assert table["sha256"].tolist() == [hashlib.sha256(name.encode()).hexdigest() for name in table["path"]]


def test_absolute_paths_are_read_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    lay_out(tmp_path / "elsewhere")
    (tmp_path / "table").mkdir()
    rows = TABLE.splitlines()
    (tmp_path / "table" / "images.csv").write_text(
        "\n".join([rows[0], *(f"{tmp_path}/elsewhere/{row}" for row in rows[1:])]), encoding="utf-8"
    )
    assert read(tmp_path / "table").table["label"].sum() == 1


def test_without_a_patient_column_each_image_is_its_own_patient_and_the_facts_say_so(tmp_path: Path) -> None:
    found = read(lay_out(tmp_path), patient_column=None)
    assert found.table["patient_id"].tolist() == found.table["image_id"].tolist()
    assert found.facts["patients_named"] is False
    assert read(tmp_path).facts["patients_named"] is True


def test_a_split_in_any_case_becomes_a_role(tmp_path: Path) -> None:
    table = read(lay_out(tmp_path), split_column="split").table
    assert dict(zip(table["image_id"], table["split"], strict=True)) == {
        "photos/a.jpg": "train",
        "photos/b.jpg": "train",
        "deep/er/c.png": "validation",
        "d.png": "test",
    }


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    lay_out(tmp_path, TABLE.replace("image,label,patient", "file name,diagnosis,person"))
    found = read(tmp_path, image_column="file name", label_column="diagnosis", patient_column="person")
    assert found.table["patient_id"].tolist() == ["8", "NA", "7", "007"]


def test_a_split_that_is_none_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    lay_out(tmp_path, TABLE.replace("validation", "holdout"))
    assert "split is 'holdout' in line 4; expected train, validation or test" in complaint(
        tmp_path, split_column="split"
    )


@pytest.mark.parametrize(("role", "other"), [("TEST", "validation"), ("rain", "est")])
def test_a_split_without_training_or_test_rows_is_an_error(tmp_path: Path, role: str, other: str) -> None:
    lay_out(tmp_path, TABLE.replace(role, other))
    missing = "test" if role == "TEST" else "train"
    assert complaint(tmp_path, split_column="split").endswith(f"no row has split {missing}")


def test_missing_images_are_counted_and_named_with_the_folder_that_paths_are_relative_to(tmp_path: Path) -> None:
    message = complaint(lay_out(tmp_path, but="photos/b.jpg"))
    assert "1 of 4 images are not there: photos/b.jpg." in message
    assert message.endswith(f"Paths are relative to {tmp_path}")


def test_an_image_that_stands_twice_is_an_error_that_names_it(tmp_path: Path) -> None:
    assert "image stands twice: d.png" in complaint(lay_out(tmp_path, TABLE + "d.png,benign,8,test\n"))


def test_a_missing_column_is_an_error_that_names_the_keys(tmp_path: Path) -> None:
    message = complaint(lay_out(tmp_path), patient_column="person")
    assert "no column person; found image, label, patient, split" in message
    assert "datasets.custom.*_column" in message


def test_a_table_without_rows_is_an_error(tmp_path: Path) -> None:
    assert complaint(lay_out(tmp_path, "image,label,patient\n")).endswith("no rows")


def test_a_positive_class_that_no_row_has_is_an_error_that_names_those_found(tmp_path: Path) -> None:
    message = complaint(lay_out(tmp_path), positive=["1"])
    assert "no image of 1, which datasets.custom.positive names; found benign, malignant" in message


# --- What makes the manifest anew -----------------------------------------------------------------------------------


def test_the_digest_changes_with_an_image_and_not_with_other_files_or_times(tmp_path: Path) -> None:
    folder = lay_out(tmp_path)
    before = table_digest(folder / "images.csv", "image")
    (folder / "notes.txt").write_text("x", encoding="utf-8")
    (folder / "photos" / "z.jpg").write_text("x", encoding="utf-8")
    os.utime(folder / "d.png", (1, 1))
    assert table_digest(folder / "images.csv", "image") == before
    (folder / "d.png").write_text("longer than before", encoding="utf-8")
    assert table_digest(folder / "images.csv", "image") != before
    (folder / "d.png").unlink()
    assert table_digest(folder / "images.csv", "image") not in (before, "")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"other,columns\n1,2\n"])
def test_the_digest_of_what_is_no_such_table_is_no_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "images.csv").write_bytes(content)
    assert len(table_digest(tmp_path / "images.csv", "image")) == 16
