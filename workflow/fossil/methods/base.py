"""The interface of weighting methods: from samples and progress to per-sample losses and weights.

Weights are asked for once an epoch, for all training samples, unless a method says that it needs the model's outputs
for them. A method that learns its weights also has hooks, which the training loops call: ``start`` once,
``before_epoch`` with all training samples, ``before_step`` with the batch and the model as a function of its
parameters, ``after_epoch`` with the whole bilevel problem. By default they do nothing. What such a method has learned
goes into checkpoints by ``state_dict`` and ``load_state_dict``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from fossil.config.methods.base import MethodOptions, NoOptions
from fossil.hypergradient.problem import BilevelProblem, Vector
from fossil.likelihood import cross_entropy


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Training samples, for one model or, with leading axes, for a stack of models.

    Attributes
    ----------
    targets : Tensor of int64, shape (..., n)
        Class indices.
    difficulty : Tensor, shape (..., n)
        Scores in [0, 1].
    is_augmented : Tensor of bool, shape (..., n)
        Whether a row is an augmented copy (the paper's set A).
    class_counts : Tensor, shape (..., K)
        How many training samples each class has, as far as priors count them.
    index : Tensor of int64, shape (..., n)
        Place of each sample in the training table, from 0 to N - 1.
    """

    targets: Tensor
    difficulty: Tensor
    is_augmented: Tensor
    class_counts: Tensor
    index: Tensor

    @property
    def classes(self) -> int:
        """Return the number of classes K."""
        return self.class_counts.shape[-1]

    @property
    def class_priors(self) -> Tensor:
        """Compute the shares of the classes, shape (..., K)."""
        return self.class_counts / self.class_counts.sum(-1, keepdim=True)

    def of_class(self, values: Tensor) -> Tensor:
        """Return the value of each sample's class, shape (..., n), from values of shape (..., K)."""
        return values.gather(-1, self.targets)


@dataclass(frozen=True, kw_only=True)
class Batch(Samples):
    """Training samples and the model's outputs for them, valid until the step is done.

    Attributes
    ----------
    logits : Tensor, shape (..., n, c)
        c = 1 for a binary problem with one logit, else one logit a class.
    """

    logits: Tensor


@dataclass(frozen=True)
class Progress:
    """The progress of training: epoch t, counted from 0, of T epochs."""

    epoch: int
    epochs: int

    @property
    def fraction(self) -> float:
        """Return t/T."""
        return self.epoch / self.epochs


@dataclass(frozen=True)
class Lookahead:
    """The model as a function of its parameters, at a step.

    Attributes
    ----------
    parameters : tuple of Tensor
        The parameters that the batch's logits depend on; leading axes count the models of a stack.
    learning_rate : float
        Of the optimiser.
    gradient : callable
        From weights w, shape (..., n), to the gradient of mean_i w_i l_i on the batch by the parameters.
    derivative : callable
        From a direction v to the derivative <v, grad l_i> of each sample's loss, shape (..., n).
    validation_gradient : callable
        From parameters and a number of samples to the mean cross-entropy on so many newly drawn validation samples,
        shape (...), and its gradient by the parameters.
    """

    parameters: Vector
    learning_rate: float
    gradient: Callable[[Tensor], Vector]
    derivative: Callable[[Vector], Tensor]
    validation_gradient: Callable[[Vector, int], tuple[Tensor, Vector]]


ParameterSet = Literal["all", "head"]
MakeProblem = Callable[[ParameterSet | None, int | None], BilevelProblem]
"""Makes the bilevel problem of all samples from the parameters that count (None: the training loop's choice) and the
number of training samples, drawn at random, whose curvature is taken (None: all)."""


class Method:
    """A weighting method: cross-entropy with equal weights unless a subclass says otherwise.

    With ``weights_each_step`` weights are computed at each step, from the batch; otherwise once per epoch, after
    ``before_epoch``.
    """

    weights_each_step: ClassVar[bool] = False
    options_type: ClassVar[type[MethodOptions]] = NoOptions

    def __init__(self, options: Any) -> None:
        self.options = options

    @property
    def uses_difficulty(self) -> bool:
        """Return whether its weights depend on difficulty."""
        return self.options_type.uses_difficulty

    def losses(self, batch: Batch) -> Tensor:
        """Compute per-sample losses, shape (..., n)."""
        return cross_entropy(batch.logits, batch.targets)

    def weights(self, samples: Samples, progress: Progress) -> Tensor:
        """Compute per-sample weights, shape (..., n), non-negative and without gradient."""
        return torch.ones_like(samples.difficulty)

    def start(
        self, generators: Sequence[torch.Generator], *, stacked: bool, dtype: torch.dtype, device: torch.device
    ) -> None:
        """Prepare for a new training.

        Parameters
        ----------
        generators : sequence of torch.Generator
            One a model, on the CPU; they are the method's own, so that drawing from them changes nothing else.
        stacked : bool
            Whether tensors have a leading axis that counts the models; otherwise there is one model.
        """

    def before_epoch(self, samples: Samples, progress: Progress) -> None:
        """Observe all training samples, in the order of their table."""

    def before_step(self, batch: Batch, losses: Tensor, lookahead: Lookahead) -> None:
        """Observe a batch and its losses, whose graph must stay, before its weights are computed."""

    def after_epoch(self, make_problem: MakeProblem, progress: Progress) -> None:
        """Observe the training and validation samples after an epoch."""

    def report(self) -> dict[str, Tensor]:
        """Return the method's values for the epoch's history, each of shape (...)."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return the state that resumes training: tensors, numbers and texts in dicts and lists.

        It may be asked for after any step. What ``before_epoch`` makes for ``weights`` is needed only by a method that
        gives weights at each step, since an epoch's weights are kept themselves.
        """
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a state of ``state_dict``, whose tensors are on the device, after ``start``."""


def method_class(target: str) -> type[Method]:
    """Import a method's class from its place, "module:Class"."""
    module, name = target.split(":")
    return getattr(importlib.import_module(module), name)


def make_method(target: str, options: Mapping[str, Any]) -> Method:
    """Make a method from its place, "module:Class", and its options.

    Raises
    ------
    pydantic.ValidationError
        If an option is unknown, missing in type or out of range.
    """
    cls = method_class(target)
    return cls(cls.options_type.model_validate(dict(options)))
