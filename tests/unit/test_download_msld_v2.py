"""MSLD v2.0 through kagglehub, from a server that answers as Kaggle does: what arrives, what is asked, what is said."""

from __future__ import annotations

import errno
import hashlib
import os
import pty
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fossil.data.disk import DiskFullError
from fossil.data.msld_v2_source import HANDLE, PAGE, SourceError, download_msld_v2, measure_content
from fossil.files import read_json
from tests.unit.hub_server import Fault, Kaggle, Request, Server, make_archive, proxy_variables, running

RANDOM = random.Random(1)
FOLD = "Original Images/Original Images/FOLDS/fold1/Train"
# kagglehub writes whole MiB, so that only an archive of several shows where it goes on.
FILES = {f"{FOLD}/Monkeypox/MKP_{n}_1.jpg": RANDOM.randbytes(700_000) for n in range(4)}
FILES[f"{FOLD}/Healthy/HEALTHY_1_1.jpg"] = RANDOM.randbytes(1000)
OTHER_FILES = {**FILES, f"{FOLD}/Healthy/HEALTHY_1_1.jpg": b"another photograph"}
ARCHIVE = make_archive(FILES)
MIB = 1 << 20


@pytest.fixture
def kaggle(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kaggle]:
    """Kaggle with version 3 of the data set, reached by this process and its children without a login."""
    for name in ("KAGGLE_API_TOKEN", "KAGGLE_USERNAME", "KAGGLE_KEY"):
        monkeypatch.delenv(name, raising=False)
    with running(Kaggle(handle=HANDLE, versions={3: ARCHIVE})) as server:
        for name, value in server.variables().items():
            monkeypatch.setenv(name, value)
        yield server


def download(folder: Path, *, expected: str | None = None, seconds: float = 5.0) -> dict[str, Any]:
    places = {"downloads": folder / "downloads", "images": folder / "images"}
    return download_msld_v2(**places, expected=expected, pause=0.001, seconds=seconds)


def complaint(folder: Path, error: type[Exception] = SourceError, **options: Any) -> str:
    with pytest.raises(error) as caught:
        download(folder, **options)
    assert not (folder / "images").exists()
    return str(caught.value)


def require_by_hand(message: str) -> None:
    assert PAGE in message
    assert "datasets.msld_v2.root" in message


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def hash_of(files: dict[str, bytes]) -> str:
    lines = [f"{name}\0{hashlib.sha256(files[name]).hexdigest()}\n" for name in sorted(files)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def archive_on_the_way(folder: Path) -> Path:
    return folder / "downloads" / "datasets" / HANDLE / "3.archive"


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


# --- Cut, silent and busy servers -----------------------------------------------------------------------------------


def test_a_cut_download_goes_on_where_it_was(kaggle: Kaggle, tmp_path: Path) -> None:
    kaggle.faults.append(Fault(after=2 * MIB + 5))
    download(tmp_path)
    assert read_files(tmp_path / "images") == FILES
    # kagglehub asks for the whole file before it asks for the rest.
    assert kaggle.ranges() == [None, None, f"bytes={2 * MIB}-"]


def test_a_download_that_is_cut_more_often_than_it_would_wait_in_vain_ends_well(kaggle: Kaggle, tmp_path: Path) -> None:
    files = {f"{n}.jpg": RANDOM.randbytes(MIB) for n in range(10)}
    kaggle.versions = {3: make_archive(files)}
    kaggle.faults.extend([Fault(after=MIB + 1), *[Fault(), Fault(after=MIB + 1)] * 8])
    download(tmp_path)
    assert read_files(tmp_path / "images") == files
    assert [r for r in kaggle.ranges() if r] == [f"bytes={n * MIB}-" for n in range(1, 10)]


def test_a_server_that_falls_silent_is_given_up_and_asked_again(kaggle: Kaggle, tmp_path: Path) -> None:
    kaggle.faults.append(Fault(after=MIB, silent=True))
    download(tmp_path, seconds=0.2)
    assert read_files(tmp_path / "images") == FILES
    assert len(kaggle.ranges()) > 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(kaggle: Kaggle, tmp_path: Path, status: int) -> None:
    kaggle.answers.extend([status, status, 200, status])
    kaggle.faults.append(Fault(status=status))
    download(tmp_path)
    assert read_files(tmp_path / "images") == FILES


@pytest.mark.parametrize("status", [403, 503])
def test_an_error_page_instead_of_the_rest_is_not_taken_for_the_rest(
    kaggle: Kaggle, tmp_path: Path, status: int
) -> None:
    kaggle.has_md5 = False
    kaggle.faults.extend([Fault(after=2 * MIB), Fault(), Fault(status=status)])
    download(tmp_path)
    assert read_files(tmp_path / "images") == FILES
    assert kaggle.ranges() == [None, *[None, f"bytes={2 * MIB}-"] * 2]


def test_a_server_that_sends_the_whole_file_instead_of_the_rest_is_asked_for_the_whole(
    kaggle: Kaggle, tmp_path: Path
) -> None:
    kaggle.has_md5 = False
    kaggle.faults.extend([Fault(after=2 * MIB), Fault(), Fault(ignores_range=True)])
    download(tmp_path)
    assert read_files(tmp_path / "images") == FILES
    assert kaggle.ranges() == [None, None, f"bytes={2 * MIB}-", None]


def test_a_partial_file_that_is_longer_than_the_archive_is_thrown_away(kaggle: Kaggle, tmp_path: Path) -> None:
    partial = archive_on_the_way(tmp_path)
    partial.parent.mkdir(parents=True)
    partial.write_bytes(ARCHIVE + b"more")
    download(tmp_path)
    assert read_files(tmp_path / "images") == FILES


@pytest.mark.parametrize("has_md5", [True, False])
def test_a_truncated_archive_is_downloaded_anew(kaggle: Kaggle, tmp_path: Path, has_md5: bool) -> None:
    kaggle.has_md5 = has_md5
    kaggle.faults.append(Fault(content=ARCHIVE[:-1000]))
    download(tmp_path)
    assert read_files(tmp_path / "images") == FILES


@pytest.mark.parametrize("has_md5", [True, False])
def test_an_archive_that_is_truncated_twice_is_an_error_that_says_what_to_do(
    kaggle: Kaggle, tmp_path: Path, has_md5: bool
) -> None:
    kaggle.has_md5 = has_md5
    kaggle.faults.extend([Fault(content=ARCHIVE[:-1000])] * 2)
    message = complaint(tmp_path)
    assert "broken archive" in message
    require_by_hand(message)
    assert not archive_on_the_way(tmp_path).exists()


def test_bytes_that_changed_on_the_way_are_noticed_without_a_published_hash(kaggle: Kaggle, tmp_path: Path) -> None:
    kaggle.has_md5 = False
    middle = len(ARCHIVE) // 2
    kaggle.faults.append(Fault(content=ARCHIVE[:middle] + b"changed" + ARCHIVE[middle + 7 :]))
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
    deadline = time.monotonic() + 30
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


# --- Errors ---------------------------------------------------------------------------------------------------------


def test_a_data_set_that_kaggle_does_not_have_is_an_error_at_once(kaggle: Kaggle, tmp_path: Path) -> None:
    kaggle.handle = "owner/data"
    message = complaint(tmp_path)
    assert HANDLE in message
    assert "404" in message
    require_by_hand(message)
    assert len(kaggle.asked) == 1


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("answers", [0, 1])
def test_a_refusal_is_an_error_at_once(kaggle: Kaggle, tmp_path: Path, status: int, answers: int) -> None:
    kaggle.answers.extend([*[200] * answers, status])
    message = complaint(tmp_path)
    assert f"Kaggle refuses {HANDLE}{'/versions/3' if answers else ''} (HTTP {status})" in message
    require_by_hand(message)
    assert len(kaggle.asked) == answers + 1


def test_a_refusal_of_a_login_says_that_none_is_needed(
    kaggle: Kaggle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAGGLE_API_TOKEN", "expired")
    kaggle.answers.append(401)
    assert "the login of this machine, which may have expired; it needs none" in complaint(tmp_path)


def test_a_server_that_stays_broken_is_an_error_and_what_has_come_is_kept(kaggle: Kaggle, tmp_path: Path) -> None:
    kaggle.faults.extend([Fault(after=2 * MIB), *[Fault(status=500)] * 50])
    message = complaint(tmp_path)
    assert "500" in message
    assert "run again to go on" in message
    require_by_hand(message)
    assert archive_on_the_way(tmp_path).read_bytes() == ARCHIVE[: 2 * MIB]
    assert len(kaggle.ranges()) < 20


def test_no_network_is_an_error_that_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        monkeypatch.setenv("KAGGLE_API_ENVIRONMENT", "LOCALHOST")
        for name, value in proxy_variables(f"http://127.0.0.1:{taken.getsockname()[1]}").items():
            monkeypatch.setenv(name, value)
        require_by_hand(complaint(tmp_path))


def test_a_login_page_in_the_way_is_an_error_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Portal(Server):
        def answer(self, request: Request) -> None:
            request.send(200, b"<html>Please log in to the hotel's network</html>", {"Content-Type": "text/html"})

    monkeypatch.setenv("KAGGLE_API_ENVIRONMENT", "LOCALHOST")
    with running(Portal()) as portal:
        for name, value in proxy_variables(portal.url).items():
            monkeypatch.setenv(name, value)
        message = complaint(tmp_path)
    assert "another server" in message
    require_by_hand(message)


def test_too_little_room_is_an_error_before_anything_is_written(kaggle: Kaggle, tmp_path: Path) -> None:
    kaggle.faults.append(Fault(length=10**16))
    message = complaint(tmp_path, DiskFullError)
    assert f"{2 * 10**16} bytes" in message
    assert not archive_on_the_way(tmp_path).exists()
    assert len(kaggle.ranges()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full, a file on a full disk")
def test_a_disk_that_becomes_full_is_an_error_that_says_what_to_do(kaggle: Kaggle, tmp_path: Path) -> None:
    partial = archive_on_the_way(tmp_path)
    partial.parent.mkdir(parents=True)
    partial.symlink_to("/dev/full")
    message = complaint(tmp_path, DiskFullError)
    assert os.strerror(errno.ENOSPC) in message
    assert f"what has come is kept in {tmp_path / 'downloads'}. Make room, then run again" in message
    assert len(kaggle.ranges()) == 1


def test_an_empty_archive_is_an_error(kaggle: Kaggle, tmp_path: Path) -> None:
    kaggle.versions = {3: make_archive({})}
    message = complaint(tmp_path)
    assert "holds no file" in message
    require_by_hand(message)
