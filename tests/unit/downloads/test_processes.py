"""Downloads in several processes, and in killed ones."""

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

from fossil.data.downloads.download import fetch
from tests.unit.downloads.file_server import Answer, FileServer
from tests.unit.downloads.wanted_file import (
    CONTENT,
    DIGEST,
    QUICK,
    visible,
    wanted,
)

pytestmark = pytest.mark.usefixtures("no_proxy")


CHILD = """
import logging
import sys
from pathlib import Path
from fossil.data.downloads.download import RemoteFile, fetch
from fossil.data.downloads.http_answers import Patience

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
    deadline = time.monotonic() + 300
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
            outputs = [process.communicate(timeout=300)[0].strip() for process in (first, second)]
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
