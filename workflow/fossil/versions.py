"""Versions of the results: DVC stores the files; Git keeps pointers to them, the main numbers and a record."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dvc.exceptions import DvcException
from dvc.repo import Repo
from dvc.scm import SCMError

from fossil.runtime.drivers import other_runs
from fossil.runtime.logs import logger

TRACKED = (Path("data/raw/weights"), Path("data/raw"), Path("data/processed"), Path("results"))
"""Folders whose files and folders DVC tracks one by one, an inner folder before its outer one."""

IN_GIT = Path("results/version")
"""Folder of what Git itself keeps of a version."""

VERSION = IN_GIT / "version.json"
CONFIGURATION = IN_GIT / "configuration.json"

_NAMED = 10


class VersionError(RuntimeError):
    """A version cannot be published or restored; the message names the files and what to do."""


def first_ten(names: Iterable[object]) -> str:
    """Join the first ten of some names, each once, and count the others."""
    unique = [str(name) for name in dict.fromkeys(names)]
    return ", ".join(unique[:_NAMED]) + (f" and {len(unique) - _NAMED} more" if len(unique) > _NAMED else "")


@contextmanager
def open_dvc() -> Iterator[Repo]:
    """Open DVC's repository while no other run works here; errors of DVC become VersionErrors.

    Raises
    ------
    VersionError
        If DVC fails, or if another run works in this folder.
    """
    require_no_other_run()
    try:
        with Repo() as repo:
            yield repo
    except (DvcException, SCMError) as error:
        raise VersionError(f"DVC: {error}") from error


def require_no_other_run() -> None:
    """Check that no other run of Snakemake works in this folder.

    Raises
    ------
    VersionError
        If one does.
    """
    if others := other_runs(Path.cwd()):
        raise VersionError(f"{others[0]}: another Snakemake runs here. Wait for it, or delete this file after a crash")


def git(*arguments: str) -> str:
    """Run Git and return what it prints."""
    return _run("git", *arguments)


def snakemake(*arguments: str, configuration: Path) -> str:
    """Run Snakemake on what publish rests on, with a configuration, and return what it prints."""
    command = [sys.executable, "-m", "snakemake", "publish", "--executor", "local", "--cores", "1"]
    return _run(*command, *arguments, "--configfile", str(configuration))


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    logger.info("%s: exit status %d\n%s%s", command, done.returncode, done.stdout, done.stderr)
    if done.returncode != 0:
        raise VersionError(f"{' '.join(command)[:200]} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout
