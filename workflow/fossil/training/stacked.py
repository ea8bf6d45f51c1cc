"""Many small models trained at once: one multilayer perceptron a seed, stacked along a leading axis.

Every product is batched over the models, every optimiser step is elementwise, and each model has a random generator of
its own, so model k of a stack is the model that its seed would give alone, up to the order in which a batched product
sums. Training amplifies that: in float64 probabilities agree within 1e-10, in float32 they can differ by .1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from fossil.config import SyntheticTraining
from fossil.data.synthetic import Split, SyntheticData
from fossil.difficulty import Proxy
from fossil.difficulty import difficulty as score
from fossil.likelihood import cross_entropy
from fossil.methods.base import Batch, Lookahead, Method, ParameterSet, Progress, Samples
from fossil.problem import BilevelProblem, Part, Vector
from fossil.training.history import summarise_epoch
from fossil.training.perceptron import StackedPerceptron, activations, logits_derivative
from fossil.training.randomness import method_generator


@dataclass(frozen=True)
class StackedResult:
    """What M models ended with.

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
    """Train one model a seed, all together.

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
    optimiser = torch.optim.Adam(model.parameters(), lr=training.learning_rate, fused=True)
    run = _Run(model, optimiser, method, train, validation, generators, [method_generator(seed) for seed in seeds])
    method.start(run.method_generators, stacked=True, dtype=dtype, device=train.inputs.device)
    history: list[dict[str, Tensor]] = []
    failed: dict[int, int] = {}
    for epoch in epochs(range(training.epochs)):
        progress = Progress(epoch, training.epochs)
        losses, weights, targets = run.train_epoch(progress, training.batch_size, proxy, difficulty)
        with torch.no_grad():
            validation_losses = cross_entropy(model(validation.inputs), validation.targets)
        finite = losses.isfinite().all(-1) & validation_losses.isfinite().all(-1)
        failed.update({k: epoch for k, ok in enumerate(finite.tolist()) if not ok and k not in failed})
        if len(failed) < len(seeds):
            method.after_epoch(run.bilevel_problem, progress)
        summary = summarise_epoch(losses=losses, weights=weights, targets=targets, validation_losses=validation_losses)
        history.append({**summary, **method.report()})
    with torch.no_grad():
        probabilities = model(test.inputs).squeeze(-1).sigmoid()
    undefined = probabilities.isnan().any(-1).tolist()
    failed.update({k: training.epochs - 1 for k, bad in enumerate(undefined) if bad and k not in failed})
    return StackedResult(model, probabilities, history, failed)


def score_training_samples(model: StackedPerceptron, data: Sequence[SyntheticData], *, proxy: Proxy) -> Tensor:
    """Difficulty of each model's own training samples, shape (M, n)."""
    train = _stack([item.train for item in data], model.parameters()[0].dtype)
    with torch.no_grad():
        return score(model(train.inputs), train.targets, proxy=proxy)


@dataclass(frozen=True)
class _StackedSplit:
    inputs: Tensor
    targets: Tensor
    index: Tensor


@dataclass(frozen=True)
class _Run:
    """A stack in training, and what its method may ask for."""

    model: StackedPerceptron
    optimiser: torch.optim.Optimizer
    method: Method
    train: _StackedSplit
    validation: _StackedSplit
    generators: Sequence[torch.Generator]
    method_generators: Sequence[torch.Generator]

    def train_epoch(
        self, progress: Progress, batch_size: int, proxy: Proxy, frozen: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Losses, weights and targets of the epoch, in the order in which samples were trained on, shape (M, n)."""
        samples = self._samples(proxy, frozen)
        self.method.before_epoch(samples, progress)
        models = torch.arange(len(self.generators)).unsqueeze(-1)
        order = torch.stack([torch.randperm(samples.targets.shape[-1], generator=g) for g in self.generators])
        inputs, targets, scores, is_augmented = (
            tensor[models, order]
            for tensor in (self.train.inputs, samples.targets, samples.difficulty, samples.is_augmented)
        )
        kept: list[tuple[Tensor, Tensor]] = []
        for start in range(0, order.shape[-1], batch_size):
            rows = slice(start, start + batch_size)
            outputs = activations(self.model.parameters(), inputs[:, rows])
            batch = Batch(
                logits=outputs[-1],
                targets=targets[:, rows],
                difficulty=scores[:, rows],
                is_augmented=is_augmented[:, rows],
                class_counts=samples.class_counts,
                index=order[:, rows],
            )
            kept.append(self._step(batch, inputs[:, rows], outputs, progress))
        losses, weights = (torch.cat(parts, dim=-1) for parts in zip(*kept, strict=True))
        return losses, weights, targets

    def bilevel_problem(self, parameters: ParameterSet | None, curvature_samples: int | None) -> BilevelProblem:
        """All samples as functions of all parameters, or of the last layer's."""
        given = tuple(p.detach() for p in self.model.parameters())
        train, validation = self.train, self.validation
        if parameters == "head":
            train, validation = (
                replace(split, inputs=activations(given, split.inputs)[-2]) for split in (train, validation)
            )
            given = given[-2:]
        drawn = () if curvature_samples is None else [_part(self._some(train, curvature_samples))]
        return BilevelProblem(given, [_part(train)], [_part(validation)], stack=1, curvature=drawn)

    def _some(self, split: _StackedSplit, count: int) -> _StackedSplit:
        """Draw samples of each model without replacement; all of them where there are no more."""
        total = split.targets.shape[-1]
        chosen = torch.stack([torch.randperm(total, generator=g)[:count] for g in self.method_generators])
        models = torch.arange(len(chosen)).unsqueeze(-1)
        return _StackedSplit(split.inputs[models, chosen], split.targets[models, chosen], chosen)

    def _samples(self, proxy: Proxy, frozen: Tensor | None) -> Samples:
        train = self.train
        difficulty = torch.zeros_like(train.inputs[..., 0]) if frozen is None else frozen
        if frozen is None and self.method.uses_difficulty:
            with torch.no_grad():
                difficulty = score(self.model(train.inputs), train.targets, proxy=proxy)
        positive = train.targets.to(train.inputs.dtype).sum(-1)
        return Samples(
            targets=train.targets,
            difficulty=difficulty,
            is_augmented=torch.zeros_like(train.targets, dtype=torch.bool),
            class_counts=torch.stack([train.targets.shape[-1] - positive, positive], dim=-1),
            index=train.index,
        )

    def _step(
        self, batch: Batch, inputs: Tensor, outputs: Sequence[Tensor], progress: Progress
    ) -> tuple[Tensor, Tensor]:
        losses = self.method.losses(batch)
        self.method.before_step(batch, losses, self._lookahead(batch, inputs, outputs))
        with torch.no_grad():
            weights = self.method.weights(batch, progress)
        self.optimiser.zero_grad(set_to_none=True)
        (weights * losses).mean(-1).sum().backward()
        self.optimiser.step()
        return losses.detach(), weights

    def _lookahead(self, batch: Batch, inputs: Tensor, outputs: Sequence[Tensor]) -> Lookahead:
        parameters = tuple(self.model.parameters())

        def derivative(tangent: Vector) -> Tensor:
            by_logit = batch.logits.detach().sigmoid() - batch.targets.unsqueeze(-1)  # of the cross-entropy
            return (by_logit * logits_derivative(parameters, inputs, outputs, tangent)).squeeze(-1)

        def validation_loss(at: Vector, size: int) -> Tensor:
            count = self.validation.targets.shape[-1]
            chosen = torch.stack([torch.randint(count, (size,), generator=g) for g in self.method_generators])
            models = torch.arange(len(chosen)).unsqueeze(-1)
            logits = activations(at, self.validation.inputs[models, chosen])[-1]
            return cross_entropy(logits, self.validation.targets[models, chosen]).mean(-1)

        return Lookahead(parameters, self.optimiser.param_groups[0]["lr"], derivative, validation_loss)


def _part(split: _StackedSplit) -> Part:
    return Part(lambda parameters: cross_entropy(activations(parameters, split.inputs)[-1], split.targets), split.index)


def _stack(splits: Sequence[Split], dtype: torch.dtype) -> _StackedSplit:
    targets = torch.from_numpy(np.stack([split.targets for split in splits]))
    return _StackedSplit(
        torch.from_numpy(np.stack([split.inputs for split in splits])).to(dtype),
        targets,
        torch.arange(targets.shape[-1]).expand_as(targets),
    )
