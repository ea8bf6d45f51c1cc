"""Training one image model: everything resident on the device, augmented there in batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from signal import Signals

import torch
from torch import Tensor, nn

from fossil.config import ImageTraining
from fossil.difficulty import Proxy
from fossil.methods.base import Method, Progress
from fossil.runtime.interruption import TrainingInterruptedError, noted_signals
from fossil.runtime.logs import logger
from fossil.training.backbone import InputConfig
from fossil.training.checkpoint import Checkpoint, CheckpointWriter, checkpoint_writer, read_checkpoint
from fossil.training.epoch import finish_epoch, start_epoch
from fossil.training.image_history import epoch_line, regret_so_far, speed, start_measuring
from fossil.training.image_rows import TrainingRows
from fossil.training.image_run import ImageRun, looks_ahead
from fossil.training.image_state import ImageState, capture, restore
from fossil.training.pixels import Normalisation, predict_logits
from fossil.training.randomness import method_generator

__all__ = ["EpochWatcher", "ImageResult", "predict_logits", "train_model"]

EpochWatcher = Callable[[int, Mapping[str, float]], None]


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
    model: nn.Module,
    inputs: InputConfig,
    images: Tensor,
    rows: TrainingRows,
    validation: tuple[Tensor, Tensor],
    method: Method,
    training: ImageTraining,
    *,
    seed: int,
    online: Proxy | None = None,
    epochs: Callable[[range], Iterable[int]] = iter,
    names: Sequence[str] | None = None,
    checkpoint: Checkpoint | None = None,
    after_epoch: EpochWatcher | None = None,
) -> ImageResult:
    """Train a model in place.

    Parameters
    ----------
    images : Tensor of uint8, shape (n, height, width, 3)
        The resident array.
    validation : pair of Tensor, shape (m,)
        Positions in ``images`` and classes of the validation images. They measure the loss after each epoch, and
        methods that learn their weights learn them there.
    seed : int
        Seed of order and augmentation, by epoch; it also sets torch's global generator, for dropout.
    online : str or None
        Proxy by which the model scores difficulty at the start of each epoch; None for that of the rows.
    epochs : callable
        Wraps the range of epochs, to show progress.
    names : sequence of str, length n, or None
        What messages call the images; None for their positions.
    checkpoint : Checkpoint or None
        Where the state is kept after each epoch, and taken up again. SIGTERM and SIGUSR1 then also keep the state,
        after the batch at hand, and stop the training.
    after_epoch : callable or None
        Gets the number of each epoch that is done and its history and speed.

    Raises
    ------
    TrainingInterruptedError
        If a signal stopped the training.
    BatchTooLargeError
        If a step does not fit the GPU's memory.
    CheckpointError
        If the state cannot be written.
    """
    run = _make_run(model, inputs, images, rows, validation, method, training, seed, names)
    method.start([run.generator], stacked=False, dtype=torch.float32, device=images.device)
    state = _state(run, checkpoint)
    # Without a checkpoint nothing would be gained by outliving a signal.
    signals = nullcontext(lambda: None) if checkpoint is None else noted_signals()
    with checkpoint_writer(checkpoint) as writer, signals as received:
        keep = partial(writer.write, partial(capture, run, state))
        stop_if_asked = partial(_stop_if_asked, received, keep, writer, state)
        for epoch in epochs(range(training.epochs)):
            if epoch < len(state.history):
                continue
            try:
                _train_epoch(run, state, Progress(epoch, training.epochs), online, stop_if_asked)
            except FloatingPointError as error:
                return ImageResult(state.history, state.speed, str(error))
            if after_epoch is not None:
                after_epoch(epoch, state.history[-1] | state.speed[-1])
            keep()
            if epoch + 1 < training.epochs:
                stop_if_asked()
    return ImageResult(state.history, state.speed, None)


def _make_run(
    model: nn.Module,
    inputs: InputConfig,
    images: Tensor,
    rows: TrainingRows,
    validation: tuple[Tensor, Tensor],
    method: Method,
    training: ImageTraining,
    seed: int,
    names: Sequence[str] | None,
) -> ImageRun:
    torch.manual_seed(seed)
    return ImageRun(
        model=model,
        # The step ahead and hypergradients differentiate the model itself.
        forward=torch.compile(model) if training.compile and not looks_ahead(method) else model,
        inputs=inputs,
        normalise=Normalisation.of(inputs, images.device),
        images=images,
        names=list(map(str, range(len(images)))) if names is None else names,
        rows=rows,
        validation=validation,
        class_counts=rows.class_counts(training.class_priors),
        method=method,
        training=training,
        seed=seed,
        optimiser=torch.optim.AdamW(
            model.parameters(),
            lr=training.learning_rate,
            weight_decay=training.weight_decay,
            fused=True if images.device.type == "cuda" else None,
        ),
        generator=method_generator(seed),
    )


def _state(run: ImageRun, checkpoint: Checkpoint | None) -> ImageState:
    """Bring the run to where its checkpoint, if there is one, was taken."""
    kept = None if checkpoint is None else read_checkpoint(checkpoint)
    if kept is None:
        return ImageState()
    state = restore(run, kept)
    logger.info("going on with a training after %s", _place(state))
    return state


def _train_epoch(
    run: ImageRun, state: ImageState, progress: Progress, online: Proxy | None, after_batch: Callable[[], None]
) -> None:
    """Train what is left of the epoch, and add what is kept of it to the state."""
    state.since = time.perf_counter()
    start_measuring(run.device)
    state.inside = start_epoch(run, progress, online) if state.inside is None else state.inside
    found = finish_epoch(run, progress, state.inside, after_batch=after_batch)
    losses = [epoch["validation_loss"] for epoch in state.history]
    found["regret"] = regret_so_far([*losses, found["validation_loss"]])
    state.history.append(found)
    state.speed.append(speed(len(run.rows.target), state.seconds, run.device))
    state.inside, state.seconds_before = None, 0.0
    logger.info("%s", epoch_line(progress.epoch, progress.epochs, found, state.speed[-1]))


def _stop_if_asked(
    received: Callable[[], Signals | None], keep: Callable[[], None], writer: CheckpointWriter, state: ImageState
) -> None:
    stop = received()
    if stop is not None:
        keep()
        writer.wait()
        raise TrainingInterruptedError(
            f"stopped by {stop.name} after {_place(state)}; the same command goes on from there", received=stop
        )


def _place(state: ImageState) -> str:
    batches = "" if state.inside is None else f" and {len(state.inside.losses)} batches"
    return f"{len(state.history)} epochs{batches}"
