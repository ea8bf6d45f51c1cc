"""Progress: lines where there is no terminal, and a bar on a real one."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from fossil.runtime.logs import byte_progress, progress

CHILD = """
import time
from fossil.runtime.logs import byte_progress
with byte_progress("imgs_part_1.zip", seconds_between_lines=0) as show:
    for done in (1_000_000, 2_000_000, 4_000_000):
        time.sleep(0.15)
        show(done, 4_000_000)
"""


def lines(error: str) -> list[str]:
    """Lines without their speeds and times."""
    return [line.split(" [")[0] for line in error.splitlines()]


def test_lines_come_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with byte_progress("x", seconds_between_lines=0) as show:
        for done in (50_000_000, 60_000_000, 70_000_000, 80_000_000):
            show(done, 80_000_000)
    shown = capsys.readouterr().err
    assert "\r" not in shown
    assert lines(shown)[1:] == ["x:  75% 60.0M/80.0M", "x:  88% 70.0M/80.0M", "x: 100% 80.0M/80.0M"]


def test_a_loop_passes_its_items_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(progress(iter("abc"), description="x", total=3)) == ["a", "b", "c"]
    assert capsys.readouterr().err == ""  # it was done before ten seconds


def test_no_line_comes_before_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    with byte_progress("x", seconds_between_lines=1000) as show:
        for done in range(100):
            show(done, 1000)
    assert capsys.readouterr().err == ""


def test_a_download_that_starts_anew_has_no_negative_speed(capsys: pytest.CaptureFixture[str]) -> None:
    with byte_progress("x", seconds_between_lines=0) as show:
        for done in (50_000_000, 60_000_000, 0, 10_000_000):
            show(done, 80_000_000)
    shown = capsys.readouterr().err
    assert lines(shown)[1:] == ["x:  75% 60.0M/80.0M", "x:  12% 10.0M/80.0M"]
    assert "-" not in shown


@pytest.mark.parametrize(("plain", "expected"), [(None, "2.00M/4.00M"), ("1", "imgs_part_1.zip:  50% 2.00M/4.00M [")])
def test_a_terminal_shows_a_bar_unless_lines_are_asked_for(plain: str | None, expected: str, tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 120))
    environment = {key: value for key, value in os.environ.items() if key != "FOSSIL_PLAIN_PROGRESS"}
    environment |= {"TERM": "xterm"} | ({"FOSSIL_PLAIN_PROGRESS": plain} if plain else {})
    subprocess.run([sys.executable, "-c", CHILD], stderr=terminal, env=environment, cwd=tmp_path, check=True)
    os.close(terminal)
    shown = b""
    while expected.encode() not in shown:
        shown += os.read(controller, 4096)
    os.close(controller)
    assert "imgs_part_1.zip" in shown.decode()
