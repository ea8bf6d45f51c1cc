"""Euclidean projections onto the sets of weights and penalties (paper, App. D)."""

from __future__ import annotations

import torch
from torch import Tensor


def project_simplex(values: Tensor, *, total: float = 1.0) -> Tensor:
    """Return the nearest point of {x >= 0, sum x = total} along the last axis (Held et al. 1974, Duchi et al. 2008).

    Raises
    ------
    ValueError
        If the total is not positive or a value is not finite.
    """
    if total <= 0:
        raise ValueError(f"total must be positive, not {total}")
    if not values.isfinite().all():
        raise ValueError("values: not all of them are finite")
    values = values - values.amax(-1, keepdim=True)  # moves every point alike, and keeps sums of large values exact
    ordered = values.sort(dim=-1, descending=True).values
    place = torch.arange(1, values.shape[-1] + 1, dtype=values.dtype, device=values.device)
    excess = ordered.cumsum(-1) - total
    support = (ordered * place > excess).sum(-1, keepdim=True)
    threshold = excess.gather(-1, support - 1) / support
    return (values - threshold).clamp_min(0.0)


def project_box(values: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Return the nearest point of [low, high]^n.

    Raises
    ------
    ValueError
        If low is above high or a value is NaN.
    """
    if low > high:
        raise ValueError(f"low = {low} is above high = {high}")
    if values.isnan().any():
        raise ValueError("values: not all of them are finite")
    return values.clamp(low, high)
