"""Jobs in the queue of Slurm that were submitted from a folder.

Snakemake that was killed leaves its jobs behind. They would go on and write the same files as those that the next run
submits.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from fossil.runtime.drivers import other_runs

_SECONDS_BETWEEN_LOOKS = 0.5
# The executor names its jobs by a UUID, after a prefix of the user's if there is one.
_NAME = re.compile(r"(?:.+_)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class QueueError(RuntimeError):
    """Slurm does not answer, or a job does not end."""


def cancel_jobs_of_killed_runs(folder: Path, *, say: Callable[[str], object]) -> None:
    """Cancel jobs of earlier runs in a folder, unless another run is at work in it.

    Parameters
    ----------
    folder : Path
        Where Snakemake runs.
    say : callable
        Is told what is cancelled or left, in one line; of no jobs nothing is said.

    Raises
    ------
    QueueError
        If Slurm does not answer, or a job does not end.
    """
    if not (others := other_runs(folder)):
        cancel_jobs_of(folder, say=say)
    elif left := jobs_of(folder):
        say(
            "Other jobs of this folder are in the queue and stay there, as another run may be waiting for them "
            f"({others[0]}): {' '.join(left)}"
        )


def cancel_jobs_of(folder: Path, *, say: Callable[[str], object], seconds: float = 120) -> list[str]:
    """Cancel this user's jobs that Snakemake submitted from a folder, and wait until they have ended.

    Parameters
    ----------
    folder : Path
        Where Snakemake ran.
    say : callable
        Is told what is cancelled, in one line; of no jobs nothing is said.
    seconds : float
        How long to wait: a training keeps its state first.

    Returns
    -------
    list of str
        Their numbers.

    Raises
    ------
    QueueError
        If Slurm does not answer, or a job is still there after that time.
    """
    jobs = jobs_of(folder)
    if not jobs:
        return []
    say(f"Cancelling {len(jobs)} jobs that an earlier run left in the queue: {' '.join(jobs)}")
    # Of a job that has ended meanwhile it fails; whether all have is seen below.
    subprocess.run(["scancel", *jobs], capture_output=True, check=False)  # noqa: S603, S607
    end = time.monotonic() + seconds
    # Another run may start meanwhile, and submit other jobs.
    while left := sorted({*jobs} & {*jobs_of(folder)}):
        if time.monotonic() > end:
            raise QueueError(
                f"after {seconds:.0f} s these jobs of an earlier run in {folder} are still in the queue: "
                f"{' '.join(left)}; wait until squeue shows them no more, then run Snakemake again"
            )
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    return jobs


def jobs_of(folder: Path) -> list[str]:
    """Return the numbers of this user's jobs in the queue that Snakemake submitted from a folder."""
    lines = _call("squeue", "--me", "--noheader", "--format", "%A|%j|%Z").splitlines()
    rows = [line.split("|", maxsplit=2) for line in lines]
    return sorted({job for job, name, place in rows if _NAME.fullmatch(name) and _is_same(Path(place), folder)})


def _is_same(one: Path, other: Path) -> bool:
    """Return whether two paths are the same folder, which may have a name that this machine does not know."""
    try:
        return one.samefile(other)
    except OSError:
        return one == other


def _call(*command: str) -> str:
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (only Slurm's own commands)
    if result.returncode != 0:
        raise QueueError(f"{command[0]} failed: {result.stderr.strip()}")
    return result.stdout
