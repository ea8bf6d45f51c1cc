"""One logger and one progress display for every command."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TextIO, TypeVar

Item = TypeVar("Item")
ShowBytes = Callable[[int, int | None], None]

logger = logging.getLogger("fossil")

_terminal: ContextVar[TextIO | None] = ContextVar("terminal", default=None)
_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def logging_to(path: Path | None) -> Iterator[None]:
    """Redirect both output streams of this process and of its children to a log file.

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
    """Yield the items of a loop, and show how many are done, how fast it goes and how long it will take.

    On a terminal this is a live bar. Under Snakemake, where several jobs share the terminal, it is a line every ten
    seconds; so it is in a file.
    """
    with _bar(description, total=total, unit="it") as bar:
        for item in items:
            yield item
            bar.update()


@contextmanager
def byte_progress(description: str, *, seconds_between_lines: float = _SECONDS_BETWEEN_LINES) -> Iterator[ShowBytes]:
    """Show how many bytes of a download are here, how fast it goes and how long it will take.

    Yields
    ------
    callable
        Takes the bytes that are here and the bytes of the whole file, None where that is unknown. Bytes of the first
        call, such as those of an earlier try, do not count for the speed.
    """
    with _bar(description, total=None, unit="B", seconds_between_lines=seconds_between_lines) as bar:
        started = False

        def show(done: int, total: int | None) -> None:
            nonlocal started
            bar.total = total
            if not started or done < bar.n:
                bar.initial = bar.n = bar.last_print_n = done
                started = True
            bar.update(done - bar.n)

        yield show


def _bar(
    description: str, *, total: int | None, unit: str, seconds_between_lines: float = _SECONDS_BETWEEN_LINES
) -> Any:
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # no extra thread
    terminal = _terminal.get() or sys.stderr
    live = terminal.isatty() and "FOSSIL_PLAIN_PROGRESS" not in os.environ
    seconds = 0.1 if live else seconds_between_lines
    return tqdm(
        desc=description,
        total=total,
        unit=unit,
        unit_scale=unit == "B",
        file=terminal if live else _Lines(),
        ncols=None if live else 0,  # without a bar
        mininterval=seconds,
        miniters=1,
        delay=0 if live else seconds,
        leave=False,
    )


class _Lines:
    """A file whose every text is a line on the terminal."""

    def write(self, text: str) -> None:
        if line := text.strip():
            say(line)

    def flush(self) -> None:
        """Do nothing: each line is flushed at once."""
