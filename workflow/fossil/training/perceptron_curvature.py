"""Closed forms of a stack of perceptrons' cross-entropy: gradient, Hessian product and per-sample derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from fossil.hypergradient.problem import ClosedForms, Vector
from fossil.training.perceptron import Workspace, backward, forward, logits_changes, matmul, passed_back


def cross_entropy_forms(parameters: Vector, inputs: Tensor, targets: Tensor, workspace: Workspace) -> ClosedForms:
    """Compute the derivatives of the cross-entropy of each sample by the parameters.

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
        hess_diag = weighted * probabilities * (1 - probabilities)
        layer_grads = passed_back(parameters, outputs, weighted * errors, Workspace())
        return lambda v: _hessian_product(parameters, inputs, outputs, layer_grads, hess_diag, v, workspace)

    def derivative(direction: Vector) -> Tensor:
        changes = logits_changes(parameters, inputs, outputs, direction, workspace)
        return (errors * changes[-1]).squeeze(-1)

    return ClosedForms(gradient, curvature, derivative)


def _hessian_product(
    parameters: Vector,
    inputs: Tensor,
    outputs: Sequence[Tensor],
    layer_grads: Sequence[Tensor],
    hess_diag: Tensor,
    direction: Vector,
    workspace: Workspace,
) -> Vector:
    """Differentiate the gradient in a direction (Pearlmutter 1994).

    ``layer_grads`` are the first derivatives by each layer's outputs before its ReLU, and ``hess_diag``, shape
    (M, n, 1), the second derivatives by the logits.
    """
    changes = logits_changes(parameters, inputs, outputs, direction, workspace)
    grad_change = hess_diag * changes[-1]
    products: list[Tensor] = []
    for place in reversed(range(len(outputs))):
        below = outputs[place - 1] if place else inputs
        by_weight = torch.empty_like(parameters[2 * place])
        matmul(below.mT, grad_change, by_weight)
        if place:
            by_weight += workspace.product(changes[place - 1].mT, layer_grads[place], "by weight", place)
        products += [grad_change.sum(1, keepdim=True), by_weight]
        if place:
            passed = workspace.product(grad_change, parameters[2 * place].mT, "grad change", place)
            passed += workspace.product(layer_grads[place], direction[2 * place].mT, "grad by weight", place)
            grad_change = torch.ops.aten.threshold_backward(passed, below, 0)
    return tuple(reversed(products))
