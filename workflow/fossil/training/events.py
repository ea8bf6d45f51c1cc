"""Event files of TensorBoard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fossil.training.images import EpochWatcher


class EventsError(RuntimeError):
    """Event files cannot be written; the message says what to install."""


@contextmanager
def event_watcher(folder: Path | None) -> Iterator[EpochWatcher | None]:
    """Yield a watcher that writes each number of an epoch to an event file in a folder; None for no folder.

    Raises
    ------
    EventsError
        If the Python package tensorboard is not installed.
    """
    if folder is None:
        yield None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise EventsError(
            f"images.tensorboard is true, but the Python package tensorboard cannot be imported ({error}); "
            "install it (pip install tensorboard), or set images.tensorboard: false"
        ) from error
    with SummaryWriter(str(folder)) as writer:

        def watch(epoch: int, numbers: Mapping[str, float]) -> None:
            for name, value in numbers.items():
                writer.add_scalar(name, value, epoch)
            writer.flush()

        yield watch
