"""Downloads from a real server that answers with something other than the file."""

from __future__ import annotations

import email.utils
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fossil.data.downloads.download import fetch
from tests.unit.downloads.file_server import Answer, FileServer
from tests.unit.downloads.wanted_file import (
    CONTENT,
    QUICK,
    complaint,
    visible,
    wanted,
)

pytestmark = pytest.mark.usefixtures("no_proxy")


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


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of each wait between two tries, none of which takes place."""
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


def test_retry_after_in_seconds_is_waited_for(waits: list[float], tmp_path: Path) -> None:
    script = [Answer(status=429, headers={"Retry-After": "3"}), Answer(CONTENT)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    assert waits == [3]


def test_retry_after_as_a_date_is_waited_for(waits: list[float], tmp_path: Path) -> None:
    date = email.utils.format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    patience = replace(QUICK, longest_retry_after=3600)
    with FileServer({"/file": [Answer(status=503, headers={"Retry-After": date}), Answer(CONTENT)]}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=patience)
    # Less what this machine has taken meanwhile.
    (wait,) = waits
    assert 3000 < wait <= 3600


@pytest.mark.parametrize("value", ["soon", "-5", "", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_retry_after_that_is_no_time_to_come_is_not_waited_for(
    value: str, waits: list[float], tmp_path: Path
) -> None:
    script = [Answer(status=503, headers={"Retry-After": value}), Answer(CONTENT)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=QUICK)
    (wait,) = waits
    assert wait <= QUICK.longest_wait + QUICK.first_wait


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
