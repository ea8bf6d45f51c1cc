"""Closed forms of a stack of perceptrons' cross-entropy: gradient, Hessian product and per-sample derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from fossil.hypergradient.problem import ClosedForms, Vector
from fossil.training.perceptron import Workspace, backward, forward, logits_changes, matmul, passed_back


def cross_entropy_forms(parameters: Vector, inputs: Tensor, targets: Tensor, workspace: Workspace) -> ClosedForms:
    """Find the derivatives of the cross-entropy of each sample by the parameters.

    Parameters
    ----------
    inputs : Tensor, shape (M, n, features)
    targets : Tensor of int64, shape (M, n)
    workspace : Workspace
        Shared with what runs in turns with it; outputs of the perceptrons are kept apart from it.
    """
    outputs = forward(parameters, inputs, Workspace())
    probabilities = outputs[-1].sigmoid()
    errors = probabilities - targets.unsqueeze(-1)

    def gradient(coefficients: Tensor) -> Vector:
        return backward(parameters, inputs, outputs, errors * coefficients.unsqueeze(-1), workspace)

    def curvature(coefficients: Tensor) -> Callable[[Vector], Vector]:
        weighted = coefficients.unsqueeze(-1)
        bends = weighted * probabilities * (1 - probabilities)
        slopes = passed_back(parameters, outputs, weighted * errors, Workspace())
        return lambda v: _hessian_product(parameters, inputs, outputs, slopes, bends, v, workspace)

    def derivative(direction: Vector) -> Tensor:
        changes = logits_changes(parameters, inputs, outputs, direction, workspace)
        return (errors * changes[-1]).squeeze(-1)

    return ClosedForms(gradient, curvature, derivative)


def _hessian_product(
    parameters: Vector,
    inputs: Tensor,
    outputs: Sequence[Tensor],
    slopes: Sequence[Tensor],
    bends: Tensor,
    direction: Vector,
    workspace: Workspace,
) -> Vector:
    """Differentiate the gradient in a direction (Pearlmutter 1994).

    ``slopes`` are the first derivatives by what each layer gives before its ReLU, and ``bends``, shape (M, n, 1), the
    second derivatives by the logits.
    """
    changes = logits_changes(parameters, inputs, outputs, direction, workspace)
    slope_change = bends * changes[-1]
    found: list[Tensor] = []
    for place in reversed(range(len(outputs))):
        below = outputs[place - 1] if place else inputs
        by_weight = torch.empty_like(parameters[2 * place])
        matmul(below.mT, slope_change, by_weight)
        if place:
            by_weight += workspace.product(changes[place - 1].mT, slopes[place], "by weight", place)
        found += [slope_change.sum(1, keepdim=True), by_weight]
        if place:
            passed = workspace.product(slope_change, parameters[2 * place].mT, "slope change", place)
            passed += workspace.product(slopes[place], direction[2 * place].mT, "slope by weight", place)
            slope_change = torch.ops.aten.threshold_backward(passed, below, 0)
    return tuple(reversed(found))
