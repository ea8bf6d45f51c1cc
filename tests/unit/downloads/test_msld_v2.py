"""MSLD v2.0 from a server that answers as Kaggle does: what arrives, now and later, and what is said otherwise."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fossil.data.downloads.download import DownloadError
from fossil.data.downloads.msld_v2_source import HANDLE, PAGE, download_msld_v2, hash_folder
from fossil.runtime.files import read_json
from tests.unit.downloads.file_server import Answer, FileServer
from tests.unit.downloads.wanted_file import contents, zipped

FOLD = "Original Images/Original Images/FOLDS/fold1/Train"
FILES = {f"{FOLD}/Monkeypox/MKP_{n}_1.jpg": random.Random(n).randbytes(7000) for n in range(4)}
OTHER_FILES = {**FILES, f"{FOLD}/Healthy/HEALTHY_1_1.jpg": b"another photograph"}
VIEW = f"/api/v1/datasets/view/{HANDLE}"


ARCHIVE = zipped(FILES)


def published(*storage: Answer, version: int = 3, newest: int | None = None) -> dict[str, Any]:
    """Kaggle's addresses of a version, which redirect to its storage."""
    place = f"/storage/{version}.zip?signature=x"
    return {
        VIEW: Answer(json.dumps({"currentVersionNumber": newest or version}).encode()),
        f"/api/v1/datasets/download/{HANDLE}?datasetVersionNumber={version}": Answer(
            status=302, headers={"Location": place}
        ),
        place: storage or Answer(ARCHIVE),
    }


@pytest.fixture
def kaggle(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """Kaggle with version 3 of the data set, for this process and its children."""
    with FileServer(published()) as server:
        monkeypatch.setenv("KAGGLE_API_ENDPOINT", server.url())
        yield server


def download(folder: Path, *, expected: str | None = None) -> dict[str, Any]:
    return download_msld_v2(downloads=folder / "downloads", images=folder / "images", expected=expected)


def complaint(folder: Path, *, expected: str | None = None) -> str:
    with pytest.raises(DownloadError) as caught:
        download(folder, expected=expected)
    assert not (folder / "images").exists()
    return str(caught.value)


def hash_of(files: Mapping[str, bytes]) -> str:
    lines = [f"{name}\0{hashlib.sha256(files[name]).hexdigest()}\n" for name in sorted(files)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


# --- What arrives ---------------------------------------------------------------------------------------------------


def test_the_files_of_the_archive_arrive_and_version_hash_and_number_are_recorded(
    kaggle: FileServer, tmp_path: Path
) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "old.jpg").write_bytes(b"old")
    assert download(tmp_path) == {"dataset": HANDLE, "dataset_version": 3, "content_sha256": hash_of(FILES), "files": 4}
    assert contents(tmp_path / "images") == FILES
    record = tmp_path / "downloads" / "msld_v2.json"
    assert read_json(record) == {"dataset": HANDLE, "version": 3, "sha256": hash_of(FILES), "files": 4}
    assert [path for path in (tmp_path / "downloads").iterdir() if not path.name.startswith(".")] == [record]
    assert all("authorization" not in asked.headers for asked in kaggle.log)


def test_a_login_is_sent_to_kaggle(kaggle: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAGGLE_API_TOKEN", "secret")
    download(tmp_path)
    assert [asked.headers["authorization"] for asked in kaggle.log[:2]] == ["Bearer secret"] * 2


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
    assert hash_folder(first) == hash_folder(again) == (hash_of(dict(files)), 2)
    renamed = written("renamed", [("a/1.jpg", b"one"), ("b/3.jpg", b"two")])
    changed = written("changed", [("a/1.jpg", b"one"), ("b/2.jpg", b"TWO")])
    assert len({hash_folder(folder) for folder in (first, renamed, changed)}) == 3


def test_a_cut_download_resumes(kaggle: FileServer, tmp_path: Path) -> None:
    kaggle.serve(published(Answer(ARCHIVE, cut_after=9000), Answer(ARCHIVE)))
    download(tmp_path)
    assert contents(tmp_path / "images") == FILES
    assert [given for given in kaggle.ranges() if given][-1] == "bytes=9000-"


def test_the_command_writes_the_images_and_their_record_and_nothing_to_the_terminal(
    kaggle: FileServer, tmp_path: Path
) -> None:
    paths = {name: str(tmp_path / name) for name in ("downloads", "images", "log", "record")}
    options = [part for name, path in paths.items() for part in (f"--{name}", path)]
    command = [sys.executable, "-W", "error", "-m", "fossil", "download_msld_v2", "--settings", '{"sha256": null}']
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert contents(tmp_path / "images") == FILES
    assert read_json(tmp_path / "record")["content_sha256"] == hash_of(FILES)


# --- Later downloads ------------------------------------------------------------------------------------------------


def test_a_newer_version_on_kaggle_does_not_take_the_place_of_the_first_one(kaggle: FileServer, tmp_path: Path) -> None:
    download(tmp_path)
    kaggle.serve(published(Answer(zipped(OTHER_FILES)), version=4))
    assert download(tmp_path)["dataset_version"] == 3
    assert contents(tmp_path / "images") == FILES


def test_other_content_than_at_first_is_an_error_with_both_hashes_until_the_record_is_deleted(
    kaggle: FileServer, tmp_path: Path
) -> None:
    download(tmp_path)
    shutil.rmtree(tmp_path / "images")
    kaggle.serve(published(Answer(zipped(OTHER_FILES))))
    message = complaint(tmp_path)
    record = tmp_path / "downloads" / "msld_v2.json"
    assert f"{hash_of(OTHER_FILES)}, expected {hash_of(FILES)} by {record} (the first download)" in message
    assert f"delete {record} and set datasets.msld_v2.sha256 to the new hash or to null" in message
    record.unlink()
    assert download(tmp_path)["content_sha256"] == hash_of(OTHER_FILES)


def test_a_hash_in_the_configuration_takes_the_place_of_the_recorded_one(kaggle: FileServer, tmp_path: Path) -> None:
    download(tmp_path)
    kaggle.serve(published(Answer(zipped(OTHER_FILES))))
    download(tmp_path, expected=hash_of(OTHER_FILES))
    assert contents(tmp_path / "images") == OTHER_FILES
    assert read_json(tmp_path / "downloads" / "msld_v2.json")["sha256"] == hash_of(OTHER_FILES)


def test_other_content_than_the_configuration_says_is_an_error_that_names_the_key(
    kaggle: FileServer, tmp_path: Path
) -> None:
    message = complaint(tmp_path, expected="0" * 64)
    assert f"{hash_of(FILES)}, expected {'0' * 64} by datasets.msld_v2.sha256" in message
    assert not (tmp_path / "downloads" / "msld_v2.json").exists()


# --- What Kaggle does not give --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scripts", "words"),
    [
        ({VIEW: Answer(status=403)}, "403 Forbidden"),
        ({VIEW: Answer(status=404)}, "404 Not Found"),
        ({VIEW: Answer(status=503)}, "503 Service Unavailable"),
        ({VIEW: Answer(b"<html>Please log in</html>")}, "is not Kaggle"),
        ({VIEW: Answer(b"[]")}, "is not Kaggle"),
        (published(Answer(status=403)), "403 Forbidden"),
        (published(Answer(ARCHIVE[:-100])), "not a whole, safe zip archive"),
        (published(Answer(zipped({}))), "not a whole, safe zip archive"),
        (published(Answer(zipped({"../evil": b"x"}))), "leads out"),
    ],
)
def test_what_kaggle_does_not_give_is_an_error_that_says_what_to_do_by_hand(
    kaggle: FileServer, tmp_path: Path, scripts: dict[str, Any], words: str
) -> None:
    kaggle.serve(scripts)
    message = complaint(tmp_path)
    assert words in message
    assert f"download the archive from {PAGE}, unpack it and set datasets.msld_v2.root" in message
