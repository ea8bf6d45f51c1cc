"""Downloads from a real server: what arrives, what is verified, and what the server answers instead."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from fossil.data.downloads import download
from fossil.data.downloads.download import DiskFullError, Download, fetch
from tests.unit.downloads.file_server import Answer, FileServer
from tests.unit.downloads.wanted_file import CONTENT, DIGEST, OTHER, PAGE, complaint, visible, wanted


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("chunked", [True, False])
def test_a_file_arrives_whole_with_its_hash_and_nothing_else_is_left(
    chunked: bool, known: bool, tmp_path: Path
) -> None:
    path = tmp_path / "new" / "file.bin"
    with FileServer({"/file": Answer(CONTENT, chunked=chunked)}) as server:
        assert fetch(wanted(server, known=known), path) == DIGEST
    assert path.read_bytes() == CONTENT
    assert visible(path.parent) == ["file.bin"]
    assert server.ranges() == [None]
    assert server.log[0].headers["accept-encoding"] == "identity"


def test_an_empty_file_arrives(tmp_path: Path) -> None:
    with FileServer({"/file": Answer(b"")}) as server:
        fetch(Download("file.bin", server.url("/file"), PAGE, size=0), tmp_path / "file.bin")
    assert (tmp_path / "file.bin").read_bytes() == b""


def test_redirections_are_followed_with_the_range(tmp_path: Path) -> None:
    (tmp_path / "file.bin.partial").write_bytes(CONTENT[:1000])
    with FileServer({"/file": Answer(status=302, headers={"Location": "/there"}), "/there": Answer(CONTENT)}) as server:
        fetch(wanted(server), tmp_path / "file.bin")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert server.ranges("/there") == ["bytes=1000-"]


def test_a_file_that_is_there_with_the_right_hash_is_not_downloaded(tmp_path: Path) -> None:
    (tmp_path / "file.bin").write_bytes(CONTENT)
    with FileServer({"/file": Answer(CONTENT)}) as server:
        assert fetch(wanted(server), tmp_path / "file.bin") == DIGEST
    assert server.log == []


@pytest.mark.parametrize(("content", "difference"), [(OTHER, "sha256"), (CONTENT[:-1], "299999 bytes")])
def test_another_file_in_the_place_is_an_error_that_names_it_and_stays(
    content: bytes, difference: str, tmp_path: Path
) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(content)
    with FileServer({"/file": Answer(CONTENT)}) as server:
        message = complaint(wanted(server), path)
    assert message.startswith(f"{path}: ")
    assert difference in message
    assert DIGEST in message
    assert path.read_bytes() == content
    assert server.log == []


# --- Other answers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451, 204])
def test_a_refusal_is_final_and_the_error_says_what_to_do_by_hand(status: int, tmp_path: Path) -> None:
    path = tmp_path / "downloads" / "file.bin"
    with FileServer({"/file": Answer(status=status)}) as server:
        message = complaint(wanted(server), path)
        assert f"{server.url('/file')}: {status} " in message
    assert f"download file.bin (300000 bytes, sha256 {DIGEST}) from {PAGE}, put it at {path}" in message
    assert len(server.log) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 504, 408, 429])
def test_a_busy_or_broken_server_is_asked_again(status: int, tmp_path: Path) -> None:
    script = [Answer(CONTENT, cut_after=1000), Answer(status=status), Answer(status=status), Answer(CONTENT)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server), tmp_path / "file.bin")
    assert [asked.status for asked in server.log] == [200, status, status, 206]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_server_that_stays_broken_is_given_up(tmp_path: Path) -> None:
    with FileServer({"/file": Answer(b"sorry", status=500)}) as server:
        message = complaint(wanted(server), tmp_path / "file.bin")
        assert f"{server.url('/file')}: 500 Internal Server Error" in message
    assert len(server.log) == 3
    assert visible(tmp_path) == []


def test_an_unreachable_host_is_named(tmp_path: Path) -> None:
    with FileServer({}) as server:
        file = wanted(server)
    message = complaint(file, tmp_path / "file.bin")
    assert file.url in message
    assert "refused" in message


def test_each_wait_is_twice_as_long_as_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(download, "FIRST_WAIT", 1.0)
    monkeypatch.setattr(download, "TRIES", 6)
    monkeypatch.setattr("time.sleep", waits.append)
    with FileServer({"/file": Answer(status=503)}) as server:
        complaint(wanted(server), tmp_path / "file.bin")
    assert [wait for wait in waits if wait >= 1] == [2, 4, 8, 16]


# --- Wrong bytes ----------------------------------------------------------------------------------------------------


def test_wrong_bytes_are_discarded_and_downloaded_once_more(tmp_path: Path) -> None:
    with FileServer({"/file": [Answer(OTHER), Answer(CONTENT)]}) as server:
        fetch(wanted(server), tmp_path / "file.bin")
    assert server.ranges() == [None, None]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(OTHER), f"its sha256 is {hashlib.sha256(OTHER).hexdigest()}, expected {DIGEST}"),
        (
            Answer(b"<html>Log in</html>", headers={"Content-Type": "text/html"}),
            "it has 19 bytes (text/html), expected 300000",
        ),
        (Answer(CONTENT, length=299_999), "it has 299999 bytes (None), expected 300000"),
        (Answer(CONTENT * 100, chunked=True), "it has more than 300000 bytes"),
    ],
)
def test_wrong_bytes_twice_leave_nothing_and_the_error_says_what_is_wrong(
    answer: Answer, words: str, tmp_path: Path
) -> None:
    with FileServer({"/file": answer}) as server:
        assert f"wrong bytes, twice: {words}" in complaint(wanted(server), tmp_path / "file.bin")
    assert visible(tmp_path) == []
    assert len(server.log) == 2
    assert all(asked.sent < 10_000_000 for asked in server.log)


def test_a_file_that_the_disk_has_no_room_for_is_not_downloaded(tmp_path: Path) -> None:
    with FileServer({"/file": Answer(CONTENT, length=10**18)}) as server:
        huge = Download("file.bin", server.url("/file"), PAGE, size=10**18)
        with pytest.raises(DiskFullError, match=rf"needs {10**18} bytes in {tmp_path}"):
            fetch(huge, tmp_path / "file.bin")
    assert visible(tmp_path) == []
