"""Algorithm 1 for a training loop of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from fossil.config import BilevelOptions
from fossil.hypergradient import Solution
from fossil.hypergradient.functional import ModelFunction, function_of, plain_module, submodule
from fossil.hypergradient.problem import BilevelProblem, Part
from fossil.hypergradient.upper_level import BilevelWeights
from fossil.library import checks
from fossil.likelihood import cross_entropy
from fossil.runtime.logs import logger

Loss = Callable[[Tensor, Tensor], Tensor]
_TRAIN, _VALIDATION = ("inputs", "targets", "index"), ("inputs", "targets")


def binary_or_multiclass(logits: Tensor, targets: Tensor) -> Tensor:
    """Per-sample cross-entropy in nats, shape (n,), of logits (n, K), or (n,) or (n, 1) for two classes.

    Raises
    ------
    ValueError
        If the targets are not integers from 0 to K - 1.
    """
    checks.check_integers(targets, "targets")
    classes = logits.shape[-1] if logits.dim() == 2 and logits.shape[-1] > 1 else 2
    checks.check_labels(targets, classes, "the logits say")
    return cross_entropy(logits.unsqueeze(-1) if logits.dim() == 1 else logits, targets)


class FossilBilevel:
    """A learned weight and, for augmented copies, a penalty of every training sample (Algorithm 1).

    Call it with the places of a batch's samples in the training set, and let it take a step along the hypergradient of
    the validation loss after each epoch. The passes of a step leave the model as it was: they run in evaluation mode,
    without autocast and at least in float32, and touch neither parameters, nor gradients, nor running statistics.

    Parameters
    ----------
    model : nn.Module
        The model that is trained; one wrapped for DDP or compiled is unwrapped. Parameters that need no gradient do not
        count.
    train_size : int
        N, the number of training samples.
    options : BilevelOptions
        Steps, momentum and linear solver; the paper's unless given.
    start : Tensor, shape (N,)
        First weights up to their scale, such as ``FossilWeights`` of the whole training set; equal by default.
    is_augmented : Tensor of bool, shape (N,)
        Samples that are augmented copies, which have a penalty; none by default.
    head : str
        Name of a submodule whose output is the model's, such as "fc". Only its parameters count then, and what enters
        it is computed once a step: much cheaper, and the usual choice for a deep network.
    loss : callable
        From logits and targets of n samples to n losses; by default cross-entropy, also for one logit.

    Raises
    ------
    ValueError
        If an argument is not so; the message names it.
    """

    def __init__(
        self,
        model: nn.Module,
        train_size: int,
        *,
        options: BilevelOptions | None = None,
        start: Tensor | None = None,
        is_augmented: Tensor | None = None,
        head: str | None = None,
        loss: Loss = binary_or_multiclass,
    ) -> None:
        self._model = plain_module(model)
        self._head = None if head is None else submodule(self._model, head)
        self._loss = loss
        device = function_of(self._model, self._head).device
        size = checks.check_positive_integer(train_size, "train_size")
        first = torch.ones(size) if start is None else start.detach()
        copies = torch.zeros(size, dtype=torch.bool) if is_augmented is None else is_augmented
        for values, name in ((first, "start"), (copies, "is_augmented")):
            if values.shape != (size,):
                raise ValueError(f"{name}: expected shape ({size},), as train_size says, got {tuple(values.shape)}")
        if first.is_floating_point():
            first = first.to(torch.promote_types(first.dtype, torch.float32))
        checks.check_options(options, BilevelOptions)
        self._upper = BilevelWeights(first.to(device), copies.to(device), options=options)

    @property
    def weights(self) -> Tensor:
        """Weights N w of all training samples, shape (N,), of mean 1."""
        return self._upper.weights

    @property
    def penalties(self) -> Tensor:
        """Penalties lambda of all training samples, shape (N,); 0 for those that are no augmented copies."""
        return self._upper.penalties

    @property
    def last(self) -> Solution | None:
        """What the linear solver did in the last step."""
        return self._upper.last

    def __call__(self, index: Tensor) -> Tensor:
        """N w_i (1 - lambda_i 1{i in A}) of the samples at an index of shape (n,), without gradient.

        Raises
        ------
        ValueError
            If the index is not of integers of shape (n,) from 0 to N - 1.
        """
        checks.check_integers(index, "index")
        checks.check_index(index, len(self.weights))
        return self._upper(index.to(self.weights.device).long())

    def update(
        self,
        train_batches: Iterable[Sequence[Tensor]],
        validation_batches: Iterable[Sequence[Tensor]],
        *,
        curvature_batches: int | None = None,
    ) -> None:
        """Take one step of weights and penalties.

        Batches are read once and kept, as they are or, with a head, as its inputs, since the solver passes over them
        several times; what a pass needs beside is bounded by a batch.

        Parameters
        ----------
        train_batches : iterable of (inputs, targets, index)
            Every training sample once, in any order, such as a DataLoader. In DDP every process reads all of them.
        validation_batches : iterable of (inputs, targets)
            Samples that the model is not trained on.
        curvature_batches : int
            So many of the first training batches stand for the curvature of all; all of them unless given. The loader
            must then shuffle. It saves most of the time: with all, each step of the solver is as dear as an epoch.

        Raises
        ------
        ValueError
            If a batch is not so, or an index is missing, doubled or outside; the weights are then what they were.
        FloatingPointError
            If the hypergradient is not finite; the weights are then what they were.
        """
        if curvature_batches is not None:
            checks.check_positive_integer(curvature_batches, "curvature_batches")
        device = self.weights.device.type
        with _evaluating(self._model), torch.autocast(device, enabled=False):
            function = function_of(self._model, self._head)
            train = [
                (function.prepare(inputs), targets, index)
                for inputs, targets, index in _read(train_batches, "train_batches", _TRAIN)
            ]
            validation = [
                (function.prepare(inputs), targets)
                for inputs, targets in _read(validation_batches, "validation_batches", _VALIDATION)
            ]
            checks.check_coverage([index for _, _, index in train], len(self.weights))
            parts = [self._part(function, *batch) for batch in train]
            problem = BilevelProblem(
                function.parameters,
                parts,
                [self._part(function, *batch, torch.arange(len(batch[1]))) for batch in validation],
                curvature=parts[:curvature_batches] if curvature_batches else (),
            )
            self._upper.update(problem)
        self._log()

    def state_dict(self) -> dict[str, Tensor]:
        """Return what a checkpoint must hold beside the model; ``torch.load(..., weights_only=True)`` reads it."""
        return self._upper.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state of ``state_dict``.

        Raises
        ------
        ValueError
            If a tensor is missing, unknown or of another shape.
        """
        self._upper.load_state_dict(state)

    def _part(self, function: ModelFunction, inputs: Tensor, targets: Tensor, index: Tensor) -> Part:
        def losses(parameters: tuple[Tensor, ...]) -> Tensor:
            own = targets.to(function.device)
            found = self._loss(function(parameters, inputs), own)
            if found.shape != (len(own),):
                raise ValueError(
                    f"loss: expected one loss for each of {len(own)} samples, got shape {tuple(found.shape)}; "
                    'a loss of torch gives them with reduction="none"'
                )
            return found

        return Part(losses, index.to(function.device).long())

    def _log(self) -> None:
        solved = self.last
        if solved is not None:
            logger.info(
                "bilevel step: solver took %d iterations to a relative residual of %.1e%s",
                solved.iterations.item(),
                solved.residual.item(),
                " and stopped at non-positive curvature" if solved.negative_curvature.item() else "",
            )


def _read(batches: Iterable[Sequence[Tensor]], name: str, what: Sequence[str]) -> Iterator[tuple[Tensor, ...]]:
    """Read and check batches, of which there must be one."""
    empty = True
    for batch in batches:
        empty = False
        yield checks.check_batch(batch, name, what)
    if empty:
        raise ValueError(f"{name}: there are no batches; an iterator, unlike a DataLoader, can be read only once")


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Set evaluation mode, then each module as it was."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
