"""Downloads from a real server that cuts, drips and falls silent: what is asked for again, and what is not joined."""

from __future__ import annotations

from pathlib import Path

import pytest

from fossil.data.downloads.download import RemoteFile, fetch
from fossil.data.downloads.http_answers import Patience
from tests.unit.downloads.file_server import Answer, FileServer
from tests.unit.downloads.wanted_file import (
    CONTENT,
    HASTY,
    OTHER,
    PAGE,
    QUICK,
    complaint,
    visible,
    wanted,
)

pytestmark = pytest.mark.usefixtures("no_proxy")


# --- Cut connections ------------------------------------------------------------------------------------------------


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


# --- Slow and silent servers ----------------------------------------------------------------------------------------


def test_a_drip_counts_as_cut_and_is_gone_on_with(tmp_path: Path) -> None:
    script = [Answer(CONTENT, drip=0.02), Answer(CONTENT)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=HASTY)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert len(server.log) == 2
    given = int(server.log[1].range.removeprefix("bytes=").removesuffix("-"))
    # The whole file would drip for ten minutes.
    assert 0 < given <= server.log[0].sent < len(CONTENT) / 10


def test_a_drip_for_ever_is_given_up(tmp_path: Path) -> None:
    with FileServer({"/file": Answer(CONTENT, drip=0.02)}) as server:
        assert "it stalled: " in complaint(wanted(server), tmp_path / "file.bin", HASTY)
    assert len(server.log) == 3


def test_a_connection_that_drips_after_a_quick_start_counts_as_cut(tmp_path: Path) -> None:
    script = [Answer(CONTENT, drip=0.02, drip_from=200_000), Answer(CONTENT)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=HASTY)
    assert len(server.log) == 2
    assert server.log[0].sent < 210_000
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_slow_connection_above_the_limit_is_not_cut(tmp_path: Path) -> None:
    # Ten bytes in ten seconds would be enough.
    patience = Patience(slowest=1, stall_seconds=0.05, tries=1)
    content = CONTENT[:200]
    with FileServer({"/file": Answer(content, drip=0.01)}) as server:
        file = RemoteFile("file.bin", (server.url("/file"),), PAGE, size=200)
        fetch(file, tmp_path / "file.bin", patience=patience)
    assert len(server.log) == 1
    assert (tmp_path / "file.bin").read_bytes() == content


def test_silence_ends_by_the_time_out_and_is_gone_on_with(tmp_path: Path) -> None:
    script = [Answer(CONTENT, hold_after=100_000), Answer(CONTENT)]
    with FileServer({"/file": script}) as server:
        fetch(wanted(server), tmp_path / "file.bin", patience=HASTY)
    assert [asked.range for asked in server.log] == [None, "bytes=100000-"]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
