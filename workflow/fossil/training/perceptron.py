"""Multilayer perceptrons stacked along a leading axis, and the same as functions of their parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor


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
        return perceptron(self.parameters(), inputs)


def perceptron(parameters: Sequence[Tensor], inputs: Tensor) -> Tensor:
    """Compute the logits of stacked perceptrons with parameters in the order of ``StackedPerceptron.parameters``."""
    return head(parameters[-2:], features(parameters[:-2], inputs))


def features(parameters: Sequence[Tensor], inputs: Tensor) -> Tensor:
    """Compute the outputs of the hidden layers, shape (M, n, width)."""
    for weight, bias in zip(parameters[::2], parameters[1::2], strict=True):
        inputs = torch.baddbmm(bias, inputs, weight).relu()
    return inputs


def head(parameters: Sequence[Tensor], inputs: Tensor) -> Tensor:
    """Compute the logits from the outputs of the hidden layers."""
    weight, bias = parameters
    return torch.baddbmm(bias, inputs, weight)


def _linear(inputs: int, outputs: int, generator: torch.Generator, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    bound = 1 / math.sqrt(inputs)
    weight, bias = (
        torch.empty(shape).uniform_(-bound, bound, generator=generator).to(dtype)
        for shape in ((inputs, outputs), (1, outputs))
    )
    return weight, bias
