"""Training one image model, epoch by epoch, with a checkpoint to resume from."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from signal import Signals

from fossil.config.strict import Proxy
from fossil.methods.base import Progress
from fossil.runtime.interruption import TrainingInterruptedError, noted_signals
from fossil.runtime.logs import logger
from fossil.training.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from fossil.training.epoch import finish_epoch, start_epoch
from fossil.training.history import epoch_line, regret_so_far, speed, start_measuring
from fossil.training.image_run import ImageRun, ImageState, capture, restore

EpochWatcher = Callable[[int, Mapping[str, float]], None]

# Writing a large model takes a tenth of a short epoch on a GPU.
_SECONDS_BETWEEN_CHECKPOINTS = 30.0


@dataclass(frozen=True)
class ImageResult:
    """The epochs of a run, and why it stopped early, if it did.

    Attributes
    ----------
    history : list of dict
        What ``summarise_epoch`` keeps of each epoch, weight_q{05,50,95}_class{0,1}, validation_auc,
        validation_balanced_accuracy, and regret: f_t - min_{s <= t} f_s of the validation losses f.
    speed : list of dict
        ``SPEED_COLUMNS`` of each epoch, which differ between equal runs.
    failure : str or None
    """

    history: list[dict[str, float]]
    speed: list[dict[str, float]]
    failure: str | None


def train_model(
    run: ImageRun,
    *,
    online: Proxy | None = None,
    epochs: Callable[[range], Iterable[int]] = iter,
    checkpoint: Checkpoint | None = None,
    after_epoch: EpochWatcher | None = None,
) -> ImageResult:
    """Train the model of a run in place.

    Parameters
    ----------
    online : str or None
        Proxy by which the model scores difficulty at the start of each epoch; None for that of the rows.
    epochs : callable
        Wraps the range of epochs, to show progress.
    checkpoint : Checkpoint or None
        Where the state is kept after an epoch, at most every 30 seconds, and resumed from. SIGTERM and SIGUSR1 then
        also keep the state, after the present batch, and stop the training.
    after_epoch : callable or None
        Gets the number of each finished epoch and its history and speed.

    Raises
    ------
    TrainingInterruptedError
        If a signal stopped the training.
    BatchTooLargeError
        If a step does not fit the GPU's memory.
    CheckpointError
        If the state cannot be written.
    """
    state = _first_state(run, checkpoint)
    last_kept = -_SECONDS_BETWEEN_CHECKPOINTS
    # Without a checkpoint nothing would be gained by outliving a signal.
    with nullcontext(lambda: None) if checkpoint is None else noted_signals() as received:

        def stop_if_asked() -> None:
            if checkpoint is not None and (signal := received()) is not None:
                _keep_and_stop(run, state, checkpoint, signal)

        for epoch in epochs(range(run.training.epochs)):
            if epoch < len(state.history):
                continue
            try:
                _train_epoch(run, state, Progress(epoch, run.training.epochs), online, stop_if_asked)
            except FloatingPointError as error:
                return ImageResult(state.history, state.speed, str(error))
            if after_epoch is not None:
                after_epoch(epoch, state.history[-1] | state.speed[-1])
            if checkpoint is not None and time.monotonic() - last_kept >= _SECONDS_BETWEEN_CHECKPOINTS:
                write_checkpoint(checkpoint, capture(run, state))
                last_kept = time.monotonic()
            if epoch + 1 < run.training.epochs:
                stop_if_asked()
    return ImageResult(state.history, state.speed, None)


def _first_state(run: ImageRun, checkpoint: Checkpoint | None) -> ImageState:
    """Return the checkpoint's state, restored into the run, or else a fresh one."""
    captured = None if checkpoint is None else read_checkpoint(checkpoint, run.device)
    if captured is None:
        return ImageState()
    state = restore(run, captured)
    logger.info("training resumes after %s", state)
    return state


def _train_epoch(
    run: ImageRun, state: ImageState, progress: Progress, online: Proxy | None, after_batch: Callable[[], None]
) -> None:
    """Train the rest of the epoch, and add its summary to the state."""
    state.epoch_began = time.perf_counter()
    start_measuring(run.device)
    state.inside = start_epoch(run, progress, online) if state.inside is None else state.inside
    summary = finish_epoch(run, progress, state.inside, after_batch=after_batch)
    losses = [epoch["validation_loss"] for epoch in state.history]
    summary["regret"] = regret_so_far([*losses, summary["validation_loss"]])
    state.history.append(summary)
    state.speed.append(speed(len(run.rows.target), state.seconds, run.device))
    state.inside, state.seconds_before = None, 0.0
    logger.info("%s", epoch_line(progress.epoch, progress.epochs, summary, state.speed[-1]))


def _keep_and_stop(run: ImageRun, state: ImageState, checkpoint: Checkpoint, signal: Signals) -> None:
    write_checkpoint(checkpoint, capture(run, state))
    raise TrainingInterruptedError(
        f"stopped by {signal.name} after {state}; the same command resumes from there", received=signal
    )
