"""Progress in bytes: the line's words against hand calculation, and the bar on a real terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from fossil.runtime.logs import byte_line, byte_progress

CHILD = """
from fossil.runtime.logs import byte_progress
with byte_progress("imgs_part_1.zip", seconds_between_lines=0) as show:
    for done in (1_000_000, 2_000_000, 4_000_000):
        show(done, 4_000_000)
"""


@pytest.mark.parametrize(
    ("done", "total", "rate", "line"),
    [
        # (1245 - 310) MB / 2.3 MB/s = 406 s = 6.8 min.
        (310_000_000, 1_245_184_680, 2_300_000, "x: 310 of 1245 MB, 2.3 MB/s, about 7 min left"),
        # 1240 MB / 22 kB/s = 56 364 s = 15.7 h.
        (5_184_680, 1_245_184_680, 22_000, "x: 5 of 1245 MB, 22.0 kB/s, about 15.7 h left"),
        # 0.2 MB / 10 kB/s = 20 s.
        (116_209, 316_209, 10_000, "x: 0.1 of 0.3 MB, 10.0 kB/s, about 20 s left"),
        (310_000_000, None, 2_300_000, "x: 310 MB, 2.3 MB/s"),
        (310_000_000, 1_245_184_680, 0, "x: 310 of 1245 MB, 0 bytes/s"),
    ],
)
def test_a_line_says_how_far_how_fast_and_how_long(done: int, total: int | None, rate: float, line: str) -> None:
    assert byte_line("x", done=done, total=total, rate=rate) == line


def test_lines_come_where_there_is_no_terminal_but_not_for_the_start_and_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with byte_progress("x", seconds_between_lines=0) as show:
        for done in (50_000_000, 60_000_000, 70_000_000, 80_000_000):
            show(done, 80_000_000)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" MB,")[0] for line in lines] == ["x: 60 of 80", "x: 70 of 80"]


def test_no_line_comes_before_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    with byte_progress("x", seconds_between_lines=1000) as show:
        for done in range(100):
            show(done, 1000)
    assert capsys.readouterr().err == ""


def test_a_download_that_starts_anew_has_no_negative_speed(capsys: pytest.CaptureFixture[str]) -> None:
    with byte_progress("x", seconds_between_lines=0) as show:
        for done in (50_000_000, 60_000_000, 0, 10_000_000):
            show(done, 80_000_000)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" MB,")[0] for line in lines] == ["x: 60 of 80", "x: 10 of 80"]
    assert "-" not in "".join(lines)


@pytest.mark.parametrize(("plain", "expected"), [(None, "4.0/4.0 MB"), ("1", "imgs_part_1.zip: 2.0 of 4.0 MB, ")])
def test_a_terminal_shows_a_bar_unless_lines_are_asked_for(plain: str | None, expected: str, tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key != "FOSSIL_PLAIN_PROGRESS"}
    environment |= {"TERM": "xterm", "COLUMNS": "120", "NO_COLOR": "1"} | (
        {"FOSSIL_PLAIN_PROGRESS": plain} if plain else {}
    )
    subprocess.run([sys.executable, "-c", CHILD], stderr=terminal, env=environment, cwd=tmp_path, check=True)
    os.close(terminal)
    shown = b""
    while expected.encode() not in shown:
        shown += os.read(controller, 4096)
    os.close(controller)
    assert "imgs_part_1.zip" in shown.decode()
