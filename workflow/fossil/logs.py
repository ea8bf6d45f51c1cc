"""One logger and one progress display for every stage."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterable, Iterator
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
    if terminal.isatty() and "FOSSIL_PLAIN_PROGRESS" not in os.environ:
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
