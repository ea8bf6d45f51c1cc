"""The lookahead step and the bilevel problem of an image model, for methods that learn weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor

from fossil.hypergradient.derivatives import gradient, per_sample_jvp
from fossil.hypergradient.functional import ModelFunction, RandomState, function_of
from fossil.hypergradient.problem import BilevelProblem, Chunk, Vector
from fossil.likelihood import cross_entropy
from fossil.methods.base import Lookahead, ParameterSet, Progress
from fossil.training.image_data import PREDICTION_BATCH, TrainingRows, autocast
from fossil.training.image_run import ImageRun


def make_lookahead(
    run: ImageRun, pixels: Tensor, targets: Tensor, losses: Tensor, random_state: RandomState
) -> Lookahead:
    """Describe a step from its batch and per-sample losses, whose graph must stay.

    Parameters
    ----------
    pixels : Tensor, shape (n, 3, height, width)
        Normalised.
    random_state : RandomState
        As it was before the batch's logits, so that dropout masks are theirs.
    """
    function = function_of(run.model)
    parameters = tuple(p for p in run.model.parameters() if p.requires_grad)

    def gradient_of(weights: Tensor) -> Vector:
        return torch.autograd.grad((weights * losses).mean(), parameters, retain_graph=True)

    def losses_at(at: Vector) -> Tensor:
        with random_state.again(), autocast(pixels.device):
            return cross_entropy(function(at, pixels), targets)

    def validation_gradient(at: Vector, size: int) -> tuple[Tensor, Vector]:
        positions, classes = run.validation
        chosen = torch.randint(len(positions), (size,), generator=run.generator).to(run.device, non_blocking=True)
        inputs = run.pixels(positions[chosen])
        values: list[Tensor] = []

        def loss(parameters: Vector) -> Tensor:
            with random_state.again(), autocast(pixels.device):
                values.append(cross_entropy(function(parameters, inputs), classes[chosen]).mean())
            return values[-1]

        grad = gradient(loss, at)
        return values[-1].detach(), grad

    rate = run.optimiser.param_groups[0]["lr"]
    derivative = partial(per_sample_jvp, losses_at, function.parameters)
    return Lookahead(parameters, rate, gradient_of, derivative, validation_gradient)


def make_problem(
    run: ImageRun,
    rows: TrainingRows,
    progress: Progress,
    parameters: ParameterSet | None,
    curvature_samples: int | None,
) -> BilevelProblem:
    """Return the bilevel problem of all rows, augmented again, in evaluation mode, by all parameters or the head's."""
    run.model.eval()
    positions, classes = run.validation
    augmentation = run.draw_augmentation(rows, progress.epoch, stream=1)

    def training_pixels(chosen: Tensor) -> Tensor:
        return run.augmented_pixels(rows[chosen], augmentation[chosen])

    def validation_pixels(chosen: Tensor) -> Tensor:
        return run.pixels(positions[chosen])

    every = torch.arange(len(rows.target), device=run.device)
    held_out = torch.arange(len(positions), device=run.device)
    some = torch.randperm(len(every), generator=run.generator)[:curvature_samples].to(run.device)
    whole = parameters == "all"
    function = function_of(run.model, None if whole else cast(Any, run.model).get_classifier())
    parts_of = partial(_whole_parts, run.training.batch_size) if whole else _head_parts
    return BilevelProblem(
        function.parameters,
        parts_of(function, training_pixels, rows.target, every),
        parts_of(function, validation_pixels, classes, held_out),
        curvature=() if curvature_samples is None else parts_of(function, training_pixels, rows.target, some),
    )


def _whole_parts(
    size: int, function: ModelFunction, pixels: Callable[[Tensor], Tensor], targets: Tensor, chosen: Tensor
) -> list[Chunk]:
    def part(index: Tensor) -> Chunk:
        return Chunk(lambda parameters: cross_entropy(function(parameters, pixels(index)), targets[index]), index)

    return [part(index) for index in chosen.split(size)]


def _head_parts(
    function: ModelFunction, pixels: Callable[[Tensor], Tensor], targets: Tensor, chosen: Tensor
) -> list[Chunk]:
    with autocast(targets.device):
        features = torch.cat([function.prepare(pixels(index)) for index in chosen.split(PREDICTION_BATCH)])
    return [Chunk(lambda parameters: cross_entropy(function(parameters, features), targets[chosen]), chosen)]
