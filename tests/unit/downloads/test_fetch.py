"""Downloads from a real server: what arrives, what is verified, what room is needed."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest

from fossil.data.downloads.disk import DiskFullError, require_space
from fossil.data.downloads.download import NoSourceError, RemoteFile, fetch
from tests.unit.downloads.file_server import Answer, FileServer
from tests.unit.downloads.small_disk import enlarge
from tests.unit.downloads.wanted_file import (
    CONTENT,
    DIGEST,
    OTHER,
    PAGE,
    QUICK,
    complaint,
    visible,
    wanted,
)

pytestmark = pytest.mark.usefixtures("no_proxy")


# --- What arrives ---------------------------------------------------------------------------------------------------


def test_a_file_arrives_whole_with_its_source_and_hash_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.bin"
    with FileServer({"/file": Answer(CONTENT)}) as server:
        fetched = fetch(wanted(server), path, patience=QUICK)
        assert (fetched.source, fetched.sha256) == (server.url("/file"), DIGEST)
    assert path.read_bytes() == CONTENT
    assert visible(path.parent) == ["file.bin"]
    assert len(server.log) == 1
    assert server.log[0].range is None
    assert server.log[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    "answer",
    [
        Answer(CONTENT, chunked=True),
        Answer(CONTENT, until_close=True),
        # Chunks go before a length (RFC 9112, section 6.3).
        Answer(CONTENT, chunked=True, headers={"Content-Length": "17"}),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_a_body_without_a_length_arrives_whole(answer: Answer, known: bool, tmp_path: Path) -> None:
    with FileServer({"/file": answer}) as server:
        fetch(wanted(server, known=known), tmp_path / "file.bin", patience=QUICK)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_an_empty_file_arrives(tmp_path: Path) -> None:
    with FileServer({"/file": Answer(b"")}) as server:
        file = RemoteFile("file.bin", (server.url("/file"),), PAGE, size=0)
        assert fetch(file, tmp_path / "file.bin", patience=QUICK).sha256 == hashlib.sha256(b"").hexdigest()
    assert (tmp_path / "file.bin").read_bytes() == b""


def test_redirections_are_followed_with_the_range(tmp_path: Path) -> None:
    (tmp_path / "file.bin.partial").write_bytes(CONTENT[:1000])
    with FileServer({"/file": Answer(status=302, headers={"Location": "/there"}), "/there": Answer(CONTENT)}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert [asked.range for asked in server.asked("/there")] == ["bytes=1000-"]


def test_a_file_that_is_there_with_the_right_hash_is_not_asked_for(tmp_path: Path) -> None:
    (tmp_path / "file.bin").write_bytes(CONTENT)
    with FileServer({"/file": Answer(CONTENT)}) as server:
        fetched = fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert (fetched.source, fetched.sha256) == ("already there", DIGEST)
    assert server.log == []


@pytest.mark.parametrize(("content", "difference"), [(OTHER, "sha256"), (CONTENT[:-1], "299999 bytes")])
def test_a_file_that_is_there_and_is_another_is_an_error_that_names_it_and_it_stays(
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


# --- Wrong bytes ----------------------------------------------------------------------------------------------------


def test_wrong_bytes_are_removed_and_asked_for_once_anew(tmp_path: Path) -> None:
    with FileServer({"/file": [Answer(OTHER), Answer(CONTENT)]}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert [asked.range for asked in server.log] == [None, None]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_wrong_bytes_twice_lead_to_the_next_source(tmp_path: Path) -> None:
    with FileServer({"/first": Answer(OTHER), "/next": Answer(CONTENT)}) as server:
        fetch(wanted(server, "/first", "/next"), tmp_path / "file.bin", patience=QUICK)
    assert [asked.path for asked in server.log] == ["/first", "/first", "/next"]
    assert server.log[2].range is None
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_wrong_bytes_from_every_source_leave_nothing_and_name_the_hash(tmp_path: Path) -> None:
    with FileServer({"/file": Answer(OTHER)}) as server:
        message = complaint(wanted(server), tmp_path / "file.bin")
    assert f"wrong bytes, twice: its sha256 is {hashlib.sha256(OTHER).hexdigest()}, expected {DIGEST}" in message
    assert visible(tmp_path) == []


def test_a_page_in_place_of_the_file_is_told_by_its_size_before_it_is_read(tmp_path: Path) -> None:
    page = Answer(b"<html>Log in</html>", headers={"Content-Type": "text/html"})
    with FileServer({"/file": page}) as server:
        message = complaint(wanted(server), tmp_path / "file.bin")
    assert "19 bytes (text/html), expected 300000" in message
    assert visible(tmp_path) == []


def test_a_claimed_length_beyond_the_body_counts_as_a_cut(tmp_path: Path) -> None:
    script = [Answer(CONTENT[:1000], length=300_000), Answer(CONTENT)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert [asked.range for asked in server.log] == [None, "bytes=1000-"]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_claimed_length_below_the_known_one_is_wrong(tmp_path: Path) -> None:
    with FileServer({"/file": [Answer(CONTENT, length=299_999), Answer(CONTENT)]}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert [asked.range for asked in server.log] == [None, None]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_body_longer_than_the_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    endless = Answer(CONTENT * 100, chunked=True)
    with FileServer({"/file": endless}) as server:
        assert "more than 300000 bytes" in complaint(wanted(server), tmp_path / "file.bin")
    assert all(asked.sent < len(endless.content) for asked in server.log)


def test_a_file_shorter_than_the_partial_one_is_asked_for_anew(tmp_path: Path) -> None:
    (tmp_path / "file.bin.partial").write_bytes(OTHER[:5000])
    with FileServer({"/file": Answer(CONTENT[:4000])}) as server:
        file = RemoteFile("file.bin", (server.url("/file"),), PAGE, sha256=hashlib.sha256(CONTENT[:4000]).hexdigest())
        fetch(file, tmp_path / "file.bin", patience=QUICK)
    assert [(asked.range, asked.status) for asked in server.log] == [("bytes=5000-", 416), (None, 200)]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT[:4000]


def test_the_error_lists_every_answer_and_says_what_to_do_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "downloads" / "file.bin"
    with FileServer({"/first": Answer(status=403), "/next": Answer(OTHER)}) as server:
        with pytest.raises(NoSourceError) as caught:
            fetch(wanted(server, "/first", "/next"), path, patience=QUICK)
        message = str(caught.value)
        assert f"{server.url('/first')}: 403 Forbidden" in message
        assert f"{server.url('/next')}: wrong bytes, twice" in message
    assert f"download file.bin (300000 bytes, sha256 {DIGEST}) from {PAGE}, put it at {path}" in message


# --- The disk -------------------------------------------------------------------------------------------------------


def test_a_file_that_the_disk_has_no_room_for_is_not_asked_for(tmp_path: Path) -> None:
    with FileServer({"/file": Answer(CONTENT)}) as server:
        huge = RemoteFile("file.bin", (server.url("/file"),), PAGE, size=10**18)
        with pytest.raises(DiskFullError) as caught:
            fetch(huge, tmp_path / "file.bin", patience=QUICK)
    assert str(10**18) in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert server.log == []


def test_only_the_bytes_that_are_still_to_come_need_room(small_disk: Path) -> None:
    content = random.Random(3).randbytes(900_000)
    (small_disk / "file.bin.partial").write_bytes(content[:700_000])
    with FileServer({"/file": Answer(content)}) as server:
        file = RemoteFile(
            "file.bin", (server.url("/file"),), PAGE, size=900_000, sha256=hashlib.sha256(content).hexdigest()
        )
        fetch(file, small_disk / "file.bin", patience=QUICK)
    assert (small_disk / "file.bin").read_bytes() == content


def test_a_size_that_only_the_server_knows_is_held_against_the_disk(small_disk: Path) -> None:
    server = FileServer({"/file": Answer(bytes(2_000_000))})
    with server, pytest.raises(DiskFullError, match="2000000 bytes"):
        fetch(wanted(server, known=False), small_disk / "file.bin", patience=QUICK)
    assert visible(small_disk) == []


def test_a_disk_that_fills_up_is_an_error_that_keeps_what_came_and_asks_no_more_until_there_is_room(
    small_disk: Path,
) -> None:
    content = random.Random(4).randbytes(2_000_000)
    answer = Answer(content, etag='"a"', chunked=True)
    with FileServer({"/file": answer, "/next": answer}) as server:
        file = RemoteFile("file.bin", (server.url("/file"), server.url("/next")), PAGE)
        with pytest.raises(DiskFullError) as caught:
            fetch(file, small_disk / "file.bin", patience=QUICK)
        kept = (small_disk / "file.bin.partial").stat().st_size
        assert 900_000 < kept < 2_000_000
        assert f"{kept} bytes are kept in {small_disk / 'file.bin.partial'}" in str(caught.value)
        assert len(server.log) == 1
        enlarge(small_disk)
        fetch(file, small_disk / "file.bin", patience=QUICK)
    assert [asked.range for asked in server.log] == [None, f"bytes={kept}-"]
    assert (small_disk / "file.bin").read_bytes() == content


def test_room_is_asked_for_in_the_nearest_folder_that_is_there(tmp_path: Path) -> None:
    require_space(tmp_path / "not" / "yet", 1, purpose="x")
    with pytest.raises(DiskFullError, match="x needs 1000000000000000000 bytes"):
        require_space(tmp_path / "not" / "yet", 10**18, purpose="x")
