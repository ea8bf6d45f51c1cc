"""Algorithm 1 for your own training loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from fossil.config.methods.fossil_bilevel import BilevelOptions
from fossil.hypergradient import Solution
from fossil.hypergradient.functional import ModelFunction, function_of, plain_module, submodule
from fossil.hypergradient.problem import BilevelProblem, Chunk
from fossil.hypergradient.upper_level import BilevelWeights
from fossil.library import checks
from fossil.likelihood import cross_entropy
from fossil.runtime.logs import logger

Loss = Callable[[Tensor, Tensor], Tensor]
_TRAIN, _VALIDATION = ("inputs", "targets", "index"), ("inputs", "targets")


def binary_or_multiclass(logits: Tensor, targets: Tensor) -> Tensor:
    """Compute per-sample cross-entropy in nats, shape (n,), of logits (n, K), or (n,) or (n, 1) for two classes.

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
    """Learned weights of training samples and penalties of augmented copies (Algorithm 1).

    Call it with the index of a batch's samples in the training set. After each epoch, ``update`` takes a step along the
    hypergradient of the validation loss. An update leaves the model unchanged: it runs in evaluation mode, without
    autocast, at least in float32, and touches no parameter, gradient or running statistic.

    Parameters
    ----------
    model : nn.Module
        The trained model, unwrapped where it is compiled or wrapped for DDP. Parameters without gradient do not count.
    train_size : int
        N, the number of training samples.
    options : BilevelOptions
        Step sizes, momentum and linear solver; by default the paper's.
    start : Tensor, shape (N,)
        Initial weights up to their scale, such as ``FossilWeights`` of the whole training set; equal by default.
    is_augmented : Tensor of bool, shape (N,)
        Which samples are augmented copies, and so have a penalty; none by default.
    head : str
        Name of a submodule whose output is the model's, such as "fc". Only its parameters count then, and its inputs
        are computed once per update: much cheaper, and the usual choice for a deep network.
    loss : callable
        Maps logits and targets of n samples to n losses; by default cross-entropy, also for one logit.

    Raises
    ------
    ValueError
        If an argument has another type, shape or range; the message names it.
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
        """Return the weights N w of all training samples, shape (N,), of mean 1."""
        return self._upper.weights

    @property
    def penalties(self) -> Tensor:
        """Return the penalties lambda of all training samples, shape (N,); 0 for originals."""
        return self._upper.penalties

    @property
    def last(self) -> Solution | None:
        """Return what the linear solver did in the last update, or None before the first."""
        return self._upper.last

    def __call__(self, index: Tensor) -> Tensor:
        """Return N w_i (1 - lambda_i 1{i in A}) for the samples at an index of shape (n,), without gradient.

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
        """Update weights and penalties by one step.

        The batches, or with a head its inputs, stay in memory, because the solver passes over them several times. Other
        memory is bounded by one batch.

        Parameters
        ----------
        train_batches : iterable of (inputs, targets, index)
            Every training sample once, in any order, such as a DataLoader. In DDP every process reads all of them.
        validation_batches : iterable of (inputs, targets)
            Samples that the model is not trained on.
        curvature_batches : int
            How many of the first training batches give the Hessian; all by default. The loader must then shuffle. Few
            batches save most of the time: with all, each step of the solver costs as much as an epoch.

        Raises
        ------
        ValueError
            If a batch has another form, or an index is missing, doubled or out of range; the weights stay unchanged.
        FloatingPointError
            If the hypergradient is not finite; the weights stay unchanged.
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
        """Return the state for a checkpoint; ``torch.load(..., weights_only=True)`` reads it."""
        return self._upper.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a state of ``state_dict``.

        Raises
        ------
        ValueError
            If a tensor is missing, unknown or of another shape.
        """
        self._upper.load_state_dict(state)

    def _part(self, function: ModelFunction, inputs: Tensor, targets: Tensor, index: Tensor) -> Chunk:
        def losses(parameters: tuple[Tensor, ...]) -> Tensor:
            labels = targets.to(function.device)
            values = self._loss(function(parameters, inputs), labels)
            if values.shape != (len(labels),):
                raise ValueError(
                    f"loss: expected one loss for each of {len(labels)} samples, got shape {tuple(values.shape)}; "
                    'a loss of torch gives them with reduction="none"'
                )
            return values

        return Chunk(losses, index.to(function.device).long())

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
    """Yield checked batches; raise an error if none comes."""
    empty = True
    for batch in batches:
        empty = False
        yield checks.check_batch(batch, name, what)
    if empty:
        raise ValueError(f"{name}: there are no batches; an iterator, unlike a DataLoader, can be read only once")


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Set evaluation mode, then restore the mode of each module."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
