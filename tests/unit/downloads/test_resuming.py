"""Downloads from a real server that cuts and falls silent: what is resumed, also in another process, and not joined."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fossil.data.downloads import download
from fossil.data.downloads.download import fetch
from tests.unit.downloads.file_server import Answer, FileServer
from tests.unit.downloads.wanted_file import CONTENT, DIGEST, OTHER, complaint, visible, wanted

DATE = {"Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}

# --- What is resumed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [{"etag": '"one"'}, {"headers": DATE}])
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("known", [True, False])
def test_cut_connections_are_resumed_and_no_byte_is_sent_twice(
    version: dict, chunked: bool, known: bool, tmp_path: Path
) -> None:
    answer = {"content": CONTENT, "chunked": chunked, **version}
    script = [Answer(**answer, cut_after=100_000), Answer(**answer, cut_after=70_000), Answer(**answer)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server, known=known), tmp_path / "file.bin")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert server.ranges() == [None, "bytes=100000-", "bytes=170000-"]
    condition = version.get("etag") or DATE["Last-Modified"]
    assert [asked.headers.get("if-range") for asked in server.log] == [None, condition, condition]
    assert sum(asked.sent for asked in server.log) == len(CONTENT)


def test_a_reset_connection_is_resumed(tmp_path: Path) -> None:
    with FileServer({"/file": [Answer(CONTENT, cut_after=100_000, reset=True), Answer(CONTENT)]}) as server:
        fetch(wanted(server), tmp_path / "file.bin")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert len(server.log) == 2


def test_silence_ends_by_the_time_out_and_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "TIMEOUT", 1)
    with FileServer({"/file": [Answer(CONTENT, hold_after=100_000), Answer(CONTENT)]}) as server:
        fetch(wanted(server), tmp_path / "file.bin")
    assert server.ranges() == [None, "bytes=100000-"]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_source_that_brings_bytes_may_be_cut_more_often_than_there_are_tries(tmp_path: Path) -> None:
    with FileServer({"/file": Answer(CONTENT, cut_after=20_000)}) as server:
        fetch(wanted(server), tmp_path / "file.bin")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert sum(asked.sent for asked in server.log) == len(CONTENT)


def test_a_source_that_brings_no_more_bytes_is_given_up_and_those_that_came_are_kept(tmp_path: Path) -> None:
    with FileServer({"/file": [Answer(CONTENT, cut_after=1000), Answer(status=500)]}) as server:
        message = complaint(wanted(server), tmp_path / "file.bin")
    assert "3 tries in a row; 1000 bytes are kept" in message
    assert (tmp_path / "file.bin.partial").read_bytes() == CONTENT[:1000]


def test_a_server_that_ignores_ranges_and_always_cuts_at_the_same_byte_is_given_up(tmp_path: Path) -> None:
    with FileServer({"/file": Answer(CONTENT, ranges=False, cut_after=100_000)}) as server:
        assert "100000 bytes are kept" in complaint(wanted(server), tmp_path / "file.bin")
    assert len(server.log) == 4


def test_a_partial_file_with_a_known_hash_is_resumed_from_another_source(tmp_path: Path) -> None:
    scripts = {"/first": [Answer(CONTENT, etag='"a"', cut_after=100_000), Answer(status=403)], "/next": Answer(CONTENT)}
    with FileServer(scripts) as server:
        assert fetch(wanted(server, "/first", "/next"), tmp_path / "file.bin").source == server.url("/next")
    assert server.ranges("/next") == ["bytes=100000-"]
    assert "if-range" not in server.log[-1].headers
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_whole_partial_file_takes_its_name_without_a_request(tmp_path: Path) -> None:
    (tmp_path / "file.bin.partial").write_bytes(CONTENT)
    with FileServer({}) as server:
        fetch(wanted(server), tmp_path / "file.bin")
    assert server.log == []
    assert visible(tmp_path) == ["file.bin"]


# --- What is not joined ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "then", "ranges"),
    [
        # A server that ignores ranges.
        (Answer(CONTENT, cut_after=100_000), [Answer(CONTENT, ranges=False)], [None, "bytes=100000-"]),
        # A file that has changed, and whose server does not heed the condition.
        (Answer(OTHER, etag='"old"', cut_after=1000), [Answer(CONTENT, etag='"new"')], [None, "bytes=1000-"]),
        (
            Answer(OTHER, headers={"ETag": '"old"'}, cut_after=1000),
            [Answer(CONTENT, headers={"ETag": '"new"'}, etag='"old"'), Answer(CONTENT)],
            [None, "bytes=1000-", None],
        ),
        # A range that begins elsewhere.
        (
            Answer(CONTENT, cut_after=1000),
            [Answer(CONTENT, content_range="bytes 999-299999/300000"), Answer(CONTENT)],
            [None, "bytes=1000-", None],
        ),
        # A file that is shorter than the partial one.
        (Answer(OTHER, cut_after=5000), [Answer(CONTENT[:4000]), Answer(CONTENT)], [None, "bytes=5000-", None]),
    ],
)
def test_pieces_of_different_files_are_not_joined(
    first: Answer, then: list[Answer], ranges: list[str | None], tmp_path: Path
) -> None:
    with FileServer({"/file": [first, *then]}) as server:
        fetch(wanted(server), tmp_path / "file.bin")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert server.ranges() == ranges


def test_without_a_hash_and_a_version_of_the_file_a_cut_download_starts_again(tmp_path: Path) -> None:
    script = [Answer(OTHER, etag='W/"weak"', cut_after=100_000), Answer(CONTENT, etag='W/"weak"')]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server, known=False), tmp_path / "file.bin")
    assert server.ranges() == [None, None]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_partial_file_without_a_hash_is_not_resumed_from_another_source(tmp_path: Path) -> None:
    next_answer = Answer(CONTENT, etag='"a"')
    scripts = {"/first": [Answer(OTHER, etag='"a"', cut_after=100_000), Answer(status=403)], "/next": next_answer}
    with FileServer(scripts) as server:
        fetch(wanted(server, "/first", "/next", known=False), tmp_path / "file.bin")
    assert server.ranges("/next") == [None]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("left", "ranges"), [(CONTENT + b"more", ["bytes=300004-", None]), (OTHER, [None]), (OTHER[:9], ["bytes=9-", None])]
)
def test_a_wrong_partial_file_costs_one_more_download_and_no_error(
    left: bytes, ranges: list[str | None], tmp_path: Path
) -> None:
    (tmp_path / "file.bin.partial").write_bytes(left)
    with FileServer({"/file": Answer(CONTENT)}) as server:
        fetch(wanted(server), tmp_path / "file.bin")
    assert server.ranges() == ranges
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert visible(tmp_path) == ["file.bin"]


@pytest.mark.parametrize("note", ["", "{", "[]", '{"url": 1}', "null"])
def test_an_unreadable_note_next_to_the_partial_file_does_no_harm(note: str, tmp_path: Path) -> None:
    (tmp_path / "file.bin.partial").write_bytes(CONTENT[:1000])
    (tmp_path / "file.bin.partial.json").write_text(note)
    with FileServer({"/file": Answer(CONTENT)}) as server:
        fetch(wanted(server), tmp_path / "file.bin")
    assert server.ranges() == ["bytes=1000-"]
    assert visible(tmp_path) == ["file.bin"]


# --- Several processes ----------------------------------------------------------------------------------------------

CHILD = """
import sys
from pathlib import Path
from fossil.data.downloads.download import RemoteFile, fetch

url, size, digest, path = sys.argv[1:]
print("started", flush=True)
print(fetch(RemoteFile("file.bin", (url,), "https://example.org", size=int(size), sha256=digest), Path(path)).source)
"""


@contextmanager
def child(server: FileServer, path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that downloads the file."""
    command = [sys.executable, "-W", "error", "-c", CHILD, server.url("/file"), str(len(CONTENT)), DIGEST, str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    try:
        assert process.stdout.readline() == "started\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for_size(path: Path, size: int) -> None:
    deadline = time.monotonic() + 300
    while not path.exists() or path.stat().st_size < size:
        assert time.monotonic() < deadline, f"{path} does not grow to {size} bytes"
        time.sleep(0.01)


def test_a_killed_download_resumes_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    script = [Answer(CONTENT, etag='"a"', hold_after=123_456), Answer(CONTENT, etag='"a"')]
    with FileServer({"/file": script}) as server:
        with child(server, path) as process:
            wait_for_size(tmp_path / "file.bin.partial", 123_456)
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
        assert not path.exists()
        fetch(wanted(server), path)
    assert path.read_bytes() == CONTENT
    assert server.ranges() == [None, "bytes=123456-"]
    assert server.log[1].headers["if-range"] == '"a"'
    assert sum(asked.sent for asked in server.log) == len(CONTENT)


@pytest.mark.parametrize("is_killed", [False, True])
def test_of_two_processes_that_want_the_same_file_one_waits_and_resumes_if_the_other_is_killed(
    is_killed: bool, tmp_path: Path
) -> None:
    path = tmp_path / "file.bin"
    server = FileServer({"/file": [Answer(CONTENT, hold_after=1000), Answer(CONTENT)]})
    with server, child(server, path) as first:
        wait_for_size(tmp_path / "file.bin.partial", 1000)
        with child(server, path) as second:
            time.sleep(0.3)
            assert len(server.log) == 1
            if is_killed:
                first.kill()
            else:
                server.release.set()
            assert second.communicate(timeout=300)[0].strip() == (server.url("/file") if is_killed else "already there")
    assert path.read_bytes() == CONTENT
    assert server.ranges() == ([None, "bytes=1000-"] if is_killed else [None])
