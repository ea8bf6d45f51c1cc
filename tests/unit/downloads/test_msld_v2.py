"""MSLD v2.0 through kagglehub, from a server that answers as Kaggle does: what arrives, now and later."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import time
from pathlib import Path

from fossil.data.downloads.msld_v2_source import HANDLE, measure_content
from fossil.runtime.files import read_json
from tests.unit.downloads.hub_server import Fault, Kaggle, make_archive
from tests.unit.downloads.kaggle_files import (
    FILES,
    MIB,
    OTHER_FILES,
    archive_on_the_way,
    complaint,
    download,
    hash_of,
    read_files,
)

# --- What arrives ---------------------------------------------------------------------------------------------------


def test_the_files_of_the_archive_arrive_and_version_hash_and_number_are_recorded(
    kaggle: Kaggle, tmp_path: Path
) -> None:
    facts = download(tmp_path)
    assert read_files(tmp_path / "images") == FILES
    assert facts == {"dataset": HANDLE, "dataset_version": 3, "content_sha256": hash_of(FILES), "files": 5}
    assert read_json(tmp_path / "downloads" / "msld_v2.json") == {
        "dataset": HANDLE,
        "version": 3,
        "sha256": hash_of(FILES),
        "files": 5,
    }
    assert kaggle.ranges() == [None]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["downloads", "images"]


def test_the_hash_depends_on_names_and_bytes_and_not_on_times_or_order(tmp_path: Path) -> None:
    def written(name: str, files: list[tuple[str, bytes]]) -> Path:
        for place, content in files:
            path = tmp_path / name / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return tmp_path / name

    files = [("a/1.jpg", b"one"), ("b/2.jpg", b"two")]
    first, again = written("first", files), written("again", files[::-1])
    os.utime(again / "a" / "1.jpg", (0, 0))
    assert measure_content(first) == measure_content(again)
    assert measure_content(first).sha256 == hash_of(dict(files))
    renamed = written("renamed", [("a/1.jpg", b"one"), ("b/3.jpg", b"two")])
    changed = written("changed", [("a/1.jpg", b"one"), ("b/2.jpg", b"TWO")])
    assert len({measure_content(folder).sha256 for folder in (first, renamed, changed)}) == 3


def test_the_unpacked_files_take_no_second_place_on_the_disk(kaggle: Kaggle, tmp_path: Path) -> None:
    download(tmp_path)
    assert {path.stat().st_nlink for path in (tmp_path / "images").rglob("*.jpg")} == {2}


def test_what_lay_in_the_final_folder_before_is_replaced(kaggle: Kaggle, tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "old.jpg").write_bytes(b"old")
    download(tmp_path)
    assert read_files(tmp_path / "images") == FILES


# --- A process that is killed ---------------------------------------------------------------------------------------


def command(folder: Path, settings: str = '{"sha256": null}') -> list[str]:
    paths = ("--downloads", str(folder / "downloads"), "--images", str(folder / "images"))
    files = ("--log", str(folder / "log"), "--record", str(folder / "record.json"))
    return [sys.executable, "-W", "error", "-m", "fossil", "download_msld_v2", "--settings", settings, *files, *paths]


def test_a_killed_download_shows_how_far_it_was_goes_on_later_and_writes_nothing_to_the_home_folder(
    kaggle: Kaggle, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o555)
    environment = {**os.environ, "HOME": str(home)}
    kaggle.faults.append(Fault(after=2 * MIB + 5, silent=True))
    screen, terminal = pty.openpty()
    first = subprocess.Popen(command(tmp_path), env=environment, stdout=subprocess.DEVNULL, stderr=terminal)
    os.close(terminal)
    shown = b""
    deadline = time.monotonic() + 300
    while b"2.1/2.8 MB" not in shown and time.monotonic() < deadline:
        shown += os.read(screen, 1000)
    first.kill()
    first.wait()
    os.close(screen)
    assert b"MSLD v2.0" in shown
    assert b"2.1/2.8 MB" in shown
    assert archive_on_the_way(tmp_path).stat().st_size == 2 * MIB
    assert not (tmp_path / "images").exists()
    assert not (tmp_path / "record.json").exists()

    second = subprocess.run(command(tmp_path), env=environment, capture_output=True, text=True, check=False)
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert read_files(tmp_path / "images") == FILES
    assert read_json(tmp_path / "record.json")["content_sha256"] == hash_of(FILES)
    assert kaggle.ranges()[-1] == f"bytes={2 * MIB}-"
    assert list(home.iterdir()) == []
    # Every request of both processes went through this server: none told anybody else of it.
    assert {path for _, path, _ in kaggle.asked} == {
        "/api/v1/datasets.DatasetApiService/GetDataset",
        "/api/v1/datasets.DatasetApiService/DownloadDataset",
        "/storage/3.zip",
    }


# --- Later downloads ------------------------------------------------------------------------------------------------


def test_a_second_run_needs_no_network(kaggle: Kaggle, tmp_path: Path) -> None:
    first = download(tmp_path)
    shutil.rmtree(tmp_path / "images")
    kaggle.asked.clear()
    assert download(tmp_path) == first
    assert read_files(tmp_path / "images") == FILES
    assert kaggle.asked == []


def test_files_that_were_changed_in_place_are_downloaded_anew(kaggle: Kaggle, tmp_path: Path) -> None:
    download(tmp_path)
    next((tmp_path / "images").rglob("*.jpg")).write_bytes(b"painted over")
    download(tmp_path)
    assert read_files(tmp_path / "images") == FILES


def test_a_newer_version_on_kaggle_does_not_take_the_place_of_the_first_one(kaggle: Kaggle, tmp_path: Path) -> None:
    download(tmp_path)
    shutil.rmtree(tmp_path / "downloads" / "datasets")
    kaggle.versions[4] = make_archive(OTHER_FILES)
    assert download(tmp_path)["dataset_version"] == 3
    assert read_files(tmp_path / "images") == FILES


def change_upstream(kaggle: Kaggle, folder: Path) -> None:
    for path in (folder / "downloads" / "datasets", folder / "images"):
        shutil.rmtree(path)
    kaggle.versions = {3: make_archive(OTHER_FILES)}


def test_other_content_than_at_first_is_an_error_with_both_hashes_until_the_record_is_deleted(
    kaggle: Kaggle, tmp_path: Path
) -> None:
    download(tmp_path)
    change_upstream(kaggle, tmp_path)
    message = complaint(tmp_path)
    assert f"{hash_of(OTHER_FILES)}, expected {hash_of(FILES)}" in message
    record = tmp_path / "downloads" / "msld_v2.json"
    assert f"{record} (the first download)" in message
    assert f"delete {record} and set datasets.msld_v2.sha256 to the new hash or to null" in message

    record.unlink()
    assert download(tmp_path)["content_sha256"] == hash_of(OTHER_FILES)


def test_a_hash_in_the_configuration_takes_the_place_of_the_recorded_one(kaggle: Kaggle, tmp_path: Path) -> None:
    download(tmp_path)
    change_upstream(kaggle, tmp_path)
    download(tmp_path, expected=hash_of(OTHER_FILES))
    assert read_files(tmp_path / "images") == OTHER_FILES
    assert read_json(tmp_path / "downloads" / "msld_v2.json")["sha256"] == hash_of(OTHER_FILES)


def test_other_content_than_the_configuration_says_is_an_error_that_names_the_key(
    kaggle: Kaggle, tmp_path: Path
) -> None:
    message = complaint(tmp_path, expected="0" * 64)
    assert f"{hash_of(FILES)}, expected {'0' * 64} by datasets.msld_v2.sha256" in message
    assert not (tmp_path / "downloads" / "msld_v2.json").exists()
