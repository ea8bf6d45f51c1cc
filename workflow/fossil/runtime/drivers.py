"""Snakemake processes that run jobs in a folder.

Snakemake's own locks do not tell how many there are: whichever ends first removes the folder that the locks of
all are in. So each process holds a separate lock, which the system releases when the process ends, however it ends.
"""

from __future__ import annotations

import atexit
import os
import uuid
from pathlib import Path

from filelock import FileLock

from fossil.runtime.failures import RUN
from fossil.runtime.logs import say

_LOCKS = Path("results/logs/running")


def name_run() -> None:
    """Set a unique name of this run in the environment, where its jobs read it."""
    os.environ[RUN] = uuid.uuid4().hex


def hold_lock(folder: Path) -> FileLock:
    """Lock a folder for the run that the environment names, until this process ends.

    Where the file system knows no locks, the file alone tells it, and stays where this process is killed.
    """
    place = _lock_file(folder, os.environ[RUN])
    place.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(place, thread_local=False)
    try:
        lock.acquire()
    except OSError as error:
        say(f"{place} cannot be locked ({error}). Should Snakemake be killed, delete it.")
    atexit.register(_end, lock)
    return lock


def other_runs(folder: Path) -> list[Path]:
    """Return the locks of other runs in a folder, as far as this machine can tell that they are alive.

    Of a run's job, which the environment names as well, the run itself is no other.
    """
    this_run = _lock_file(folder, os.environ[RUN]) if RUN in os.environ else None
    return [place for place in sorted((folder / _LOCKS).glob("*.lock")) if place != this_run and not _is_free(place)]


def _lock_file(folder: Path, run: str) -> Path:
    return folder / _LOCKS / f"{run}.lock"


def _is_free(place: Path) -> bool:
    lock = FileLock(place)
    try:
        lock.acquire(timeout=0)
    except OSError:  # held, or not for this user to ask
        return False
    lock.release()
    return True


def _end(lock: FileLock) -> None:
    Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()
