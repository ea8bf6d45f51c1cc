"""Git, Snakemake and DVC, run in the root of the repository."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dvc.exceptions import DvcException
from dvc.repo import Repo
from dvc.scm import SCMError

from fossil.runtime.drivers import other_runs
from fossil.runtime.logs import logger
from fossil.runtime.slurm import QueueError, jobs_of
from fossil.versions.record import VersionError, first_ten

_FILES_OF_THEIR_OWN = {"reflink", "copy"}


def git(*arguments: str) -> str:
    """Run Git and return what it prints.

    Raises
    ------
    VersionError
        With Git's own words, if it fails.
    """
    return _run(["git", *arguments])


def snakemake(*arguments: str, configuration: Path) -> str:
    """Run Snakemake on this study with a version's configuration and return what it prints.

    Raises
    ------
    VersionError
        With Snakemake's own words, if it fails.
    """
    command = [sys.executable, "-m", "snakemake", "--executor", "local", "--cores", "1", *arguments]
    return _run([*command, "--configfile", str(configuration)])


@contextmanager
def open_dvc() -> Iterator[Repo]:
    """Open DVC's repository in this folder; its errors become VersionErrors.

    Raises
    ------
    VersionError
        If DVC fails, if this is not the root of a repository, or if DVC would make results links into its cache. Such
        links are read-only, and an edit would reach through them.
    """
    try:
        with Repo() as repo:
            if Path(repo.root_dir).resolve() != Path.cwd().resolve():
                raise VersionError(f"{Path.cwd()} is not the root of its repository, {repo.root_dir}: run there")
            kinds = repo.config["cache"].get("type") or []
            if not _FILES_OF_THEIR_OWN.issuperset(kinds):
                raise VersionError(
                    f"DVC's cache.type is {','.join(kinds)}, expected reflink,copy: results must be files, "
                    "not links into the cache. Say dvc config --local cache.type reflink,copy; dvc checkout --relink"
                )
            yield repo
    except (DvcException, SCMError) as error:
        raise VersionError(f"DVC: {error}") from error


def require_no_other_run() -> None:
    """Check that no other run of Snakemake works in this folder and that none of its jobs is in Slurm's queue.

    Raises
    ------
    VersionError
        If one does or is.
    """
    if others := other_runs(Path.cwd()):
        raise VersionError(
            f"{others[0]}: another Snakemake runs here. Wait for it, or, after a crash, say snakemake --unlock and "
            "delete the file if it is still there"
        )
    if jobs := _queued_jobs():
        raise VersionError(
            f"jobs {first_ten(jobs)} of this folder are in Slurm's queue: wait for them, or say scancel, then try again"
        )


def _queued_jobs() -> list[str]:
    if shutil.which("squeue") is None:
        return []
    try:
        return jobs_of(Path.cwd())
    except QueueError as error:  # a machine with Slurm's commands that belongs to no cluster
        logger.info("%s", error)
        return []


def _run(command: list[str]) -> str:
    name = " ".join(part for part in command if part not in {sys.executable, "-m"})[:200]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    except FileNotFoundError:
        raise VersionError(f"{command[0]} is not installed") from None
    logger.info("%s: exit status %d\n%s%s", name, done.returncode, done.stdout, done.stderr)
    if done.returncode != 0:
        raise VersionError(f"{name} failed with exit status {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout
