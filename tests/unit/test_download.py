"""Downloads from a real server that cuts, stalls, lies and refuses: what arrives, what was asked for, what is said."""

from __future__ import annotations

import email.utils
import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fossil.data.disk import DiskFullError, require_space
from fossil.data.download import DownloadError, NoSourceError, RemoteFile, fetch
from fossil.data.http_answers import Patience
from tests.unit.file_server import Answer, FileServer
from tests.unit.small_disk import enlarge, mounted

QUICK = Patience(
    connect_seconds=2,
    read_seconds=0.5,
    slowest=2000,
    stall_seconds=0.2,
    tries=3,
    enough=1_000_000,
    first_wait=0.001,
    longest_wait=0.004,
    longest_retry_after=5,
)
CONTENT = random.Random(1).randbytes(300_000)
OTHER = random.Random(2).randbytes(300_000)
DIGEST = hashlib.sha256(CONTENT).hexdigest()
PAGE = "https://doi.org/10.1234/data"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def wanted(server: FileServer, *paths: str, known: bool = True) -> RemoteFile:
    urls = tuple(map(server.url, paths or ("/file",)))
    size, digest = (len(CONTENT), DIGEST) if known else (None, None)
    return RemoteFile("file.bin", urls, PAGE, size=size, sha256=digest)


def complaint(file: RemoteFile, path: Path, patience: Patience = QUICK) -> str:
    with pytest.raises(DownloadError) as caught:
        fetch(file, path, patience=patience)
    return str(caught.value)


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


# --- What arrives -----------------------------------------------------------------------------------------------------


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


# --- Cut connections --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("known", [True, False])
def test_cut_connections_are_gone_on_with_and_no_byte_is_sent_twice(chunked: bool, known: bool, tmp_path: Path) -> None:
    answer = {"content": CONTENT, "etag": '"one"', "chunked": chunked}
    script = [Answer(**answer, cut_after=100_000), Answer(**answer, cut_after=70_000), Answer(**answer)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server, known=known), tmp_path / "file.bin", patience=QUICK)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert [asked.range for asked in server.log] == [None, "bytes=100000-", "bytes=170000-"]
    assert [asked.headers.get("if-range") for asked in server.log] == [None, '"one"', '"one"']
    assert sum(asked.sent for asked in server.log) == len(CONTENT)


def test_a_version_that_is_not_sent_with_a_part_is_remembered(tmp_path: Path) -> None:
    answer = {"content": CONTENT, "etag": '"one"', "etag_with_parts": False}
    script = [Answer(**answer, cut_after=1000), Answer(**answer, cut_after=1000), Answer(**answer)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server, known=False), tmp_path / "file.bin", patience=QUICK)
    assert [asked.range for asked in server.log] == [None, "bytes=1000-", "bytes=2000-"]
    assert server.log[2].headers["if-range"] == '"one"'
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_reset_connection_is_gone_on_with(tmp_path: Path) -> None:
    script = [Answer(CONTENT, cut_after=100_000, reset=True), Answer(CONTENT)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert len(server.log) == 2


def test_a_source_that_brings_enough_each_time_may_cut_more_often_than_there_are_tries(tmp_path: Path) -> None:
    patience = Patience(tries=2, enough=20_000, first_wait=0.001)
    with FileServer({"/file": Answer(CONTENT, cut_after=20_000)}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=patience)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert len(server.log) == 15
    assert sum(asked.sent for asked in server.log) == len(CONTENT)


def test_a_source_that_brings_too_little_is_given_up_and_what_came_is_kept(tmp_path: Path) -> None:
    with FileServer({"/file": Answer(CONTENT, cut_after=10)}) as server:
        message = complaint(wanted(server), tmp_path / "file.bin")
    assert "30 of 300000 bytes" in message
    assert "3 tries" in message
    assert [asked.range for asked in server.log] == [None, "bytes=10-", "bytes=20-"]
    assert (tmp_path / "file.bin.partial").read_bytes() == CONTENT[:30]


def test_a_server_that_ignores_ranges_and_always_cuts_at_the_same_byte_is_given_up(tmp_path: Path) -> None:
    patience = Patience(tries=3, enough=1000, first_wait=0.001)
    with FileServer({"/file": Answer(CONTENT, ranges=False, cut_after=100_000)}) as server:
        message = complaint(wanted(server), tmp_path / "file.bin", patience)
    assert "100000 of 300000 bytes" in message
    assert len(server.log) == 4


def test_a_server_that_ignores_ranges_is_read_from_the_start_without_joining(tmp_path: Path) -> None:
    script = [Answer(CONTENT, cut_after=100_000), Answer(CONTENT, ranges=False)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert [asked.status for asked in server.log] == [200, 200]
    assert server.log[1].range == "bytes=100000-"
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


@pytest.mark.parametrize("known", [True, False])
def test_a_file_that_changed_between_tries_is_not_joined_with_the_old_one(known: bool, tmp_path: Path) -> None:
    script = [Answer(OTHER, etag='"old"', cut_after=100_000), Answer(CONTENT, etag='"new"')]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server, known=known), tmp_path / "file.bin", patience=QUICK)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert [(asked.range, asked.headers.get("if-range")) for asked in server.log] == [
        (None, None),
        ("bytes=100000-", '"old"'),
    ]


def test_a_changed_file_whose_server_does_not_heed_the_condition_is_not_joined_either(tmp_path: Path) -> None:
    script = [
        Answer(OTHER, headers={"ETag": '"old"'}, cut_after=100_000),
        Answer(CONTENT, headers={"ETag": '"new"'}, etag='"old"'),
        Answer(CONTENT, etag='"new"'),
    ]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server, known=False), tmp_path / "file.bin", patience=QUICK)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_date_stands_in_for_an_etag(tmp_path: Path) -> None:
    headers = {"Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
    script = [Answer(CONTENT, headers=headers, cut_after=1000), Answer(CONTENT, headers=headers)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server, known=False), tmp_path / "file.bin", patience=QUICK)
    assert [asked.headers.get("if-range") for asked in server.log] == [None, headers["Last-Modified"]]
    assert server.log[1].status == 206
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_file_of_another_size_with_the_same_date_is_not_joined(tmp_path: Path) -> None:
    headers = {"Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
    script = [Answer(OTHER[:200_000], headers=headers, cut_after=1000), Answer(CONTENT, headers=headers)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server, known=False), tmp_path / "file.bin", patience=QUICK)
    assert [asked.range for asked in server.log] == [None, "bytes=1000-", None]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_without_a_hash_and_a_version_of_the_file_a_cut_download_starts_anew(tmp_path: Path) -> None:
    script = [Answer(OTHER, etag='W/"weak"', cut_after=100_000), Answer(CONTENT, etag='W/"weak"')]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server, known=False), tmp_path / "file.bin", patience=QUICK)
    assert [asked.range for asked in server.log] == [None, None]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_range_that_begins_elsewhere_is_not_joined(tmp_path: Path) -> None:
    (tmp_path / "file.bin.partial").write_bytes(CONTENT[:1000])
    script = [Answer(CONTENT, content_range="bytes 999-299999/300000"), Answer(CONTENT)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert [asked.range for asked in server.log] == ["bytes=1000-", None]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_server_that_gives_only_a_part_of_the_asked_range_is_asked_for_the_rest(tmp_path: Path) -> None:
    (tmp_path / "file.bin.partial").write_bytes(CONTENT[:1000])
    part = Answer(CONTENT[:5000], content_range="bytes 1000-4999/300000")
    with FileServer({"/file": [part, Answer(CONTENT)]}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert [asked.range for asked in server.log] == ["bytes=1000-", "bytes=5000-"]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_partial_file_with_a_known_hash_is_gone_on_with_from_another_source(tmp_path: Path) -> None:
    scripts = {"/first": [Answer(CONTENT, etag='"a"', cut_after=100_000), Answer(status=403)], "/next": Answer(CONTENT)}
    with FileServer(scripts) as server:
        fetched = fetch(wanted(server, "/first", "/next"), tmp_path / "file.bin", patience=QUICK)
        assert fetched.source == server.url("/next")
    assert [(asked.range, asked.headers.get("if-range")) for asked in server.asked("/next")] == [
        ("bytes=100000-", None)
    ]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_partial_file_without_a_hash_is_not_gone_on_with_from_another_source(tmp_path: Path) -> None:
    scripts = {
        "/first": [Answer(OTHER, etag='"a"', cut_after=100_000), Answer(status=403)],
        "/next": Answer(CONTENT, etag='"a"'),
    }
    with FileServer(scripts) as server:
        fetch(wanted(server, "/first", "/next", known=False), tmp_path / "file.bin", patience=QUICK)
    assert [asked.range for asked in server.asked("/next")] == [None]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_whole_partial_file_takes_its_name_without_a_request(tmp_path: Path) -> None:
    (tmp_path / "file.bin.partial").write_bytes(CONTENT)
    with FileServer({}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert server.log == []
    assert visible(tmp_path) == ["file.bin"]


@pytest.mark.parametrize(
    ("left", "ranges"), [(CONTENT + b"more", [None]), (OTHER, [None]), (OTHER[:1000], ["bytes=1000-", None])]
)
def test_a_wrong_partial_file_costs_one_more_download_and_no_error(
    left: bytes, ranges: list[str | None], tmp_path: Path
) -> None:
    (tmp_path / "file.bin.partial").write_bytes(left)
    with FileServer({"/file": Answer(CONTENT)}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert [asked.range for asked in server.log] == ranges
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert visible(tmp_path) == ["file.bin"]


@pytest.mark.parametrize("note", ["", "{", "[]", '{"url": 1}', "null"])
def test_a_note_beside_the_partial_file_that_cannot_be_read_does_no_harm(note: str, tmp_path: Path) -> None:
    (tmp_path / "file.bin.partial").write_bytes(CONTENT[:1000])
    (tmp_path / "file.bin.partial.json").write_text(note)
    with FileServer({"/file": Answer(CONTENT)}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert [asked.range for asked in server.log] == ["bytes=1000-"]
    assert visible(tmp_path) == ["file.bin"]


# --- Slow and silent servers ------------------------------------------------------------------------------------------


def test_a_drip_counts_as_cut_and_is_gone_on_with(tmp_path: Path) -> None:
    script = [Answer(CONTENT, drip=0.02), Answer(CONTENT)]
    start = time.monotonic()
    with FileServer({"/file": script}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert time.monotonic() - start < 5
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    given = int(server.log[1].range.removeprefix("bytes=").removesuffix("-"))
    assert 20 <= given <= 400


def test_a_drip_for_ever_is_given_up(tmp_path: Path) -> None:
    with FileServer({"/file": Answer(CONTENT, drip=0.02)}) as server:
        assert "it stalled: " in complaint(wanted(server), tmp_path / "file.bin")
    assert len(server.log) == 3


def test_a_connection_that_drips_after_a_quick_start_counts_as_cut(tmp_path: Path) -> None:
    script = [Answer(CONTENT, drip=0.02, drip_from=200_000), Answer(CONTENT)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert len(server.log) == 2
    assert server.log[0].sent < 210_000
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_slow_connection_above_the_limit_is_not_cut(tmp_path: Path) -> None:
    patience = Patience(slowest=100, stall_seconds=0.05, tries=1)
    content = CONTENT[:200]
    with FileServer({"/file": Answer(content, drip=0.01)}) as server:
        file = RemoteFile("file.bin", (server.url("/file"),), PAGE, size=200)
        fetch(file, tmp_path / "file.bin", patience=patience)
    assert len(server.log) == 1
    assert (tmp_path / "file.bin").read_bytes() == content


def test_silence_ends_by_the_time_out_and_is_gone_on_with(tmp_path: Path) -> None:
    script = [Answer(CONTENT, hold_after=100_000), Answer(CONTENT)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert [asked.range for asked in server.log] == [None, "bytes=100000-"]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


# --- Answers other than the file --------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451, 204])
def test_a_refusal_is_not_asked_twice_and_the_next_source_is_asked(status: int, tmp_path: Path) -> None:
    with FileServer({"/first": Answer(status=status), "/next": Answer(CONTENT)}) as server:
        fetched = fetch(wanted(server, "/first", "/next"), tmp_path / "file.bin", patience=QUICK)
        assert fetched.source == server.url("/next")
    assert [asked.path for asked in server.log] == ["/first", "/next"]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


@pytest.mark.parametrize("status", [500, 502, 503, 504, 408, 429])
def test_a_busy_or_broken_server_is_asked_again(status: int, tmp_path: Path) -> None:
    script = [Answer(status=status), Answer(status=status), Answer(CONTENT)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert [asked.status for asked in server.log] == [status, status, 200]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_server_that_is_broken_for_ever_is_given_up(tmp_path: Path) -> None:
    with FileServer({"/file": Answer(b"sorry", status=500)}) as server:
        message = complaint(wanted(server), tmp_path / "file.bin")
        assert f"{server.url('/file')}: 500 Internal Server Error (given up after 3 tries in a row)" in message
    assert len(server.log) == 3
    assert visible(tmp_path) == []


def test_a_failure_in_the_middle_keeps_what_came_before(tmp_path: Path) -> None:
    script = [Answer(CONTENT, cut_after=100_000), Answer(b"sorry", status=503), Answer(CONTENT)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert [asked.range for asked in server.log] == [None, "bytes=100000-", "bytes=100000-"]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_retry_after_in_seconds_is_waited_for(tmp_path: Path) -> None:
    script = [Answer(status=429, headers={"Retry-After": "1"}), Answer(CONTENT)]
    with FileServer({"/file": script}) as server:
        start = time.monotonic()
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert 1 <= time.monotonic() - start < 3


def test_retry_after_as_a_date_is_waited_for(tmp_path: Path) -> None:
    date = email.utils.format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    with FileServer({"/file": [Answer(status=503, headers={"Retry-After": date}), Answer(CONTENT)]}) as server:
        start = time.monotonic()
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    # The date has whole seconds, so between one and two of them are left.
    assert 0.9 <= time.monotonic() - start < 4


@pytest.mark.parametrize("value", ["soon", "-5", "", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_retry_after_that_is_no_time_to_come_is_not_waited_for(value: str, tmp_path: Path) -> None:
    script = [Answer(status=503, headers={"Retry-After": value}), Answer(CONTENT)]
    with FileServer({"/file": script}) as server:
        start = time.monotonic()
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert time.monotonic() - start < 1


def test_a_server_that_asks_to_wait_too_long_is_given_up_at_once(tmp_path: Path) -> None:
    with FileServer({"/file": Answer(status=429, headers={"Retry-After": "86400"})}) as server:
        assert "wait 86400 s" in complaint(wanted(server), tmp_path / "file.bin")
    assert len(server.log) == 1


def test_an_unreachable_host_is_asked_again_and_then_named(tmp_path: Path) -> None:
    with FileServer({}) as server:
        file = wanted(server)
    message = complaint(file, tmp_path / "file.bin")
    assert file.urls[0] in message
    assert "refused" in message
    assert "3 tries" in message


def test_a_compressed_answer_is_refused(tmp_path: Path) -> None:
    with FileServer({"/file": Answer(CONTENT, headers={"Content-Encoding": "gzip"})}) as server:
        assert "compressed" in complaint(wanted(server), tmp_path / "file.bin")
    assert len(server.log) == 1


# --- Wrong bytes ------------------------------------------------------------------------------------------------------


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


# --- The disk ---------------------------------------------------------------------------------------------------------


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


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk") as folder:
        yield folder


# --- Several processes, and killed ones -------------------------------------------------------------------------------


CHILD = """
import logging
import sys
from pathlib import Path
from fossil.data.download import RemoteFile, fetch
from fossil.data.http_answers import Patience

logging.basicConfig(level=logging.INFO, format="%(message)s")
url, size, digest, path = sys.argv[1:]
file = RemoteFile("file.bin", (url,), "https://example.org", size=int(size), sha256=digest)
print(fetch(file, Path(path), patience=Patience()).source)
"""


@contextmanager
def child(server: FileServer, path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that downloads the file."""
    command = [sys.executable, "-W", "error", "-c", CHILD, server.url("/file"), str(len(CONTENT)), DIGEST, str(path)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_PROXY": "127.0.0.1"}
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for_size(path: Path, size: int) -> None:
    deadline = time.monotonic() + 20
    while not path.exists() or path.stat().st_size < size:
        assert time.monotonic() < deadline, f"{path} does not grow to {size} bytes"
        time.sleep(0.01)


def test_a_killed_download_goes_on_in_another_process_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    script = [Answer(CONTENT, etag='"a"', hold_after=123_456), Answer(CONTENT, etag='"a"')]
    with FileServer({"/file": script}) as server:
        with child(server, path) as process:
            wait_for_size(tmp_path / "file.bin.partial", 123_456)
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
        assert not path.exists()
        fetch(wanted(server), path, patience=QUICK)
    assert path.read_bytes() == CONTENT
    assert [(asked.range, asked.headers.get("if-range")) for asked in server.log] == [
        (None, None),
        ("bytes=123456-", '"a"'),
    ]
    assert sum(asked.sent for asked in server.log) == len(CONTENT)


def test_two_processes_that_want_the_same_file_download_it_once(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    server = FileServer({"/file": Answer(CONTENT, hold_after=1000)})
    with server, child(server, path) as first:
        wait_for_size(tmp_path / "file.bin.partial", 1000)
        with child(server, path) as second:
            assert second.stderr.readline() == f"{path}: another process is making it; waiting until that ends\n"
            server.release.set()
            outputs = [process.communicate(timeout=30)[0].strip() for process in (first, second)]
        assert outputs == [server.url("/file"), "already there"]
    assert path.read_bytes() == CONTENT
    assert [asked.sent for asked in server.log] == [len(CONTENT)]
    assert visible(tmp_path) == ["file.bin"]


def test_a_process_that_waits_goes_on_when_the_first_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    server = FileServer({"/file": [Answer(CONTENT, hold_after=1000), Answer(CONTENT)]})
    with server, child(server, path) as first:
        wait_for_size(tmp_path / "file.bin.partial", 1000)
        with child(server, path) as second:
            assert "waiting" in second.stderr.readline()
            first.kill()
            assert second.communicate(timeout=30)[0].strip() == server.url("/file")
    assert path.read_bytes() == CONTENT
    assert [asked.range for asked in server.log] == [None, "bytes=1000-"]
