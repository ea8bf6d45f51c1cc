"""An epoch of an image model, which can be left after any batch and gone on with later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from fossil.data.augmentation import AugmentationParameters, augment_places
from fossil.difficulty import Proxy, difficulty
from fossil.hypergradient.functional import RandomState
from fossil.likelihood import cross_entropy
from fossil.methods.base import Batch, Progress
from fossil.training.batches import PlannedBatch, epoch_order, plan_batches
from fossil.training.history import summarise_epoch
from fossil.training.image_history import class_quantiles, validation_metrics
from fossil.training.image_rows import TrainingRows
from fossil.training.image_run import ImageRun, looks_ahead
from fossil.training.lookahead import make_lookahead, make_problem
from fossil.training.out_of_memory import batch_too_large
from fossil.training.pixels import autocast, predict_logits, to_float

# A look at the losses waits for a GPU, so there they are looked at now and then.
_BATCHES_BETWEEN_LOOKS = {"cpu": 1, "cuda": 32}
_NAMED = 5


@dataclass(frozen=True)
class InsideEpoch:
    """How far an epoch is.

    Attributes
    ----------
    difficulty : Tensor, shape (n,)
        Of the training rows in this epoch.
    known : Tensor, shape (n,), or None
        Their weights; None where they are asked for at each step.
    losses, weights : list of Tensor
        Of the batches that are done.
    """

    difficulty: Tensor
    known: Tensor | None
    losses: list[Tensor] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)


def start_epoch(run: ImageRun, progress: Progress, online: Proxy | None) -> InsideEpoch:
    """Score difficulty, where the model itself does, and ask the method for its weights."""
    rows = _scored_rows(run, online)
    samples = run.samples(rows, torch.arange(len(rows.target), device=run.device))
    run.method.before_epoch(samples, progress)
    known = None if run.method.weights_each_step else run.method.weights(samples, progress)
    return InsideEpoch(rows.difficulty, known)


def finish_epoch(
    run: ImageRun, progress: Progress, inside: InsideEpoch, *, after_batch: Callable[[], None]
) -> dict[str, float]:
    """Train on the batches that are not done, which are added to ``inside``, and summarise the epoch.

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
    parameters = run.drawn(rows, progress.epoch)
    run.model.train()
    looked_at, between = 0, _BATCHES_BETWEEN_LOOKS[run.device.type]
    for number in range(len(inside.losses), len(batches)):
        losses, weights = _step_or_explain(run, rows, parameters, batches[number], inside.known, progress)
        inside.losses.append(losses)
        inside.weights.append(weights)
        if (number + 1) % between == 0:
            _require_finite(run, progress.epoch, inside, batches, looked_at)
            looked_at = number + 1
        after_batch()
    _require_finite(run, progress.epoch, inside, batches, looked_at)
    return _summary(run, rows, progress, inside, order.to(run.device))


def _scored_rows(run: ImageRun, online: Proxy | None) -> TrainingRows:
    if online is None or not run.method.uses_difficulty:
        return run.rows
    originals = run.rows[run.rows.copy == 0]
    logits = predict_logits(run.model, run.inputs, run.images, originals.image)
    scores = difficulty(logits, originals.target, proxy=online).clone()  # out of inference mode
    return replace(run.rows, difficulty=scores[run.rows.original])


def _step_or_explain(
    run: ImageRun,
    rows: TrainingRows,
    parameters: AugmentationParameters,
    batch: PlannedBatch,
    known: Tensor | None,
    progress: Progress,
) -> tuple[Tensor, Tensor]:
    def step(count: int) -> tuple[Tensor, Tensor]:
        return _step(run, rows, parameters, batch if count == len(batch.rows) else batch.first(count), known, progress)

    try:
        return step(len(batch.rows))
    except torch.OutOfMemoryError:
        pass
    # Only here, with the exception gone, is the memory free that the failed step held.
    run.optimiser.zero_grad(set_to_none=True)
    raise batch_too_large(run.training.batch_size, step=step, rows=len(batch.rows))


def _step(
    run: ImageRun,
    rows: TrainingRows,
    parameters: AugmentationParameters,
    batch: PlannedBatch,
    known: Tensor | None,
    progress: Progress,
) -> tuple[Tensor, Tensor]:
    chosen = rows[batch.rows]
    pixels = augment_places(
        to_float(run.images[chosen.image]),
        batch.originals,
        batch.copies,
        parameters[batch.rows],
        run.training.augmentation,
    )
    pixels = run.normalise(pixels)
    random_state = RandomState.now(run.device) if looks_ahead(run.method) else None
    with autocast(run.device):
        logits = run.forward(pixels).float()
    seen = Batch(**vars(run.samples(chosen, batch.rows)), logits=logits)
    losses = run.method.losses(seen)
    if random_state is not None:
        run.method.before_step(seen, losses, make_lookahead(run, pixels, seen.targets, losses, random_state))
    weights = run.method.weights(seen, progress) if known is None else known[batch.rows]
    run.optimiser.zero_grad(set_to_none=True)
    (weights * losses).mean().backward()
    run.optimiser.step()
    return losses.detach(), weights


def _require_finite(
    run: ImageRun, epoch: int, inside: InsideEpoch, batches: list[PlannedBatch], looked_at: int
) -> None:
    """Raise for the first batch with a loss that is not finite, from the first one that was not looked at on."""
    if looked_at == len(inside.losses) or torch.cat(inside.losses[looked_at:]).isfinite().all():
        return
    for number in range(looked_at, len(inside.losses)):
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
    run.method.after_epoch(
        lambda which, curvature_samples: make_problem(run, rows, progress, which, curvature_samples), progress
    )
    losses, weights = torch.cat(inside.losses), torch.cat(inside.weights)
    found = summarise_epoch(
        losses=losses,
        weights=weights,
        targets=rows.target[order],
        difficulty=rows.difficulty[order] if run.method.uses_difficulty else None,
        validation_losses=validation_losses,
    )
    found |= class_quantiles(weights, rows.target[order]) | run.method.report()
    return {key: float(value) for key, value in found.items()} | validation_metrics(logits, targets)


def _names(run: ImageRun, positions: Tensor) -> str:
    """Names of images, each once, the first five and how many more."""
    names = list(dict.fromkeys(run.names[position] for position in positions.tolist()))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{'image' if len(names) == 1 else 'images'} {', '.join(names[:_NAMED])}{more}"
