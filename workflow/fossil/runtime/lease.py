"""Leases of GPUs: each concurrent job of a user on a machine gets a different device.

A lease is a lock on a file, which the system takes back when the process ends, however it ends. It binds only processes
that ask for leases, in one folder.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from filelock import FileLock, Timeout

from fossil.runtime.logs import logger


@dataclass(frozen=True)
class Lease:
    """A device that only this process uses while the lease lasts.

    Attributes
    ----------
    place : int
        Of the device in the list of keys.
    """

    place: int
    lock: FileLock

    def release(self) -> None:
        """Release the device."""
        self.lock.release()


def lease_device(keys: Sequence[str], folder: Path, *, seconds_between_tries: float = 1.0) -> Lease:
    """Lease the first free device; wait for one, with a line in the log, where none is free.

    Parameters
    ----------
    keys : sequence of str
        Names of the devices that are the same in all processes, such as their UUIDs.
    folder : Path
        Of the lock files; must be on this machine.

    Raises
    ------
    ValueError
        If there are no keys.
    """
    if not keys:
        raise ValueError("keys: no device to choose from")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    locks = [FileLock(folder / f"{re.sub(r'[^A-Za-z0-9-]', '_', key)}.lock", thread_local=False) for key in keys]
    waiting = False
    while True:
        for place, lock in enumerate(locks):
            try:
                lock.acquire(timeout=0)
            except Timeout:
                continue
            return Lease(place, lock)
        if not waiting:
            waiting = True
            logger.info("waiting for a GPU: all %d are leased by other jobs (%s)", len(keys), folder)
        time.sleep(seconds_between_tries)


def lease_folder() -> Path:
    """Return the folder of this user's leases on this machine."""
    return Path(tempfile.gettempdir()) / f"fossil-leases-{os.getuid()}"


@cache
def own_cuda_device() -> Lease:
    """Lease a CUDA device until this process ends; later calls return the same."""
    import torch

    keys = [str(torch.cuda.get_device_properties(place).uuid) for place in range(torch.cuda.device_count())]
    return lease_device(keys, lease_folder())
