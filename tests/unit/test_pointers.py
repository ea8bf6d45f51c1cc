"""What pointers and the cache's objects tell of tracked files."""

from __future__ import annotations

from pathlib import Path

import pytest

from fossil.versions.commands import VersionError, shown
from fossil.versions.pointers import read_pointer, unit_of

FOLDER = "outs:\n- md5: 900150983cd24fb0d6963f7d28e17f72.dir\n  size: 3\n  nfiles: 2\n  hash: md5\n  path: tables\n"


def test_a_pointer_tells_the_file_or_folder_that_it_is_named_for(tmp_path: Path) -> None:
    (tmp_path / "tables.dvc").write_text(FOLDER)
    pointer = read_pointer(tmp_path / "tables.dvc")
    assert pointer.path == tmp_path / "tables"
    assert pointer.is_folder
    assert pointer.described() == {"md5": "900150983cd24fb0d6963f7d28e17f72.dir", "size": 3, "files": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FOLDER.replace("path: tables", "path: figures"), r"tables\.dvc points to .*figures, and not"),
        (FOLDER + FOLDER.removeprefix("outs:\n"), r"tables\.dvc is no pointer of DVC to one file or folder"),
        ("<<<<<<< HEAD\nouts: [\n", r"tables\.dvc is no pointer of DVC"),
        ("outs: []\n", r"tables\.dvc is no pointer of DVC"),
        ("- md5: 1\n", r"tables\.dvc is no pointer of DVC"),
        (None, r"tables\.dvc is no pointer of DVC"),
    ],
)
def test_what_is_no_pointer_is_an_error_that_names_it(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "tables.dvc").write_text(text)
    with pytest.raises(VersionError, match=message):
        read_pointer(tmp_path / "tables.dvc")


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("results/phantom/runs/erm-baseline/fold0-seed1/run.json", "results/phantom"),
        ("results/summary.md", "results/summary.md"),
        ("results/version/headline.json", None),
        ("data/raw/phantom/images", "data/raw/phantom"),
        ("data/raw/phantom.json", "data/raw/phantom.json"),
        ("data/raw/weights/lite0.safetensors", "data/raw/weights/lite0.safetensors"),
        ("data/processed/synthetic/ir9.json", "data/processed/synthetic"),
    ],
)
def test_results_are_tracked_by_the_folder_that_they_lie_in_and_weights_file_by_file(
    path: str, unit: str | None
) -> None:
    assert unit_of(Path(path)) == (None if unit is None else Path(unit))


def test_a_result_in_another_place_is_an_error_that_names_it() -> None:
    with pytest.raises(VersionError, match=r"elsewhere/table\.csv is a result, but in none of data/raw, "):
        unit_of(Path("elsewhere/table.csv"))


def test_of_many_files_ten_are_named_and_the_rest_counted() -> None:
    assert shown(["a", "b", "a"]) == "a, b"
    assert shown(range(12)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"
