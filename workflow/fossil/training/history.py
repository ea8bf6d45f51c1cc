"""What is kept of an epoch: losses, effective sample size and the spread of the weights."""

from __future__ import annotations

import torch
from torch import Tensor

_QUANTILES = (0.05, 0.5, 0.95)


def effective_sample_size(weights: Tensor) -> Tensor:
    """Kish's N_eff = (sum w)^2 / sum w^2 over the last axis; 0 where every weight is 0."""
    tiny = torch.finfo(weights.dtype).tiny
    relative = weights / weights.amax(-1, keepdim=True).clamp_min(tiny)  # squares of tiny weights would vanish
    return relative.sum(-1).square() / relative.square().sum(-1).clamp_min(tiny)


def summarise_epoch(
    *, losses: Tensor, weights: Tensor, targets: Tensor, difficulty: Tensor | None, validation_losses: Tensor
) -> dict[str, Tensor]:
    """Summarise an epoch over the last axis.

    Parameters
    ----------
    losses, weights, targets : Tensor, shape (..., n)
        Per-sample losses and weights as they were when each sample was trained on, and its class.
    difficulty : Tensor, shape (..., n), or None
        What the weights went by; None where they look at no difficulty.
    validation_losses : Tensor, shape (..., m)
        Unweighted cross-entropy on the validation split after the epoch.

    Returns
    -------
    dict of Tensor, shape (...)
    """
    losses, weights = losses.double(), weights.double()
    summary = {
        "train_loss": losses.mean(-1),
        "weighted_train_loss": (weights * losses).mean(-1),
        "validation_loss": validation_losses.double().mean(-1),
        "weight_mean": weights.mean(-1),
        "n_eff": effective_sample_size(weights),
        "n_eff_share": effective_sample_size(weights) / weights.shape[-1],
    }
    levels = torch.tensor(_QUANTILES, dtype=weights.dtype, device=weights.device)
    for level, value in zip(_QUANTILES, torch.quantile(weights, levels, dim=-1), strict=True):
        summary[f"weight_q{round(100 * level):02d}"] = value
    for label in (0, 1):
        members = (targets == label).to(weights.dtype)
        summary[f"weight_mean_class{label}"] = (weights * members).sum(-1) / members.sum(-1)
    return summary if difficulty is None else summary | _weights_by_third(weights, difficulty, targets)


def _weights_by_third(weights: Tensor, difficulty: Tensor, targets: Tensor) -> dict[str, Tensor]:
    """Mean weights of the easiest, middle and hardest third of each class; NaN for a third without any.

    Samples of equal difficulty stand in the order of the table.
    """
    relative = difficulty.double() / difficulty.double().amax(-1, keepdim=True).clamp_min(1)
    order = (relative + 2 * targets).argsort(dim=-1, stable=True)  # by class, then by difficulty
    sums = torch.nn.functional.pad(weights.gather(-1, order).cumsum(-1), (1, 0))
    negatives = (targets == 0).sum(-1, keepdim=True)
    found = {}
    for label, first, count in ((0, 0 * negatives, negatives), (1, negatives, targets.shape[-1] - negatives)):
        for third in (1, 2, 3):
            start, end = (first + count * k // 3 for k in (third - 1, third))
            total = sums.gather(-1, end) - sums.gather(-1, start)
            found[f"weight_class{label}_difficulty{third}"] = (total / (end - start)).squeeze(-1)
    return found
