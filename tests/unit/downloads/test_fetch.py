"""Downloads from a real server: what arrives, what is verified, and what the server answers instead."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from fossil.data.downloads.download import DiskFullError, RemoteFile, fetch, require_space
from tests.unit.downloads.file_server import Answer, FileServer
from tests.unit.downloads.wanted_file import CONTENT, DIGEST, OTHER, PAGE, complaint, visible, wanted

# --- What arrives ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("chunked", [True, False])
def test_a_file_arrives_whole_with_its_source_and_hash_and_nothing_else_is_left(
    chunked: bool, known: bool, tmp_path: Path
) -> None:
    path = tmp_path / "new" / "file.bin"
    with FileServer({"/file": Answer(CONTENT, chunked=chunked)}) as server:
        assert fetch(wanted(server, known=known), path) == (server.url("/file"), DIGEST)
    assert path.read_bytes() == CONTENT
    assert visible(path.parent) == ["file.bin"]
    assert server.ranges() == [None]
    assert server.log[0].headers["accept-encoding"] == "identity"


def test_an_empty_file_arrives(tmp_path: Path) -> None:
    with FileServer({"/file": Answer(b"")}) as server:
        fetch(RemoteFile("file.bin", (server.url("/file"),), PAGE, size=0), tmp_path / "file.bin")
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
        assert fetch(wanted(server), tmp_path / "file.bin") == ("already there", DIGEST)
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
def test_a_refusal_is_final_and_the_next_source_is_asked(status: int, tmp_path: Path) -> None:
    with FileServer({"/first": Answer(status=status), "/next": Answer(CONTENT)}) as server:
        assert fetch(wanted(server, "/first", "/next"), tmp_path / "file.bin").source == server.url("/next")
    assert [asked.path for asked in server.log] == ["/first", "/next"]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


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
        assert f"{server.url('/file')}: 500 Internal Server Error (given up after 3 tries in a row" in message
    assert len(server.log) == 3
    assert visible(tmp_path) == []


def test_an_unreachable_host_is_asked_again_and_then_named(tmp_path: Path) -> None:
    with FileServer({}) as server:
        file = wanted(server)
    message = complaint(file, tmp_path / "file.bin")
    assert file.urls[0] in message
    assert "refused" in message
    assert "3 tries" in message


def test_each_wait_is_twice_as_long_as_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("fossil.data.downloads.download.FIRST_WAIT", 1.0)
    monkeypatch.setattr("fossil.data.downloads.download.TRIES", 9)
    monkeypatch.setattr("fossil.data.downloads.download.time.sleep", waits.append)
    with FileServer({"/file": Answer(status=503)}) as server:
        complaint(wanted(server), tmp_path / "file.bin")
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]


# --- Wrong bytes ----------------------------------------------------------------------------------------------------


def test_wrong_bytes_are_discarded_and_downloaded_once_more(tmp_path: Path) -> None:
    with FileServer({"/file": [Answer(OTHER), Answer(CONTENT)]}) as server:
        fetch(wanted(server), tmp_path / "file.bin")
    assert server.ranges() == [None, None]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_wrong_bytes_twice_lead_to_the_next_source(tmp_path: Path) -> None:
    with FileServer({"/first": Answer(OTHER), "/next": Answer(CONTENT)}) as server:
        fetch(wanted(server, "/first", "/next"), tmp_path / "file.bin")
    assert [asked.path for asked in server.log] == ["/first", "/first", "/next"]
    assert server.log[2].range is None
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(OTHER), f"its sha256 is {hashlib.sha256(OTHER).hexdigest()}, expected {DIGEST}"),
        (
            Answer(b"<html>Log in</html>", headers={"Content-Type": "text/html"}),
            "19 bytes (text/html), expected 300000",
        ),
        (Answer(CONTENT, length=299_999), "299999 bytes (None), expected 300000"),
        (Answer(CONTENT * 100, chunked=True), "more than 300000 bytes"),
    ],
)
def test_wrong_bytes_from_every_source_leave_nothing_and_say_what_is_wrong(
    answer: Answer, words: str, tmp_path: Path
) -> None:
    with FileServer({"/file": answer}) as server:
        assert f"wrong bytes, twice: it has {words}".replace("it has its", "its") in complaint(
            wanted(server), tmp_path / "file.bin"
        )
    assert visible(tmp_path) == []
    assert all(asked.sent < 10_000_000 for asked in server.log)


def test_the_error_lists_every_answer_and_says_what_to_do_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "downloads" / "file.bin"
    with FileServer({"/first": Answer(status=403), "/next": Answer(OTHER)}) as server:
        message = complaint(wanted(server, "/first", "/next"), path)
        assert f"{server.url('/first')}: 403 Forbidden" in message
        assert f"{server.url('/next')}: wrong bytes, twice" in message
    assert f"download file.bin (300000 bytes, sha256 {DIGEST}) from {PAGE}, put it at {path}" in message


# --- The disk -------------------------------------------------------------------------------------------------------


def test_a_file_that_the_disk_has_no_room_for_is_not_downloaded(tmp_path: Path) -> None:
    with FileServer({"/file": Answer(CONTENT, length=10**18)}) as server:
        huge = RemoteFile("file.bin", (server.url("/file"),), PAGE, size=10**18)
        with pytest.raises(DiskFullError, match=rf"needs {10**18} bytes in {tmp_path}"):
            fetch(huge, tmp_path / "file.bin")
    assert visible(tmp_path) == []


def test_room_is_checked_in_the_nearest_folder_that_exists(tmp_path: Path) -> None:
    require_space(tmp_path / "not" / "yet", 1, purpose="x")
    with pytest.raises(DiskFullError, match="x needs 1000000000000000000 bytes"):
        require_space(tmp_path / "not" / "yet", 10**18, purpose="x")
