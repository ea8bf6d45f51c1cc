"""Git and DVC, run as commands in the root of the repository."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from fossil.runtime.logs import logger, say

_CONFIG = Path(".dvc/config")
_LOCK = Path(".dvc/tmp/fossil.lock")
_COPYING = frozenset({"reflink", "copy"})
_SHOWN = 10


class VersionError(RuntimeError):
    """A version cannot be published or restored; the message names the file or the setting and says what to do."""


def git(*arguments: str) -> str:
    """Run Git and give what it prints.

    Raises
    ------
    VersionError
        With Git's own words, if it fails.
    """
    return _run(["git", *arguments])


def dvc(*arguments: str) -> str:
    """Run DVC and give what it prints.

    Raises
    ------
    VersionError
        With DVC's own words, if it fails.
    """
    return _run([sys.executable, "-m", "dvc", *arguments])


@contextmanager
def working_alone() -> Iterator[None]:
    """Wait until no other job of this copy publishes or restores, and keep others waiting.

    Raises
    ------
    VersionError
        If this folder is not the root of a Git repository with DVC's configuration in it.
    """
    _require_root()
    lock = FileLock(_LOCK)
    _LOCK.parent.mkdir(parents=True, exist_ok=True)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say("another job publishes or restores here; waiting for it")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def cache_folder() -> Path:
    """Folder of DVC's cache.

    Raises
    ------
    VersionError
        If DVC would make results links into it, which are read-only, and which an edit would reach through.
    """
    options = dict(line.split("=", 1) for line in dvc("config", "--list").splitlines() if "=" in line)
    kinds = {kind.strip() for kind in options.get("cache.type", "").split(",")}
    if not kinds <= _COPYING:
        raise VersionError(
            f"DVC's cache.type is {options.get('cache.type', 'not set')!r}, expected reflink,copy: results must be "
            "files of their own, not links into the cache. Say dvc config --local cache.type reflink,copy, "
            "then snakemake --cores 1 restore"
        )
    return Path(dvc("cache", "dir").strip()) if "cache.dir" in options else Path(".dvc/cache")


def shown(names: Iterable[object]) -> str:
    """Name the first ten of some files, each once, and say how many more there are."""
    named = [str(name) for name in dict.fromkeys(names)]
    return ", ".join(named[:_SHOWN]) + (f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else "")


def _require_root() -> None:
    try:
        root = Path(git("rev-parse", "--show-toplevel").strip())
    except VersionError as error:
        raise VersionError(f"{Path.cwd()} is in no Git repository, in which versions are kept: {error}") from None
    if root.resolve() != Path.cwd().resolve():
        raise VersionError(f"{Path.cwd()} is not the root of its Git repository, {root}: run the study there")
    if not _CONFIG.exists():
        raise VersionError(f"{_CONFIG} is not here: git checkout {_CONFIG}, or take it from this project's repository")


def _run(command: list[str]) -> str:
    name = " ".join(part for part in command if part not in {sys.executable, "-m"})[:200]
    try:
        done = subprocess.run(  # noqa: S603
            command, env={**os.environ, "DVC_NO_ANALYTICS": "1"}, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise VersionError(f"{command[0]} is not installed") from None
    logger.info("%s: exit status %d\n%s%s", name, done.returncode, done.stdout, done.stderr)
    if done.returncode != 0:
        raise VersionError(f"{name} failed with exit status {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout
