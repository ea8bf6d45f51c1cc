"""Two models to measure on, as functions of their parameters: eight stacked perceptrons, and a small ConvNeXt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import timm
import torch
from torch import Tensor
from torch.func import functional_call

from fossil.config.studies import PAPER_SEEDS
from fossil.config.synthetic import SyntheticScenario
from fossil.data.synthetic import Split, make_synthetic
from fossil.hypergradient.problem import BilevelProblem, Chunk, Vector
from fossil.likelihood import cross_entropy
from fossil.training.perceptron import StackedPerceptron, activations


@dataclass(frozen=True)
class Samples:
    """Inputs, whose axis after those of the stack counts samples, and classes of shape (..., n)."""

    inputs: Tensor
    targets: Tensor

    @property
    def index(self) -> Tensor:
        return torch.arange(self.targets.shape[-1], device=self.targets.device).expand_as(self.targets)


@dataclass(frozen=True)
class Problem:
    """A model, its training and its validation samples.

    Attributes
    ----------
    parameters : tuple of Tensor
        They require gradients; the first ``stack`` axes count models.
    logits : callable
        From parameters and inputs to logits.
    split : callable
        From parameters and inputs to the last layer's parameters and inputs.
    head : callable
        From the last layer's parameters and inputs to logits.
    """

    name: str
    parameters: Vector
    logits: Callable[[Vector, Tensor], Tensor]
    split: Callable[[Tensor], tuple[Vector, Tensor]]
    head: Callable[[Vector, Tensor], Tensor]
    train: Samples
    validation: Samples
    stack: int

    def losses(self, parameters: Vector, samples: Samples) -> Tensor:
        """Per-sample cross-entropy, shape (..., n)."""
        return cross_entropy(self.logits(parameters, samples.inputs), samples.targets)

    def bilevel(self) -> BilevelProblem:
        """All samples as functions of all parameters."""
        return self._bilevel(self.parameters, self.logits, [self.train, self.validation])

    def bilevel_of_head(self) -> BilevelProblem:
        """All samples as functions of the last layer's parameters, with the features computed once."""
        split = [(self.split(samples.inputs), samples.targets) for samples in (self.train, self.validation)]
        return self._bilevel(split[0][0][0], self.head, [Samples(inputs, targets) for (_, inputs), targets in split])

    def _bilevel(
        self, parameters: Vector, logits: Callable[[Vector, Tensor], Tensor], samples: list[Samples]
    ) -> BilevelProblem:
        def part(own: Samples) -> Chunk:
            return Chunk(lambda at: cross_entropy(logits(at, own.inputs), own.targets), own.index)

        given = tuple(p.detach() for p in parameters)
        return BilevelProblem(given, [part(samples[0])], [part(samples[1])], stack=self.stack)


def make_perceptrons(*, dtype: torch.dtype, device: torch.device, rows: int | None = None) -> Problem:
    """Eight perceptrons 20-64-64-1, one a seed, and ``rows`` training and validation samples, or all 2040 and 360."""
    data = [make_synthetic(SyntheticScenario(), seed=seed) for seed in PAPER_SEEDS]
    train, validation = (
        _stack([getattr(item, name) for item in data], dtype, device, rows) for name in ("train", "validation")
    )
    generators = [torch.Generator().manual_seed(seed) for seed in PAPER_SEEDS]
    model = StackedPerceptron([train.inputs.shape[-1], 64, 64, 1], generators, dtype=dtype)
    parameters = tuple(p.detach().to(device).requires_grad_() for p in model.parameters())

    def logits(at: Vector, inputs: Tensor) -> Tensor:
        return activations(at, inputs)[-1]

    def split(inputs: Tensor) -> tuple[Vector, Tensor]:
        with torch.no_grad():
            return parameters[-2:], activations(parameters, inputs)[-2]

    return Problem(
        f"{len(data)} perceptrons 20-64-64-1, {str(dtype).removeprefix('torch.')}",
        parameters,
        logits,
        split,
        logits,
        train,
        validation,
        stack=1,
    )


def make_convnext(*, rows: int, device: torch.device, backbone: str = "convnext_atto", size: int = 64) -> Problem:
    """A ConvNeXt from chance in evaluation mode, and random images, ``rows`` each to train and to validate."""
    torch.manual_seed(0)
    model = timm.create_model(backbone, pretrained=False, num_classes=1).to(device).eval()
    names = [name for name, _ in model.named_parameters()]
    last = model.get_classifier()

    def split(inputs: Tensor) -> tuple[Vector, Tensor]:
        with torch.no_grad():
            return tuple(last.parameters()), model.forward_head(model.forward_features(inputs), pre_logits=True)

    return Problem(
        f"{backbone}, {size} pixels, float32",
        tuple(model.parameters()),
        lambda parameters, inputs: functional_call(model, dict(zip(names, parameters, strict=True)), (inputs,)),
        split,
        lambda parameters, inputs: torch.nn.functional.linear(inputs, *parameters),
        _random_images(rows, size, device),
        _random_images(rows, size, device),
        stack=0,
    )


def _random_images(rows: int, size: int, device: torch.device) -> Samples:
    pixels = torch.randn(rows, 3, size, size).contiguous(memory_format=torch.channels_last)
    return Samples(pixels.to(device), torch.randint(2, (rows,)).to(device))


def _stack(splits: list[Split], dtype: torch.dtype, device: torch.device, rows: int | None) -> Samples:
    return Samples(
        torch.from_numpy(np.stack([split.inputs[:rows] for split in splits])).to(device, dtype),
        torch.from_numpy(np.stack([split.targets[:rows] for split in splits])).to(device),
    )
