"""One training epoch of an image model, which can stop after any batch and resume there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from fossil.config.strict import Proxy
from fossil.data.augmentation import AugmentationParameters, augment_places
from fossil.difficulty import difficulty
from fossil.hypergradient.functional import RandomState
from fossil.likelihood import cross_entropy
from fossil.methods.base import Batch, Progress
from fossil.training.device import batch_too_large
from fossil.training.history import class_quantiles, summarise_epoch, validation_metrics
from fossil.training.image_data import (
    PlannedBatch,
    TrainingRows,
    autocast,
    epoch_order,
    plan_batches,
    predict_logits,
    to_float,
)
from fossil.training.image_run import ImageRun, InsideEpoch, needs_lookahead
from fossil.training.lookahead import make_lookahead, make_problem
from fossil.training.optimisers import learning_rate

# Checking the losses waits for a GPU, so there they are checked now and then.
_BATCHES_BETWEEN_CHECKS = {"cpu": 1, "cuda": 32}
_NAMED = 5


def start_epoch(run: ImageRun, progress: Progress, online: Proxy | None) -> InsideEpoch:
    """Score difficulty if the model itself does, and compute the method's weights."""
    rows = _scored_rows(run, online)
    samples = run.samples(rows, torch.arange(len(rows.target), device=run.device))
    run.method.before_epoch(samples, progress)
    return InsideEpoch(rows.difficulty, None if run.method.weights_each_step else run.method.weights(samples, progress))


def finish_epoch(
    run: ImageRun, progress: Progress, inside: InsideEpoch, *, after_batch: Callable[[], None]
) -> dict[str, float]:
    """Train on the remaining batches, which are added to ``inside``, and summarise the epoch.

    Raises
    ------
    FloatingPointError
        If a loss is not finite; names the first such batch and its images.
    BatchTooLargeError
        If a step does not fit the GPU's memory.
    """
    rows = replace(run.rows, difficulty=inside.difficulty)
    order = epoch_order(len(rows.target), seed=run.seed, epoch=progress.epoch)
    batches = plan_batches(order, rows.is_augmented.cpu(), size=run.training.batch_size, device=run.device)
    parameters = run.draw_augmentation(rows, progress.epoch)
    step = partial(_step_or_explain, run, rows, parameters, inside.epoch_weights, progress)
    run.model.train()
    checked, between = 0, _BATCHES_BETWEEN_CHECKS[run.device.type]
    for number in range(len(inside.losses), len(batches)):
        _set_learning_rate(run, progress.epoch * len(batches) + number, len(batches))
        losses, weights = step(batches[number])
        inside.losses.append(losses)
        inside.weights.append(weights)
        if (number + 1) % between == 0:
            _require_finite(run, progress.epoch, inside, batches, checked)
            checked = number + 1
        after_batch()
    _require_finite(run, progress.epoch, inside, batches, checked)
    return _summary(run, rows, progress, inside, order.to(run.device))


def _scored_rows(run: ImageRun, online: Proxy | None) -> TrainingRows:
    if online is None or not run.method.uses_difficulty:
        return run.rows
    originals = run.rows[run.rows.copy == 0]
    logits = predict_logits(run.model, run.inputs, run.images, originals.image)
    scores = difficulty(logits, originals.target, proxy=online).clone()  # out of inference mode
    return replace(run.rows, difficulty=scores[run.rows.original])


def _set_learning_rate(run: ImageRun, step: int, steps_per_epoch: int) -> None:
    for group in run.optimiser.param_groups:
        group["lr"] = learning_rate(step, run.training, steps_per_epoch=steps_per_epoch)


def _step_or_explain(
    run: ImageRun,
    rows: TrainingRows,
    parameters: AugmentationParameters,
    epoch_weights: Tensor | None,
    progress: Progress,
    batch: PlannedBatch,
) -> tuple[Tensor, Tensor]:
    """Take a step; if memory runs out, raise an error with the batch size that fits."""
    step = partial(_step, run, rows, parameters, epoch_weights, progress)
    try:
        return step(batch)
    except torch.OutOfMemoryError:
        pass
    # Only here, with the exception gone, is the memory free that the failed step held.
    run.optimiser.zero_grad(set_to_none=True)
    size = run.training.batch_size
    raise batch_too_large(size, step=lambda count: step(batch.first(count)), rows=len(batch.rows))


def _step(
    run: ImageRun,
    rows: TrainingRows,
    parameters: AugmentationParameters,
    epoch_weights: Tensor | None,
    progress: Progress,
    batch: PlannedBatch,
) -> tuple[Tensor, Tensor]:
    """Take a training step; returns the batch's losses before it and its weights."""
    chosen = rows[batch.rows]
    pixels = augment_places(
        to_float(run.images[chosen.image]),
        batch.originals,
        batch.copies,
        parameters[batch.rows],
        run.training.augmentation,
    )
    pixels = run.normalise(pixels)
    random_state = RandomState.now(run.device) if needs_lookahead(run.method) else None
    with autocast(run.device):
        logits = run.forward(pixels).float()
    outputs = Batch(**vars(run.samples(chosen, batch.rows)), logits=logits)
    losses = run.method.losses(outputs)
    if random_state is not None:
        run.method.before_step(outputs, losses, make_lookahead(run, pixels, outputs.targets, losses, random_state))
    weights = run.method.weights(outputs, progress) if epoch_weights is None else epoch_weights[batch.rows]
    run.optimiser.zero_grad(set_to_none=True)
    (weights * losses).mean().backward()
    run.optimiser.step()
    return losses.detach(), weights


def _require_finite(run: ImageRun, epoch: int, inside: InsideEpoch, batches: list[PlannedBatch], checked: int) -> None:
    """Raise for the first unchecked batch with a loss that is not finite."""
    if checked == len(inside.losses) or torch.cat(inside.losses[checked:]).isfinite().all():
        return
    for number in range(checked, len(inside.losses)):
        bad = ~inside.losses[number].isfinite()
        if bad.any():
            images = _names(run, run.rows.image[batches[number].rows[bad]])
            raise FloatingPointError(f"loss not finite in epoch {epoch}, batch {number}: {images}")


def _summary(
    run: ImageRun, rows: TrainingRows, progress: Progress, inside: InsideEpoch, order: Tensor
) -> dict[str, float]:
    positions, targets = run.validation
    logits = predict_logits(run.model, run.inputs, run.images, positions)
    validation_losses = cross_entropy(logits, targets)
    bad = ~validation_losses.isfinite()
    if bad.any():
        raise FloatingPointError(
            f"validation loss not finite after epoch {progress.epoch}: {_names(run, positions[bad])}"
        )
    run.method.after_epoch(partial(make_problem, run, rows, progress), progress)
    losses, weights = torch.cat(inside.losses), torch.cat(inside.weights)
    summary = summarise_epoch(
        losses=losses,
        weights=weights,
        targets=rows.target[order],
        difficulty=rows.difficulty[order] if run.method.uses_difficulty else None,
        validation_losses=validation_losses,
    )
    summary |= class_quantiles(weights, rows.target[order]) | run.method.report()
    return {key: float(value) for key, value in summary.items()} | validation_metrics(logits, targets)


def _names(run: ImageRun, positions: Tensor) -> str:
    """Format images, each once: the first five, and the number of others."""
    names = list(dict.fromkeys(run.names[position] for position in positions.tolist()))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{'image' if len(names) == 1 else 'images'} {', '.join(names[:_NAMED])}{more}"
