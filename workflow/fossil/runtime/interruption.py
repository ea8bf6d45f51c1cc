"""Signals by which a scheduler asks a training to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGTERM, signal.SIGUSR1)


class TrainingInterruptedError(RuntimeError):
    """A signal stopped a training, whose state is kept; the message says how far it is.

    Attributes
    ----------
    exit_status : int
        What a shell reports of a process that the signal ends: 143 for SIGTERM.
    """

    def __init__(self, message: str, *, received: signal.Signals) -> None:
        super().__init__(message)
        self.exit_status = 128 + received


@contextmanager
def noted_signals() -> Iterator[Callable[[], signal.Signals | None]]:
    """Record SIGTERM and SIGUSR1 instead of ending; yield a function that returns the first one.

    Outside the main thread, where Python lets no one handle signals, they do what they did.
    """
    received: list[signal.Signals] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    before = {number: signal.signal(number, lambda n, _: received.append(signal.Signals(n))) for number in _SIGNALS}
    try:
        yield lambda: received[0] if received else None
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
