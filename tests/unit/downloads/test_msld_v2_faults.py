"""MSLD v2.0 from a server that cuts, stalls, lies and refuses: what is asked again, and what is said."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from fossil.data.downloads.disk import DiskFullError
from fossil.data.downloads.msld_v2_source import HANDLE
from tests.unit.downloads.hub_server import Fault, Kaggle, Request, Server, make_archive, proxy_variables, running
from tests.unit.downloads.kaggle_files import (
    ARCHIVE,
    FILES,
    MIB,
    RANDOM,
    archive_on_the_way,
    complaint,
    download,
    read_files,
    require_by_hand,
)

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
