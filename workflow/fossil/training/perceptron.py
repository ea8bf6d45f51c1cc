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
        return activations(self.parameters(), inputs)[-1]


def activations(parameters: Sequence[Tensor], inputs: Tensor) -> list[Tensor]:
    """Compute the outputs of every layer at parameters in the order of ``StackedPerceptron.parameters``.

    Returns
    -------
    list of Tensor
        Hidden layers of shape (M, n, width), then the logits, shape (M, n, 1).
    """
    outputs: list[Tensor] = []
    layers = list(zip(parameters[::2], parameters[1::2], strict=True))
    for place, (weight, bias) in enumerate(layers):
        inputs = torch.baddbmm(bias, inputs, weight)
        inputs = inputs.relu() if place + 1 < len(layers) else inputs
        outputs.append(inputs)
    return outputs


@torch.no_grad()
def logits_derivative(
    parameters: Sequence[Tensor], inputs: Tensor, outputs: Sequence[Tensor], tangent: Sequence[Tensor]
) -> Tensor:
    """Differentiate the logits of every sample in a direction of the parameters, from outputs that are known.

    What ``per_sample_jvp`` gives, without its forward pass.

    Parameters
    ----------
    outputs : sequence of Tensor
        What ``activations`` gave.
    tangent : sequence of Tensor
        The direction, of the parameters' shapes.

    Returns
    -------
    Tensor, shape (M, n, 1)
    """
    change = None
    layers = zip(parameters[::2], tangent[::2], tangent[1::2], outputs, strict=True)
    for weight, weight_change, bias_change, output in layers:
        ahead = torch.baddbmm(bias_change, inputs, weight_change)
        change = ahead if change is None else ahead.baddbmm_(change, weight)
        if output is not outputs[-1]:
            change *= output > 0
        inputs = output
    return change


def _linear(inputs: int, outputs: int, generator: torch.Generator, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    bound = 1 / math.sqrt(inputs)
    weight, bias = (
        torch.empty(shape).uniform_(-bound, bound, generator=generator).to(dtype)
        for shape in ((inputs, outputs), (1, outputs))
    )
    return weight, bias
