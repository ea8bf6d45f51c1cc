"""Many small models trained at once: one multilayer perceptron per seed, stacked along a leading axis.

Products go through the models one by one, every optimiser step is elementwise, and each model has a random generator of
its own, so model k of a stack is, up to rounding, the model that its seed would give alone. Training amplifies that: in
float64 probabilities agree within 1e-10, also between machines; in float32 they can differ by .1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from fossil.config.strict import Proxy
from fossil.config.synthetic import SyntheticTraining
from fossil.data.splits import Split, SyntheticData
from fossil.difficulty import difficulty as score
from fossil.hypergradient.problem import BilevelProblem, Chunk, Vector
from fossil.likelihood import cross_entropy
from fossil.methods.base import Batch, Lookahead, Method, ParameterSet, Progress, Samples
from fossil.training.device import method_generator
from fossil.training.history import summarise_epoch
from fossil.training.perceptron import StackedPerceptron, Workspace, activations, backward, forward, logits_changes
from fossil.training.perceptron_curvature import cross_entropy_forms


@dataclass(frozen=True)
class StackedResult:
    """The trained stack of M models.

    Attributes
    ----------
    model : StackedPerceptron
    probabilities : Tensor, shape (M, n_test)
        Probability of class 1 on the test split.
    history : list of dict
        For each epoch, values of shape (M,) (see ``summarise_epoch``).
    failed : dict
        For each model whose loss or predictions were not finite, its place in the stack and the first such epoch. The
        models do not touch each other, so the others are what they would have been.
    """

    model: StackedPerceptron
    probabilities: Tensor
    history: list[dict[str, Tensor]]
    failed: dict[int, int]

    def part(self, place: int, *, of: int) -> StackedResult:
        """Return predictions, epochs and failures of a part of ``of`` equal ones, with the whole model."""
        size = len(self.probabilities) // of
        models = slice(place * size, (place + 1) * size)
        history = [{key: value[models] for key, value in epoch.items()} for epoch in self.history]
        failed = {k - models.start: epoch for k, epoch in self.failed.items() if models.start <= k < models.stop}
        return StackedResult(self.model, self.probabilities[models], history, failed)


def train_stacked(
    data: Sequence[SyntheticData],
    method: Method,
    training: SyntheticTraining,
    *,
    seeds: Sequence[int],
    proxy: Proxy,
    difficulty: Tensor | None = None,
    epochs: Callable[[range], Iterable[int]] = iter,
) -> StackedResult:
    """Train one model per seed, all together.

    Parameters
    ----------
    data : sequence of SyntheticData, length M
        The problem of each seed; the splits must have equal sizes.
    difficulty : Tensor, shape (M, n), or None
        Frozen scores of the training samples; None for scores of the model itself at the start of each epoch.
    epochs : callable
        Wraps the range of epochs, to show progress.
    """
    dtype = getattr(torch, training.dtype)
    train, validation, test = (
        _stack([getattr(item, part) for item in data], dtype) for part in ("train", "validation", "test")
    )
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    model = StackedPerceptron([train.inputs.shape[-1], *training.hidden, 1], generators, dtype=dtype)
    optimiser = torch.optim.Adam([model.flat], lr=training.learning_rate, fused=True)
    run = _Run(model, optimiser, method, train, validation, generators, [method_generator(seed) for seed in seeds])
    method.start(run.method_generators, stacked=True, dtype=dtype, device=train.inputs.device)
    history: list[dict[str, Tensor]] = []
    failed: dict[int, int] = {}
    for epoch in epochs(range(training.epochs)):
        progress = Progress(epoch, training.epochs)
        samples, losses, weights = run.train_epoch(progress, training.batch_size, proxy, difficulty)
        validation_losses = cross_entropy(model(validation.inputs), validation.targets)
        finite = losses.isfinite().all(-1) & validation_losses.isfinite().all(-1)
        failed.update({k: epoch for k, ok in enumerate(finite.tolist()) if not ok and k not in failed})
        if len(failed) < len(seeds):
            method.after_epoch(run.bilevel_problem, progress)
        summary = summarise_epoch(
            losses=losses,
            weights=weights,
            targets=samples.targets,
            difficulty=samples.difficulty if method.uses_difficulty else None,
            validation_losses=validation_losses,
        )
        history.append({**summary, **method.report()})
    probabilities = model(test.inputs).squeeze(-1).sigmoid()
    undefined = probabilities.isnan().any(-1).tolist()
    failed.update({k: training.epochs - 1 for k, bad in enumerate(undefined) if bad and k not in failed})
    return StackedResult(model, probabilities, history, failed)


def score_training_samples(model: StackedPerceptron, data: Sequence[SyntheticData], *, proxy: Proxy) -> Tensor:
    """Score each model's own training samples, shape (M, n)."""
    train = _stack([item.train for item in data], model.parameters()[0].dtype)
    return score(model(train.inputs), train.targets, proxy=proxy)


@dataclass(frozen=True)
class _StackedSplit:
    inputs: Tensor
    targets: Tensor
    is_augmented: Tensor
    index: Tensor


@dataclass(frozen=True)
class _Run:
    """A stack in training, with the inputs of its method."""

    model: StackedPerceptron
    optimiser: torch.optim.Adam
    method: Method
    train: _StackedSplit
    validation: _StackedSplit
    generators: Sequence[torch.Generator]
    method_generators: Sequence[torch.Generator]
    workspace: Workspace = field(default_factory=Workspace)

    def train_epoch(
        self, progress: Progress, batch_size: int, proxy: Proxy, frozen: Tensor | None
    ) -> tuple[Samples, Tensor, Tensor]:
        """Train an epoch; returns its samples and their losses and weights, shape (M, n), in the same order."""
        samples = self._samples(proxy, frozen)
        self.method.before_epoch(samples, progress)
        weights = torch.empty_like(samples.difficulty)
        if not self.method.weights_each_step:
            weights = self.method.weights(samples, progress)
        losses = torch.empty_like(samples.difficulty)
        models = torch.arange(len(self.generators)).unsqueeze(-1)
        order = torch.stack([torch.randperm(samples.targets.shape[-1], generator=g) for g in self.generators])
        shuffled = replace(samples, **{name: getattr(samples, name)[models, order] for name in _PER_SAMPLE})
        inputs, kept_weights, kept_losses = (tensor[models, order] for tensor in (self.train.inputs, weights, losses))
        for start in range(0, order.shape[-1], batch_size):
            rows = slice(start, start + batch_size)
            outputs = self.model.forward(inputs[:, rows])
            part = {name: getattr(shuffled, name)[:, rows] for name in _PER_SAMPLE}
            batch = Batch(logits=outputs[-1], class_counts=samples.class_counts, **part)
            kept_losses[:, rows] = self._step(batch, inputs[:, rows], outputs, kept_weights[:, rows], progress)
        return shuffled, kept_losses, kept_weights

    def bilevel_problem(self, parameters: ParameterSet | None, curvature_samples: int | None) -> BilevelProblem:
        """Return all samples as functions of all parameters, or of the last layer's."""
        given = tuple(p.clone() for p in self.model.parameters())
        train, validation = self.train, self.validation
        if parameters == "head":
            train, validation = (
                replace(split, inputs=activations(given, split.inputs)[-2]) for split in (train, validation)
            )
            given = given[-2:]
        drawn = [] if curvature_samples is None else self._parts(given, self._some(train, curvature_samples))
        return BilevelProblem(
            given, self._parts(given, train), self._parts(given, validation), stack=1, curvature=drawn
        )

    def _parts(self, parameters: Vector, split: _StackedSplit) -> list[Chunk]:
        """Split samples into parts whose arrays fit the processor's cache."""
        rows = [tensor.split(_ROWS_OF_A_PART, dim=1) for tensor in (split.inputs, split.targets, split.index)]
        return [self._part(parameters, *tensors) for tensors in zip(*rows, strict=True)]

    def _part(self, parameters: Vector, inputs: Tensor, targets: Tensor, index: Tensor) -> Chunk:
        def losses(at: Vector) -> Tensor:
            return cross_entropy(activations(at, inputs)[-1], targets)

        return Chunk(losses, index, cross_entropy_forms(parameters, inputs, targets, self.workspace))

    def _some(self, split: _StackedSplit, count: int) -> _StackedSplit:
        """Draw samples of each model without replacement; all of them if there are no more."""
        total = split.targets.shape[-1]
        chosen = torch.stack([torch.randperm(total, generator=g)[:count] for g in self.method_generators])
        models = torch.arange(len(chosen)).unsqueeze(-1)
        inputs, targets, is_augmented = (
            tensor[models, chosen] for tensor in (split.inputs, split.targets, split.is_augmented)
        )
        return _StackedSplit(inputs, targets, is_augmented, chosen)

    def _samples(self, proxy: Proxy, frozen: Tensor | None) -> Samples:
        train = self.train
        difficulty = torch.zeros_like(train.inputs[..., 0]) if frozen is None else frozen
        if frozen is None and self.method.uses_difficulty:
            difficulty = score(self.model(train.inputs), train.targets, proxy=proxy)
        originals = ~train.is_augmented
        counts = [(originals & (train.targets == label)).sum(-1) for label in (0, 1)]
        return Samples(
            targets=train.targets,
            difficulty=difficulty,
            is_augmented=train.is_augmented,
            class_counts=torch.stack(counts, dim=-1).to(train.inputs.dtype),
            index=train.index,
        )

    def _step(
        self, batch: Batch, inputs: Tensor, outputs: Sequence[Tensor], weights: Tensor, progress: Progress
    ) -> Tensor:
        """Take a step; returns the losses before it. Weights that a method gives at each step go into ``weights``."""
        losses, logit_grad = _losses_and_gradients(self.method, batch)
        self.method.before_step(batch, losses, self._lookahead(inputs, outputs, logit_grad))
        if self.method.weights_each_step:
            weights.copy_(self.method.weights(batch, progress))
        self.model.backward(inputs, outputs, _weighted(logit_grad, weights))
        self.optimiser.step()
        return losses

    def _lookahead(self, inputs: Tensor, outputs: Sequence[Tensor], logit_grad: Tensor) -> Lookahead:
        parameters = tuple(self.model.parameters())

        def gradient(weights: Tensor) -> Vector:
            return backward(parameters, inputs, outputs, _weighted(logit_grad, weights), self.workspace)

        def derivative(tangent: Vector) -> Tensor:
            changes = logits_changes(parameters, inputs, outputs, tangent, self.workspace)
            return (logit_grad * changes[-1]).squeeze(-1)

        def validation_gradient(at: Vector, size: int) -> tuple[Tensor, Vector]:
            count = self.validation.targets.shape[-1]
            chosen = torch.stack([torch.randint(count, (size,), generator=g) for g in self.method_generators])
            models = torch.arange(len(chosen)).unsqueeze(-1)
            inputs, targets = self.validation.inputs[models, chosen], self.validation.targets[models, chosen]
            outputs = forward(at, inputs, self.workspace)
            errors = (outputs[-1].sigmoid() - targets.unsqueeze(-1)) / size
            return cross_entropy(outputs[-1], targets).mean(-1), backward(at, inputs, outputs, errors, self.workspace)

        rate = self.optimiser.param_groups[0]["lr"]
        return Lookahead(parameters, rate, gradient, derivative, validation_gradient)


_ROWS_OF_A_PART = 128
_PER_SAMPLE = ("targets", "difficulty", "is_augmented", "index")


def _losses_and_gradients(method: Method, batch: Batch) -> tuple[Tensor, Tensor]:
    """Compute losses, shape (M, n), and the derivative of each by its logit, shape (M, n, 1)."""
    if type(method).losses is Method.losses:  # of the cross-entropy it is known
        return method.losses(batch), batch.logits.sigmoid().sub_(batch.targets.unsqueeze(-1))
    leaf = batch.logits.detach().requires_grad_()
    losses = method.losses(replace(batch, logits=leaf))
    return losses.detach(), torch.autograd.grad(losses.sum(), leaf)[0]


def _weighted(logit_grad: Tensor, weights: Tensor) -> Tensor:
    """Convert the losses' derivatives by the logits to those of the mean weighted loss, shape (M, n, 1)."""
    return logit_grad * (weights / weights.shape[-1]).unsqueeze(-1)


def _stack(splits: Sequence[Split], dtype: torch.dtype) -> _StackedSplit:
    targets = torch.from_numpy(np.stack([split.targets for split in splits]))
    return _StackedSplit(
        torch.from_numpy(np.stack([split.inputs for split in splits])).to(dtype),
        targets,
        torch.from_numpy(np.stack([split.is_augmented for split in splits])),
        torch.arange(targets.shape[-1]).expand_as(targets),
    )
