"""Room on the disk: asked for before a large file is written, and explained where it ran out all the same."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class DiskFullError(OSError):
    """The disk has no room; the message names the folder, the bytes needed and what to do."""


def require_space(folder: Path, needed: int, *, purpose: str) -> None:
    """Raise DiskFullError unless a folder's disk has so many bytes free.

    Parameters
    ----------
    folder : Path
        Where the bytes go. It, or one above it, must be there.
    needed : int
        Bytes.
    purpose : str
        What they are for, as the message begins.
    """
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < needed:
        raise DiskFullError(
            f"{purpose} needs {needed} bytes in {folder}, whose disk has {free} bytes free; make room, then run again"
        )


@contextmanager
def full_disk_explained(advice: Callable[[], str]) -> Iterator[None]:
    """Turn the system's word that a disk or a quota is full into a DiskFullError that ends with advice."""
    try:
        yield
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise DiskFullError(f"{error.strerror}: {advice()}") from error
