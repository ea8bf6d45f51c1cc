"""Training one image model: everything resident on the device, augmented there in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from fossil.config import ImageTraining
from fossil.data.augmentation import AugmentationParameters, augment, draw_parameters
from fossil.difficulty import Proxy, difficulty
from fossil.functional import ModelFunction, RandomState, function_of
from fossil.hypergradient.derivatives import gradient, per_sample_jvp
from fossil.likelihood import cross_entropy
from fossil.methods.base import Batch, Lookahead, Method, ParameterSet, Progress, Samples
from fossil.problem import BilevelProblem, Part, Vector
from fossil.training.backbone import InputConfig
from fossil.training.history import summarise_epoch
from fossil.training.image_rows import TrainingRows
from fossil.training.randomness import method_generator

_PREDICTION_BATCH = 256


@dataclass(frozen=True)
class ImageResult:
    """The epochs of a run (see ``summarise_epoch``), and why it stopped early, if it did."""

    history: list[dict[str, float]]
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
    """
    optimiser = torch.optim.AdamW(model.parameters(), lr=training.learning_rate, weight_decay=training.weight_decay)
    torch.manual_seed(seed)
    run = _Run(model, inputs, images, rows, validation, method, training, seed, optimiser, method_generator(seed))
    method.start([run.generator], stacked=False, dtype=torch.float32, device=images.device)
    history: list[dict[str, float]] = []
    for epoch in epochs(range(training.epochs)):
        try:
            history.append(run.epoch(Progress(epoch, training.epochs), online))
        except FloatingPointError as error:
            return ImageResult(history, str(error))
    return ImageResult(history, None)


def predict_logits(model: nn.Module, inputs: InputConfig, images: Tensor, positions: Tensor) -> Tensor:
    """Logits of shape (m, 1), float32, of the images at the given positions, in evaluation mode."""
    model.eval()
    with torch.inference_mode(), _autocast(images.device):
        parts = [model(_normalise(_to_float(images[part]), inputs)) for part in positions.split(_PREDICTION_BATCH)]
    return torch.cat(parts).float()


@dataclass(frozen=True)
class _Run:
    """A model in training, and what its method may ask for."""

    model: nn.Module
    inputs: InputConfig
    images: Tensor
    rows: TrainingRows
    validation: tuple[Tensor, Tensor]
    method: Method
    training: ImageTraining
    seed: int
    optimiser: torch.optim.Optimizer
    generator: torch.Generator

    def epoch(self, progress: Progress, online: Proxy | None) -> dict[str, float]:
        """Train an epoch; a loss that is not finite is a FloatingPointError that says where."""
        rows = self._scored_rows(online)
        samples = self._samples(rows, torch.arange(len(rows.target), device=self.images.device))
        self.method.before_epoch(samples, progress)
        known = None if self.method.weights_each_step else self.method.weights(samples, progress)
        draws = np.random.default_rng([self.seed, progress.epoch])
        order = torch.from_numpy(draws.permutation(len(rows.target))).to(self.images.device)
        parameters = self._drawn(rows, progress.epoch)
        self.model.train()
        kept: list[tuple[Tensor, Tensor]] = []
        for number, chosen in enumerate(_batches(order, self.training.batch_size)):
            pixels = self._augmented(rows[chosen], parameters[chosen])
            weights = None if known is None else known[chosen]
            losses, weights = self._step(pixels, self._samples(rows[chosen], chosen), weights, progress)
            if not losses.isfinite().all():
                raise FloatingPointError(f"loss not finite in epoch {progress.epoch}, batch {number}")
            kept.append((losses, weights))
        losses, weights = (torch.cat(parts) for parts in zip(*kept, strict=True))
        validation_losses = self._validation_losses(progress.epoch)
        self.method.after_epoch(lambda which, curvature: self._problem(rows, progress, which, curvature), progress)
        summary = summarise_epoch(
            losses=losses,
            weights=weights,
            targets=rows.target[order],
            difficulty=rows.difficulty[order] if self.method.uses_difficulty else None,
            validation_losses=validation_losses,
        )
        return {key: float(value) for key, value in (summary | self.method.report()).items()}

    def _scored_rows(self, online: Proxy | None) -> TrainingRows:
        if online is None or not self.method.uses_difficulty:
            return self.rows
        originals = self.rows[self.rows.copy == 0]
        logits = predict_logits(self.model, self.inputs, self.images, originals.image)
        scores = difficulty(logits, originals.target, proxy=online).clone()  # out of inference mode
        return replace(self.rows, difficulty=scores[self.rows.original])

    def _samples(self, rows: TrainingRows, index: Tensor) -> Samples:
        return Samples(
            targets=rows.target,
            difficulty=rows.difficulty,
            is_augmented=rows.is_augmented,
            class_counts=self.rows.class_counts(self.training.class_priors),
            index=index,
        )

    def _step(
        self, pixels: Tensor, samples: Samples, weights: Tensor | None, progress: Progress
    ) -> tuple[Tensor, Tensor]:
        random_state = RandomState.now(pixels.device)
        pixels = _normalise(pixels, self.inputs)
        with _autocast(pixels.device):
            logits = self.model(pixels).float()
        batch = Batch(**vars(samples), logits=logits)
        losses = self.method.losses(batch)
        self.method.before_step(batch, losses, self._lookahead(pixels, samples.targets, losses, random_state))
        if weights is None:
            weights = self.method.weights(batch, progress)
        self.optimiser.zero_grad(set_to_none=True)
        (weights * losses).mean().backward()
        self.optimiser.step()
        return losses.detach(), weights

    def _validation_losses(self, epoch: int) -> Tensor:
        positions, targets = self.validation
        losses = cross_entropy(predict_logits(self.model, self.inputs, self.images, positions), targets)
        if not losses.isfinite().all():
            raise FloatingPointError(f"validation loss not finite after epoch {epoch}")
        return losses

    def _lookahead(self, pixels: Tensor, targets: Tensor, losses: Tensor, random_state: RandomState) -> Lookahead:
        function = function_of(self.model)
        parameters = tuple(p for p in self.model.parameters() if p.requires_grad)

        def gradient_of(weights: Tensor) -> Vector:
            return torch.autograd.grad((weights * losses).mean(), parameters, retain_graph=True)

        def losses_at(at: Vector) -> Tensor:
            with random_state.again(), _autocast(pixels.device):
                return cross_entropy(function(at, pixels), targets)

        def validation_gradient(at: Vector, size: int) -> tuple[Tensor, Vector]:
            positions, classes = self.validation
            chosen = torch.randint(len(positions), (size,), generator=self.generator).to(positions.device)
            shown = _normalise(_to_float(self.images[positions[chosen]]), self.inputs)
            found: list[Tensor] = []

            def loss(parameters: Vector) -> Tensor:
                with random_state.again(), _autocast(pixels.device):
                    found.append(cross_entropy(function(parameters, shown), classes[chosen]).mean())
                return found[-1]

            slope = gradient(loss, at)
            return found[-1].detach(), slope

        rate = self.optimiser.param_groups[0]["lr"]
        derivative = partial(per_sample_jvp, losses_at, function.parameters)
        return Lookahead(parameters, rate, gradient_of, derivative, validation_gradient)

    def _problem(
        self, rows: TrainingRows, progress: Progress, parameters: ParameterSet | None, curvature_samples: int | None
    ) -> BilevelProblem:
        """All rows, augmented anew, as functions of the head's parameters or of all, in evaluation mode."""
        self.model.eval()
        positions, classes = self.validation
        drawn = self._drawn(rows, progress.epoch, stream=1)

        def training_pixels(chosen: Tensor) -> Tensor:
            return _normalise(self._augmented(rows[chosen], drawn[chosen]), self.inputs)

        def validation_pixels(chosen: Tensor) -> Tensor:
            return _normalise(_to_float(self.images[positions[chosen]]), self.inputs)

        every = torch.arange(len(rows.target), device=self.images.device)
        shown = torch.arange(len(positions), device=self.images.device)
        some = torch.randperm(len(every), generator=self.generator)[:curvature_samples].to(every.device)
        whole = parameters == "all"
        function = function_of(self.model, None if whole else self.model.get_classifier())
        parts_of = self._whole_parts if whole else self._head_parts
        return BilevelProblem(
            function.parameters,
            parts_of(function, training_pixels, rows.target, every),
            parts_of(function, validation_pixels, classes, shown),
            curvature=() if curvature_samples is None else parts_of(function, training_pixels, rows.target, some),
        )

    def _whole_parts(
        self, function: ModelFunction, pixels: Callable[[Tensor], Tensor], targets: Tensor, chosen: Tensor
    ) -> list[Part]:
        def part(index: Tensor) -> Part:
            return Part(lambda parameters: cross_entropy(function(parameters, pixels(index)), targets[index]), index)

        return [part(index) for index in chosen.split(self.training.batch_size)]

    def _head_parts(
        self, function: ModelFunction, pixels: Callable[[Tensor], Tensor], targets: Tensor, chosen: Tensor
    ) -> list[Part]:
        with _autocast(self.images.device):
            features = torch.cat([function.prepare(pixels(index)) for index in chosen.split(_PREDICTION_BATCH)])
        return [Part(lambda parameters: cross_entropy(function(parameters, features), targets[chosen]), chosen)]

    def _augmented(self, rows: TrainingRows, parameters: AugmentationParameters) -> Tensor:
        return augment(_to_float(self.images[rows.image]), rows.is_augmented, parameters, self.training.augmentation)

    def _drawn(self, rows: TrainingRows, epoch: int, *, stream: int = 0) -> AugmentationParameters:
        return draw_parameters(
            rows.key.cpu().numpy().view(np.uint64),
            rows.copy.cpu().numpy(),
            seed=self.seed,
            epoch=epoch,
            device=self.images.device,
            stream=stream,
        )


def _batches(order: Tensor, size: int) -> list[Tensor]:
    """Cut an order into batches; a last batch of one row, too small for batch normalisation, joins the one before."""
    parts = list(order.split(size))
    if len(parts) > 1 and len(parts[-1]) == 1:
        parts[-2:] = [torch.cat(parts[-2:])]
    return parts


def _to_float(images: Tensor) -> Tensor:
    return images.permute(0, 3, 1, 2).float() / 255


def _normalise(pixels: Tensor, inputs: InputConfig) -> Tensor:
    mean, std = (torch.tensor(value, device=pixels.device)[:, None, None] for value in (inputs.mean, inputs.std))
    return ((pixels - mean) / std).contiguous(memory_format=torch.channels_last)


def _autocast(device: torch.device) -> torch.autocast:
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")
