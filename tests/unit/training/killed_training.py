"""Run ``train_fold`` again and again, killed or stopped at another moment each time, and once more to its end.

python -m tests.unit.training.killed_training STUDY OUTPUT

Each run is a process of its own, forked from this one, which has imported what takes seconds. It writes below OUTPUT,
in a folder named after its moment; ``undisturbed`` is not killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fossil import __main__ as command_line
from fossil.commands import train_fold
from fossil.runtime.files import write_json
from fossil.training import checkpoint, epoch, images
from tests.unit.training.fold_study import Study, quick

EPOCHS = 2  # of two batches each


def kill() -> None:
    """End this process as the system would, without a word."""
    os.kill(os.getpid(), signal.SIGKILL)


def at_call(number: int, module: Any, name: str, act: Callable[..., Any] | None = None) -> Callable[[], None]:
    """Make what kills at a call of a function, counted from 0; ``act`` is done first, in place of the function."""

    def patch() -> None:
        really, calls = getattr(module, name), iter(range(10_000))

        def call(*arguments: Any, **options: Any) -> Any:
            if next(calls) != number:
                return really(*arguments, **options)
            if act is not None:
                act(really, *arguments)
            return kill()

        setattr(module, name, call)

    return patch


def ask_to_stop() -> None:
    """Send this process SIGTERM in a step of the second epoch."""
    really, calls = epoch.augment_places, iter(range(10_000))

    def augment_and_signal(*arguments: Any) -> Any:
        if next(calls) == 2:
            signal.raise_signal(signal.SIGTERM)
        return really(*arguments)

    epoch.augment_places = augment_and_signal


def write(write: Callable[..., None], *arguments: Any) -> None:
    """Take the place of a writer, and do what it does."""
    write(*arguments)


def write_half(write: Callable[..., None], content: Any, path: Path) -> None:
    """Take the place of what writes a file."""
    write(content, path)
    os.truncate(path, path.stat().st_size // 2)


MOMENTS: dict[str, Callable[[], None]] = {
    "before the first checkpoint": at_call(0, images, "write_checkpoint"),
    "between epochs": at_call(0, images, "write_checkpoint", write),
    "while the first checkpoint is written": at_call(0, checkpoint.torch, "save", write_half),
    "while the second checkpoint is written": at_call(1, checkpoint.torch, "save", write_half),
    "stopped": ask_to_stop,
    "inside an epoch": at_call(3, epoch, "augment_places"),
    "after training": at_call(0, train_fold, "write_parquet"),
}
"""What makes a process kill itself, or ask itself to stop, by the moment."""


def arguments(study: Study, folder: Path, log: str) -> list[str]:
    """Command line of a run."""
    settings = {
        "method": {"target": "fossil.methods.fossil:Fossil", "options": {}},
        "method_name": "fossil",
        "fold": 0,
        "seed": 7,
        "training": quick(epochs=EPOCHS).model_dump(mode="json"),
        "online": "softmax",
    }
    paths = {f"--{name}": path for name, path in study.paths.items()} | {
        "--predictions": folder / "predictions.parquet",
        "--history": folder / "history.parquet",
        "--model": folder / "model.safetensors",
        "--checkpoint": folder / "checkpoint.pt",
        "--record": folder / "run.json",
        "--log": folder / log,
    }
    return [
        "train_fold",
        "--settings",
        json.dumps(settings),
        *(str(part) for pair in paths.items() for part in pair),
    ]


def run(command: list[str], patch: Callable[[], None] | None = None) -> int:
    """Run in a process of its own; returns its exit status, negative for a signal."""
    child = os.fork()
    if not child:
        if patch is not None:
            images._SECONDS_BETWEEN_CHECKPOINTS = 0.0
            patch()
        os._exit(command_line.main(command))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    """Run everything, and write the exit statuses to statuses.json."""
    study, output = Study(Path(sys.argv[1])), Path(sys.argv[2])
    statuses = {"undisturbed": [run(arguments(study, output / "undisturbed", "log"))]}
    for moment, patch in MOMENTS.items():
        killed = run(arguments(study, output / moment, "killed.log"), patch)
        statuses[moment] = [killed, run(arguments(study, output / moment, "log"))]
    write_json(output / "statuses.json", statuses)


if __name__ == "__main__":
    main()
