"""One logger and one progress display for every stage."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TextIO, TypeVar

Item = TypeVar("Item")

logger = logging.getLogger("fossil")

_terminal: ContextVar[TextIO | None] = ContextVar("terminal", default=None)
_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def logging_to(path: Path | None) -> Iterator[None]:
    """Send both output streams of this process, its children included, to a log file.

    Progress keeps going to the terminal. Without a path, the log itself goes to the terminal.
    """
    if path is None:
        logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s", force=True)
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    with path.open("a", encoding="utf-8") as file, os.fdopen(os.dup(saved[1]), "w") as terminal:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        token = _terminal.set(terminal)
        logging.basicConfig(stream=file, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", force=True)
        try:
            yield
        finally:
            logging.getLogger().handlers.clear()
            sys.stdout.flush()
            sys.stderr.flush()
            os.dup2(saved[0], 1)
            os.dup2(saved[1], 2)
            for descriptor in saved:
                os.close(descriptor)
            _terminal.reset(token)


def say(message: str) -> None:
    """Write one line to the terminal, past the log."""
    print(message, file=_terminal.get() or sys.stderr, flush=True)


def progress(items: Iterable[Item], *, description: str, total: int) -> Iterator[Item]:
    """Show how far a loop is, how fast it goes and how long it will take.

    On a terminal this is a live bar. Under Snakemake, where several jobs share the terminal, it is a line every ten
    seconds; so it is in a file.
    """
    terminal = _terminal.get() or sys.stderr
    if _is_live(terminal):
        from rich.console import Console
        from rich.progress import track

        yield from track(items, description, total=total, console=Console(file=terminal))
        return
    start = last = time.monotonic()
    for done, item in enumerate(items, start=1):
        yield item
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES and done < total:
            last = now
            left = (now - start) / done * (total - done)
            say(f"{description}: {done} of {total}, about {left:.0f} s left")


@contextmanager
def byte_progress(
    description: str, *, seconds_between_lines: float = _SECONDS_BETWEEN_LINES
) -> Iterator[Callable[[int, int | None], None]]:
    """Show how far a download is, how fast it goes and how long it will take.

    Parameters
    ----------
    description : str
        Name of the file.
    seconds_between_lines : float
        Where there is no live bar; see ``progress``.

    Yields
    ------
    callable
        Takes the bytes that are there and the bytes of the whole file, None where that is unknown. What is there at the
        first call, as after going on with an earlier download, does not count for the speed.
    """
    terminal = _terminal.get() or sys.stderr
    if not _is_live(terminal):
        yield _ByteLines(description, seconds_between_lines).show
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=terminal)) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _ByteLines:
    """A line now and then; the speed is that of the last seven lines."""

    def __init__(self, description: str, seconds_between_lines: float) -> None:
        self.description = description
        self.seconds = seconds_between_lines
        self.seen: deque[tuple[float, int]] = deque(maxlen=7)

    def show(self, done: int, total: int | None) -> None:
        now = time.monotonic()
        if self.seen and done < self.seen[-1][1]:
            self.seen.clear()
        if not self.seen:
            self.seen.append((now, done))
        elif now - self.seen[-1][0] >= self.seconds and done != total:
            start, before = self.seen[0]
            self.seen.append((now, done))
            say(byte_line(self.description, done=done, total=total, rate=(done - before) / (now - start)))


def byte_line(description: str, *, done: int, total: int | None, rate: float) -> str:
    """Say how far a download is, in bytes and bytes/s, and how long the rest takes; MB are 1,000,000 bytes."""
    from rich.filesize import decimal

    digits = 0 if max(done, total or 0) >= 10_000_000 else 1
    amount = f"{done / 1e6:.{digits}f}" + ("" if total is None else f" of {total / 1e6:.{digits}f}")
    left = "" if total is None or rate <= 0 else f", about {_duration((total - done) / rate)} left"
    return f"{description}: {amount} MB, {decimal(round(rate))}/s{left}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _is_live(terminal: TextIO) -> bool:
    return terminal.isatty() and "FOSSIL_PLAIN_PROGRESS" not in os.environ
