"""Many small models trained at once: one multilayer perceptron a seed, stacked along a leading axis.

Every product is batched over the models, every optimiser step is elementwise, and each model has a random generator of
its own, so model k of a stack is the model that its seed would give alone, up to the order in which a batched product
sums. Training amplifies that: in float64 probabilities agree within 1e-10, in float32 they can differ by .1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from fossil.config import SyntheticTraining
from fossil.data.synthetic import Split, SyntheticData
from fossil.difficulty import Proxy, difficulty
from fossil.likelihood import cross_entropy
from fossil.methods.base import Batch, Method, Progress
from fossil.training.history import summarise_epoch


@dataclass(frozen=True)
class StackedResult:
    """What M models ended with.

    Attributes
    ----------
    probabilities : Tensor, shape (M, n_test)
        Probability of class 1 on the test split.
    history : list of dict
        For each epoch, values of shape (M,) (see ``summarise_epoch``).
    failed : dict
        For each model whose loss or predictions were not finite, its place in the stack and the first such epoch. The
        models do not touch each other, so the others are what they would have been.
    """

    probabilities: Tensor
    history: list[dict[str, Tensor]]
    failed: dict[int, int]


class StackedPerceptron:
    """M perceptrons with ReLU and one logit, of shape inputs-hidden-...-1.

    Initialised as torch.nn.Linear is, each model from its own generator, in float32 whatever the type, so that the type
    does not choose another start.
    """

    def __init__(self, widths: Sequence[int], generators: Sequence[torch.Generator], *, dtype: torch.dtype) -> None:
        self.layers: list[tuple[Tensor, Tensor]] = []
        models = [[_linear(i, o, generator, dtype) for i, o in pairwise(widths)] for generator in generators]
        for layer in zip(*models, strict=True):
            weight, bias = (torch.stack(parts).requires_grad_() for parts in zip(*layer, strict=True))
            self.layers.append((weight, bias))

    def parameters(self) -> list[Tensor]:
        """Weights of shape (M, in, out) and biases of shape (M, 1, out), layer by layer."""
        return [parameter for layer in self.layers for parameter in layer]

    def __call__(self, inputs: Tensor) -> Tensor:
        """Logits of shape (M, n, 1) from inputs of shape (M, n, features)."""
        *hidden, (weight, bias) = self.layers
        for hidden_weight, hidden_bias in hidden:
            inputs = torch.baddbmm(hidden_bias, inputs, hidden_weight).relu()
        return torch.baddbmm(bias, inputs, weight)


def train_stacked(
    data: Sequence[SyntheticData],
    method: Method,
    training: SyntheticTraining,
    *,
    seeds: Sequence[int],
    proxy: Proxy,
    epochs: Callable[[range], Iterable[int]] = iter,
) -> StackedResult:
    """Train one model a seed, all together.

    Parameters
    ----------
    data : sequence of SyntheticData, length M
        The problem of each seed; the splits must have equal sizes.
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
    priors = torch.stack([1 - train.targets.to(dtype).mean(-1), train.targets.to(dtype).mean(-1)], dim=-1)
    history: list[dict[str, Tensor]] = []
    failed: dict[int, int] = {}
    for epoch in epochs(range(training.epochs)):
        progress = Progress(epoch, training.epochs)
        losses, weights, targets = _train_epoch(
            model, optimiser, method, train, priors, progress, generators, training.batch_size, proxy
        )
        with torch.no_grad():
            validation_losses = cross_entropy(model(validation.inputs), validation.targets)
        finite = losses.isfinite().all(-1) & validation_losses.isfinite().all(-1)
        failed.update({k: epoch for k, ok in enumerate(finite.tolist()) if not ok and k not in failed})
        history.append(
            summarise_epoch(losses=losses, weights=weights, targets=targets, validation_losses=validation_losses)
        )
    with torch.no_grad():
        probabilities = model(test.inputs).squeeze(-1).sigmoid()
    undefined = probabilities.isnan().any(-1).tolist()
    failed.update({k: training.epochs - 1 for k, bad in enumerate(undefined) if bad and k not in failed})
    return StackedResult(probabilities, history, failed)


@dataclass(frozen=True)
class _StackedSplit:
    inputs: Tensor
    targets: Tensor


def _train_epoch(
    model: StackedPerceptron,
    optimiser: torch.optim.Optimizer,
    method: Method,
    train: _StackedSplit,
    priors: Tensor,
    progress: Progress,
    generators: Sequence[torch.Generator],
    batch_size: int,
    proxy: Proxy,
) -> tuple[Tensor, Tensor, Tensor]:
    scores = torch.zeros_like(train.inputs[..., 0])
    if method.uses_difficulty:
        with torch.no_grad():
            scores = difficulty(model(train.inputs), train.targets, proxy=proxy)
    models = torch.arange(len(generators)).unsqueeze(-1)
    order = torch.stack([torch.randperm(scores.shape[-1], generator=generator) for generator in generators])
    inputs, targets, scores = (tensor[models, order] for tensor in (train.inputs, train.targets, scores))
    is_augmented = torch.zeros_like(targets, dtype=torch.bool)
    kept: list[tuple[Tensor, Tensor]] = []
    for start in range(0, targets.shape[-1], batch_size):
        rows = slice(start, start + batch_size)
        batch = Batch(model(inputs[:, rows]), targets[:, rows], scores[:, rows], is_augmented[:, rows], priors)
        losses = method.losses(batch)
        with torch.no_grad():
            weights = method.weights(batch, progress)
        optimiser.zero_grad(set_to_none=True)
        (weights * losses).mean(-1).sum().backward()
        optimiser.step()
        kept.append((losses.detach(), weights))
    losses, weights = (torch.cat(parts, dim=-1) for parts in zip(*kept, strict=True))
    return losses, weights, targets


def _stack(splits: Sequence[Split], dtype: torch.dtype) -> _StackedSplit:
    return _StackedSplit(
        torch.from_numpy(np.stack([split.inputs for split in splits])).to(dtype),
        torch.from_numpy(np.stack([split.targets for split in splits])),
    )


def _linear(inputs: int, outputs: int, generator: torch.Generator, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    bound = 1 / math.sqrt(inputs)
    weight, bias = (
        torch.empty(shape).uniform_(-bound, bound, generator=generator).to(dtype)
        for shape in ((inputs, outputs), (1, outputs))
    )
    return weight, bias
