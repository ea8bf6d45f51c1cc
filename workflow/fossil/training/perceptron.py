"""Multilayer perceptrons stacked along a leading axis: as functions of their parameters, and in training.

In training, products go through NumPy: on stacks of small float64 matrices its BLAS takes half the time of torch's, and
gradients by hand spare autograd's bookkeeping. Together they train a stack in half the time. What is differentiated
twice or in forward mode stays with torch (``activations``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from fossil.hypergradient.problem import Vector


def matmul(left: Tensor, right: Tensor, into: Tensor) -> None:
    """Multiply two stacks of matrices into a third; the training loop checks what is not finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        np.matmul(left.numpy(), right.numpy(), out=into.numpy())


class Workspace:
    """Arrays that products write into, one for each name and shape: fresh ones cost a quarter of a training step.

    What was written under a name is overwritten by the next product of that name and shape.
    """

    def __init__(self) -> None:
        self._arrays: dict[tuple[str, int, tuple[int, ...]], Tensor] = {}

    def product(self, left: Tensor, right: Tensor, name: str, place: int) -> Tensor:
        """Multiply two stacks of matrices into the array of this name and place."""
        shape = (*left.shape[:-1], right.shape[-1])
        key = (name, place, shape)
        if key not in self._arrays:
            self._arrays[key] = torch.empty(shape, dtype=left.dtype)
        matmul(left, right, self._arrays[key])
        return self._arrays[key]


class StackedPerceptron:
    """M perceptrons with ReLU and one logit, of shape inputs-hidden-...-1.

    Initialised as torch.nn.Linear is, each model from its own generator, in float32 whatever the type, so that the type
    does not choose another start.

    Attributes
    ----------
    flat : Tensor, shape (P,)
        All parameters of all models, one after another, which an optimiser steps as one; its ``grad`` is always there,
        and ``backward`` fills it.
    """

    def __init__(self, widths: Sequence[int], generators: Sequence[torch.Generator], *, dtype: torch.dtype) -> None:
        models = [[_linear(i, o, generator) for i, o in pairwise(widths)] for generator in generators]
        layers = [torch.stack(parts) for layer in zip(*models, strict=True) for parts in zip(*layer, strict=True)]
        self._shapes = [layer.shape for layer in layers]
        self.flat = torch.cat([layer.flatten() for layer in layers]).to(dtype)
        self.flat.grad = torch.zeros_like(self.flat)
        self._parameters = self._views(self.flat)
        self._gradients = self._views(self.flat.grad)
        self._workspace = Workspace()

    def parameters(self) -> list[Tensor]:
        """Return weights of shape (M, in, out) and biases of shape (M, 1, out), layer by layer."""
        return list(self._parameters)

    def __call__(self, inputs: Tensor) -> Tensor:
        """Compute logits of shape (M, n, 1) from inputs of shape (M, n, features)."""
        parts = [self.forward(part)[-1].clone() for part in inputs.split(_ROWS_IN_CACHE, dim=1)]
        return torch.cat(parts, dim=1)

    def forward(self, inputs: Tensor) -> list[Tensor]:
        """Compute what ``forward`` does; the next call for as many samples overwrites it."""
        return forward(self._parameters, inputs, self._workspace)

    def backward(self, inputs: Tensor, outputs: Sequence[Tensor], logit_grad: Tensor) -> None:
        """Write the gradient by the parameters into ``flat.grad``; arguments as of ``backward``."""
        backward(self._parameters, inputs, outputs, logit_grad, self._workspace, into=self._gradients)

    def _views(self, flat: Tensor) -> list[Tensor]:
        sizes = [shape.numel() for shape in self._shapes]
        return [part.view(shape) for part, shape in zip(flat.split(sizes), self._shapes, strict=True)]


_ROWS_IN_CACHE = 64


def activations(parameters: Sequence[Tensor], inputs: Tensor) -> list[Tensor]:
    """Compute the outputs of every layer at parameters in the order of ``StackedPerceptron.parameters``.

    Returns
    -------
    list of Tensor
        Hidden layers of shape (M, n, width), then the logits, shape (M, n, 1); they have a graph where the parameters
        have one.
    """
    outputs: list[Tensor] = []
    layers = list(zip(parameters[::2], parameters[1::2], strict=True))
    for place, (weight, bias) in enumerate(layers):
        inputs = torch.baddbmm(bias, inputs, weight)
        inputs = inputs.relu() if place + 1 < len(layers) else inputs
        outputs.append(inputs)
    return outputs


def forward(parameters: Sequence[Tensor], inputs: Tensor, workspace: Workspace) -> list[Tensor]:
    """Compute what ``activations`` does, without a graph, in a workspace."""
    outputs: list[Tensor] = []
    layers = list(zip(parameters[::2], parameters[1::2], strict=True))
    for place, (weight, bias) in enumerate(layers):
        inputs = workspace.product(inputs, weight, "outputs", place).add_(bias)
        outputs.append(inputs.relu_() if place + 1 < len(layers) else inputs)
    return outputs


def backward(
    parameters: Sequence[Tensor],
    inputs: Tensor,
    outputs: Sequence[Tensor],
    logit_grad: Tensor,
    workspace: Workspace,
    *,
    into: Sequence[Tensor] | None = None,
) -> Vector:
    """Compute the parameters' gradient of a sum over samples from its derivatives by the logits.

    Parameters
    ----------
    inputs : Tensor, shape (M, n, features)
    outputs : sequence of Tensor
        What ``forward`` returned.
    logit_grad : Tensor, shape (M, n, 1)
        Derivative of the sum by each logit.
    into : sequence of Tensor, or None
        Where to put the gradient; None for new tensors.
    """
    gradient = [torch.empty_like(parameter) for parameter in parameters] if into is None else into
    for place, layer_grad in enumerate(passed_back(parameters, outputs, logit_grad, workspace)):
        below = outputs[place - 1] if place else inputs
        matmul(below.mT, layer_grad, gradient[2 * place])
        torch.sum(layer_grad, 1, keepdim=True, out=gradient[2 * place + 1])
    return tuple(gradient)


def passed_back(
    parameters: Sequence[Tensor], outputs: Sequence[Tensor], logit_grad: Tensor, workspace: Workspace
) -> list[Tensor]:
    """Compute derivatives by each layer's output before its ReLU, shape (M, n, width), from those by the logits."""
    layer_grads = [logit_grad]
    for place in reversed(range(1, len(outputs))):
        weight = parameters[2 * place].mT
        outer = layer_grads[0].shape[-1] == 1
        passed = layer_grads[0] * weight if outer else workspace.product(layer_grads[0], weight, "logit_grad", place)
        layer_grads.insert(0, torch.ops.aten.threshold_backward(passed, outputs[place - 1], 0))
    return layer_grads


def logits_changes(
    parameters: Sequence[Tensor],
    inputs: Tensor,
    outputs: Sequence[Tensor],
    tangent: Sequence[Tensor],
    workspace: Workspace,
) -> list[Tensor]:
    """Differentiate the outputs of every layer in a direction of the parameters, from outputs that are known.

    What ``per_sample_jvp`` does, without its forward pass.

    Parameters
    ----------
    outputs : sequence of Tensor
        What ``forward`` returned.
    tangent : sequence of Tensor
        The direction, of the parameters' shapes.

    Returns
    -------
    list of Tensor
        Of the shapes of ``outputs``.
    """
    changes: list[Tensor] = []
    layers = zip(parameters[::2], tangent[::2], tangent[1::2], outputs, strict=True)
    for place, (weight, weight_change, bias_change, output) in enumerate(layers):
        change = workspace.product(inputs, weight_change, "change", place).add_(bias_change)
        if place:
            change.add_(workspace.product(changes[-1], weight, "change passed on", place))
        last = place + 1 == len(outputs)
        changes.append(change if last else torch.ops.aten.threshold_backward(change, output, 0))
        inputs = output
    return changes


def _linear(inputs: int, outputs: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    bound = 1 / math.sqrt(inputs)
    weight, bias = (
        torch.empty(shape).uniform_(-bound, bound, generator=generator) for shape in ((inputs, outputs), (1, outputs))
    )
    return weight, bias
