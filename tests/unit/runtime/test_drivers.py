"""Who runs jobs in a folder is known while they live, whatever becomes of Snakemake's own locks."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir
from errno import ENOLCK
from pathlib import Path

import pytest
from filelock import FileLock

from fossil.runtime.drivers import hold_lock, other_runs
from fossil.runtime.failures import RUN

DRIVER = """
import os, sys
from pathlib import Path
from fossil.runtime.drivers import hold_lock
os.environ["FOSSIL_RUN"] = sys.argv[1]
hold_lock(Path.cwd())
print("held", flush=True)
sys.stdin.read()
"""
Start = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that this process runs nothing in."""
    monkeypatch.delenv(RUN, raising=False)
    with chdir(tmp_path):
        yield tmp_path


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Start a run in a process of its own, which ends when its input does."""
    processes: list[subprocess.Popen[str]] = []

    def start_one(run: str) -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        processes.append(subprocess.Popen([sys.executable, "-c", DRIVER, run], cwd=folder, **pipes))
        assert processes[-1].stdout.readline() == "held\n"
        return processes[-1]

    yield start_one
    for process in processes:
        process.communicate()


def names(locks: list[Path]) -> list[str]:
    return [lock.name for lock in locks]


def test_a_run_is_known_until_it_ends_and_to_its_own_jobs_it_is_no_other(
    folder: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert other_runs(folder) == []
    first, second = start("a"), start("b")
    assert names(other_runs(folder)) == ["a.lock", "b.lock"]
    monkeypatch.setenv(RUN, "a")
    assert names(other_runs(folder)) == ["b.lock"]
    second.communicate()
    assert other_runs(folder) == []
    first.communicate()
    assert list((folder / "results/logs/running").iterdir()) == []


def test_a_run_that_was_killed_is_at_work_no_more(folder: Path, start: Start) -> None:
    killed = start("a")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert (folder / "results/logs/running/a.lock").exists()
    assert other_runs(folder) == []


def test_where_there_are_no_locks_a_run_is_known_by_its_file_and_told_of_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(ENOLCK, os.strerror(ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    monkeypatch.setenv(RUN, "a")
    hold_lock(folder)
    assert "a.lock cannot be locked ([Errno 37] No locks available" in capsys.readouterr().err
    monkeypatch.setenv(RUN, "b")
    assert names(other_runs(folder)) == ["a.lock"]


def test_to_ask_for_a_run_takes_no_lock_away(folder: Path, start: Start) -> None:
    running = start("a")
    for _ in range(3):
        assert names(other_runs(folder)) == ["a.lock"]
    running.communicate()
    with FileLock(folder / "results/logs/running/a.lock").acquire(timeout=0):
        assert names(other_runs(folder)) == ["a.lock"]
    assert other_runs(folder) == []
