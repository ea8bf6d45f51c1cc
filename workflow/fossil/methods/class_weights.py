"""Weights of classes from their counts, for one model or a stack: shape (..., K) in and out."""

from __future__ import annotations

import torch
from torch import Tensor


def inverse_prior_weights(counts: Tensor) -> Tensor:
    """Compute 1/(K p_k), which gives every class the same total weight."""
    return counts.sum(-1, keepdim=True) / (counts.shape[-1] * counts)


def effective_number_weights(counts: Tensor, *, beta: float) -> Tensor:
    """Compute inverse effective numbers (1 - beta) / (1 - beta^n_k), scaled so that sum_k p_k weight_k = 1.

    Cui et al. (2019) scale them to the sum K instead. With this scale their limits are 1 at beta = 0 and 1/(K p_k) for
    beta towards 1, so that losses compare with those of the other class weights.
    """
    raw = (beta - 1) / torch.expm1(counts * torch.tensor(beta, dtype=torch.float64).log())
    return raw * counts.sum(-1, keepdim=True) / (counts * raw).sum(-1, keepdim=True)
