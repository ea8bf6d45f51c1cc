"""Failures of a job, in a file next to its log that no try empties: one line of JSON each, the newest last.

Snakemake empties a job's log before each try, and with ``retries`` it tries again whatever happened. A job that was
killed, or that met a fault of a machine, may succeed then. One that raised an error would only do so again,
perhaps after hours of training: in the same run of Snakemake it ends at once.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path

RUN = "FOSSIL_RUN"
"""Variable of the environment that names the run of Snakemake that a job belongs to."""

_OF_THE_MACHINE = {
    *(errno.EIO, errno.ESTALE, errno.ENOLCK, errno.EREMOTEIO, errno.ETIMEDOUT, errno.ENOMEM, errno.EAGAIN),
    *(errno.ECONNREFUSED, errno.ECONNRESET, errno.EHOSTUNREACH, errno.ENETUNREACH),
}
# Errors for a GPU that fails or is gone are known by their names, so that a command without torch need not import it.
_DEVICE_ERRORS = {"AcceleratorError", "DeviceError"}
# Where a kernel looks past the end of a tensor, it will again, on whatever GPU; nor does another try change how much
# memory it needs, or for which GPUs torch was built.
_OF_THE_CODE = re.compile(r"device-side assert|out of memory|no kernel image")
# Some faults are plain errors at run time that only their words tell: no memory or threads left, a GPU that fails.
_WORDS = re.compile(
    r"DefaultCPUAllocator: (can't allocate|not enough) memory|can't start new thread"
    r"|unspecified launch failure|CU(DNN|BLAS)_STATUS_EXECUTION_FAILED"
)


def is_mended_by_another_try(error: BaseException) -> bool:
    """Return whether an error is a fault of machine, memory or network, and not one that would recur.

    Too little memory of a GPU is none of them: a job that is tried again asks for more of the machine's alone.
    """
    if isinstance(error, OSError):
        return error.errno in _OF_THE_MACHINE or isinstance(error, (ConnectionError, TimeoutError))
    if type(error).__name__ in _DEVICE_ERRORS:
        return _OF_THE_CODE.search(str(error)) is None
    if isinstance(error, RuntimeError):
        return _WORDS.search(str(error)) is not None
    return isinstance(error, MemoryError)


def note_failure(log: Path, message: str, *, final: bool) -> None:
    """Append a line about a failure next to a log.

    Parameters
    ----------
    log : Path
        Of the job.
    message : str
        What failed.
    final : bool
        Whether another try would fail as well.
    """
    failure = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": platform.node(),
        "slurm_job": os.environ.get("SLURM_JOB_ID"),
        "run": os.environ.get(RUN),
        "message": message,
        "final": final,
    }
    with failures_of(log).open("a", encoding="utf-8") as file:
        file.write(json.dumps(failure) + "\n")


def final_failure(log: Path) -> str | None:
    """Return the earlier failure of this job in the same run of Snakemake, if another try would fail as well."""
    path, run = failures_of(log), os.environ.get(RUN)
    if run is None or not path.exists():
        return None
    try:
        last = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    except (IndexError, ValueError):  # cut off by a full disk or a crash
        return None
    return last["message"] if last["final"] and last["run"] == run else None


def failures_of(log: Path) -> Path:
    """Return the file of failures of the job that a log belongs to."""
    return log.with_suffix(".failures.jsonl")
