"""A study whose jobs go to Slurm by the workflow's profile, and Snakemake that drives it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.one_node import queue, wait_until
from tests.workflow.study import TINY, Study

PROFILE = "workflow/profiles/slurm"
# How long a Snakemake may take to its end, on a slow machine that other tests keep busy.
SECONDS = 1500
# The waits of the profile are those of a large cluster.
SOON = ("--slurm-init-seconds-before-status-checks", "5", "--latency-wait", "10")
# No option changes that Snakemake waits ten seconds longer before each further look at its jobs.
OFTEN = """
import sys
from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

RemoteExecutor.next_seconds_between_status_checks = property(lambda self: 2, lambda self, seconds: None)
main(sys.argv[1:])
"""
RUNS = [f"results/phantom/runs/{method}-baseline/fold{fold}-seed1" for method in ("erm", "fossil") for fold in (0, 1)]
RUN = RUNS[0]
# Those that wait for no other.
READY = [*RUNS[:2], *(name.replace("/erm-", "/focal-") for name in RUNS[:2])]


def config(**training: Any) -> dict[str, Any]:
    """Give the tiny study, of whose three methods on images one waits for the scores of another."""
    return {**TINY, "images": {**TINY["images"], "training": {**TINY["images"]["training"], **training}}}


def command(study: Study, *arguments: str, profile: str = PROFILE) -> list[str]:
    """Snakemake as a user calls it, with the study's configuration, but that it looks after its jobs often."""
    (study.root / "tiny.yaml").write_text(yaml.safe_dump(study.config))
    return [sys.executable, "-c", OFTEN, *arguments, "--workflow-profile", profile, *SOON, "--configfile", "tiny.yaml"]


@contextmanager
def driven(study: Study, *arguments: str, profile: str = PROFILE) -> Iterator[subprocess.Popen[str]]:
    """Start Snakemake, and see it end."""
    log = (study.root / "driver.log").open("w+")
    process = subprocess.Popen(
        command(study, *arguments, profile=profile),
        cwd=study.root,
        stdout=log,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(300)
        log.close()


def submit(study: Study, *arguments: str, profile: str = PROFILE) -> str:
    """Run Snakemake to its end and expect it to succeed; gives what it printed."""
    with driven(study, *arguments, profile=profile) as process:
        return finish(study, process)


def finish(study: Study, process: subprocess.Popen[str], *, status: int = 0) -> str:
    """Wait for a Snakemake that shall succeed, or end with another status; gives what it printed."""
    ended = process.wait(SECONDS)
    said = said_by(study)
    assert ended == status, said
    return said


def said_by(study: Study) -> str:
    """What the last Snakemake printed."""
    return (study.root / "driver.log").read_text()


def hold_training(study: Study) -> str:
    """Stop the training after its first epoch, so that it does not end meanwhile; gives the number of its job.

    Slurm wakes it before it ends it.
    """
    wait_until(lambda: trainings(study), what="the training has begun")
    process = trainings(study)[0]
    checkpoint = study.root / RUN / "checkpoint.pt"
    wait_until(checkpoint.exists, pause=0.01, what=f"{checkpoint} is there")
    os.kill(process, signal.SIGSTOP)
    (job,) = queue("RUNNING", study.root)
    return job


def trainings(study: Study) -> list[int]:
    """Processes that train in the study's folder, oldest first: what a process starts looks the same for a moment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        # A process may end meanwhile.
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().decode().split("\0")
            if words[:4] == ["python", "-m", "fossil", "train_fold"] and (folder / "cwd").readlink() == study.root:
                found.append(int(folder.name))
    return sorted(found)


def without_run(study: Study) -> Study:
    """Take the run and what was noted of it away."""
    shutil.rmtree(study.root / RUN, ignore_errors=True)
    shutil.rmtree(study.root / "results/logs/train_fold", ignore_errors=True)
    return study


def switched(study: Study, name: str, *entries: str) -> str:
    """A profile with some of the entries that the workflow's has in comments; gives its folder."""
    text = (study.root / PROFILE / "config.yaml").read_text()
    for entry in entries:
        block = re.search(rf"(?m)^# {entry}:.*\n(?:#   +\S.*\n)*", text)
        assert block is not None, entry
        text = text.replace(block.group(), re.sub(r"(?m)^# ", "", block.group()))
    folder = study.root / "workflow/profiles" / name
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(text)
    return str(folder.relative_to(study.root))
