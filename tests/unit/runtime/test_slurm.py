"""What is cancelled in Slurm's queue, by commands that stand for Slurm's."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from fossil.runtime.failures import RUN
from fossil.runtime.slurm import QueueError, cancel_jobs_of, cancel_jobs_of_killed_runs, jobs_of

NAME = "0e6ee5ef-3dc0-4a0e-a5e5-95d2b2a1d2c6"
LOCK = "results/logs/running/another.lock"


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Put jobs of a folder into a queue, a file; scancel empties it and ends with a status."""
    lines, commands = tmp_path / "queue.txt", tmp_path / "commands"
    commands.mkdir()
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv(RUN, "mine")

    def fill(*jobs: str, scancel: str = f": >{lines}", squeue: str = f"cat {lines}") -> Path:
        lines.write_text("".join(f"{job}|{NAME}|{tmp_path}\n" for job in jobs))
        for name, script in {"squeue": squeue, "scancel": f"echo $@ >>{tmp_path}/cancelled.txt; {scancel}"}.items():
            (commands / name).write_text(f"#!/bin/sh\n{script}\n")
            (commands / name).chmod(0o755)
        return tmp_path

    return fill


def test_jobs_that_a_killed_run_left_are_cancelled(queue: Callable[..., Path]) -> None:
    folder, said = queue("7", "8"), []
    cancel_jobs_of_killed_runs(folder, say=said.append)
    assert said == ["Cancelling 2 jobs that an earlier run left in the queue: 7 8"]
    assert (folder / "cancelled.txt").read_text() == "7 8\n"
    cancel_jobs_of_killed_runs(folder, say=said.append)
    assert len(said) == 1


def test_no_job_is_cancelled_while_another_run_is_at_work(queue: Callable[..., Path]) -> None:
    folder, said = queue("7"), []
    (folder / LOCK).parent.mkdir(parents=True)
    with FileLock(folder / LOCK):
        cancel_jobs_of_killed_runs(folder, say=said.append)
    (line,) = said
    assert line.endswith(f"({folder / LOCK}): 7")
    assert not (folder / "cancelled.txt").exists()
    assert jobs_of(folder) == ["7"]


def test_a_job_that_ends_by_itself_before_it_is_cancelled_is_no_error(queue: Callable[..., Path]) -> None:
    folder = queue("7")
    queue("7", scancel=f": >{folder}/queue.txt; echo Invalid job id specified >&2; exit 1")
    assert cancel_jobs_of(folder, say=print) == ["7"]


def test_a_job_that_stays_is_an_error_that_names_it(queue: Callable[..., Path]) -> None:
    with pytest.raises(QueueError, match=r"after 0 s these jobs of an earlier run in .* are still in the queue: 7;"):
        cancel_jobs_of(queue("7", scancel=""), say=print, seconds=0)


def test_a_queue_that_does_not_answer_is_an_error_in_slurms_words(queue: Callable[..., Path]) -> None:
    with pytest.raises(QueueError, match="squeue failed: no controller"):
        jobs_of(queue(squeue="echo no controller >&2; exit 1"))
