"""Downloads from a real server that cuts and falls silent: what is resumed, also in another process, and not joined."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fossil.data.downloads import download
from fossil.data.downloads.download import fetch
from tests.unit.downloads.file_server import Answer, FileServer
from tests.unit.downloads.wanted_file import CONTENT, DIGEST, OTHER, complaint, visible, wanted

# --- What is resumed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("known", [True, False])
def test_cut_connections_are_resumed_and_no_byte_is_sent_twice(chunked: bool, known: bool, tmp_path: Path) -> None:
    script = [Answer(CONTENT, chunked=chunked, cut_after=cut) for cut in (100_000, 70_000, None)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server, known=known), tmp_path / "file.bin")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert server.ranges() == [None, "bytes=100000-", "bytes=170000-"]
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
    assert "500 Internal Server Error; 1000 bytes are kept: run again to resume" in message
    assert (tmp_path / "file.bin.partial").read_bytes() == CONTENT[:1000]


def test_a_server_that_ignores_ranges_and_always_cuts_at_the_same_byte_is_given_up(tmp_path: Path) -> None:
    with FileServer({"/file": Answer(CONTENT, ranges=False, cut_after=100_000)}) as server:
        assert "100000 bytes are kept" in complaint(wanted(server), tmp_path / "file.bin")
    assert len(server.log) == 4


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


# --- Another process ----------------------------------------------------------------------------------------------

CHILD = """
import sys
from pathlib import Path
from fossil.data.downloads.download import Download, fetch

url, size, digest, path = sys.argv[1:]
fetch(Download("file.bin", url, "https://example.org", size=int(size), sha256=digest), Path(path))
"""


def test_a_killed_download_resumes_in_another_process(tmp_path: Path) -> None:
    path, partial = tmp_path / "file.bin", tmp_path / "file.bin.partial"
    with FileServer({"/file": [Answer(CONTENT, hold_after=123_456), Answer(CONTENT)]}) as server:
        command = [
            sys.executable,
            "-W",
            "error",
            "-c",
            CHILD,
            server.url("/file"),
            str(len(CONTENT)),
            DIGEST,
            str(path),
        ]
        process = subprocess.Popen(command)
        deadline = time.monotonic() + 300
        while not partial.exists() or partial.stat().st_size < 123_456:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert not path.exists()
        fetch(wanted(server), path)
    assert path.read_bytes() == CONTENT
    assert server.ranges() == [None, "bytes=123456-"]
    assert sum(asked.sent for asked in server.log) == len(CONTENT)
