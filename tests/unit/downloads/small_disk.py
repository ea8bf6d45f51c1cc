"""A disk of one MiB, for tests of what happens when it is full."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.requirements import do_without


@contextmanager
def mounted(folder: Path) -> Iterator[Path]:
    """Mount it; where that is not permitted the test is skipped, or fails where all must run."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)]
    try:
        subprocess.run(command, capture_output=True, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        do_without(f"a small disk cannot be mounted: {getattr(error, 'stderr', '') or error}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def enlarge(folder: Path) -> None:
    """Make it eight MiB."""
    subprocess.run(["mount", "-o", "remount,size=8m", str(folder)], check=True)
