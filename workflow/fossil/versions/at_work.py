"""Whoever else makes files here: they are neither published nor overwritten meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from fossil.runtime.drivers import other_runs
from fossil.runtime.logs import logger
from fossil.runtime.slurm import QueueError, jobs_of
from fossil.versions.commands import VersionError, shown
from fossil.versions.job_records import incomplete_files, snakemakes_locks


def require_no_other_run() -> None:
    """Make sure that no other run of Snakemake is at work here, and that no job of this folder is in Slurm's queue.

    Raises
    ------
    VersionError
        If one is.
    """
    if others := other_runs(Path.cwd()):
        raise VersionError(_at_work(others[0]))
    if jobs := _jobs():
        raise VersionError(
            f"jobs {shown(jobs)} of this folder are in Slurm's queue: wait for them, or say scancel, then try again"
        )


def require_no_snakemake() -> None:
    """Make sure that no Snakemake makes files here: neither another run, nor one that was killed, nor this one.

    Raises
    ------
    VersionError
        If one does, or was killed as it did.
    """
    require_no_other_run()
    if locks := snakemakes_locks():
        raise VersionError(_at_work(locks[0]))


def require_made(units: Sequence[Path]) -> None:
    """Make sure that no job is making files that belong to results, as one of this run may that they do not rest on.

    Raises
    ------
    VersionError
        If one is, or was cut off as it did.
    """
    unfinished = sorted(path for path in incomplete_files() if any(Path(path).is_relative_to(unit) for unit in units))
    if unfinished:
        raise VersionError(
            f"a job is making, or was cut off as it made, {shown(unfinished)}: wait for it, make them again with "
            "--rerun-incomplete, or give them up: delete them and say snakemake --cleanup-metadata and their names"
        )


def _at_work(lock: Path) -> str:
    return (
        f"{lock}: another Snakemake is at work here; wait for it, or, after a crash, say snakemake --unlock and, where "
        "the file is still there then, delete it"
    )


def _jobs() -> list[str]:
    if shutil.which("squeue") is None:
        return []
    try:
        return jobs_of(Path.cwd())
    except QueueError as error:  # a machine with Slurm's commands that belongs to no cluster
        logger.info("%s", error)
        return []
