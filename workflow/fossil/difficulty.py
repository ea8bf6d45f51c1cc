"""Difficulty scores: how unsure a model is of a sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from fossil.config.strict import Proxy
from fossil.likelihood import class_log_probabilities, cross_entropy


def difficulty(logits: Tensor, targets: Tensor, *, proxy: Proxy) -> Tensor:
    """Score samples by one of the paper's three proxies.

    Parameters
    ----------
    logits : Tensor, shape (..., n, c)
        One logit (binary) or one per class.
    targets : Tensor, shape (..., n)
        Class indices; only the loss proxy looks at them.
    proxy : {"softmax", "entropy", "loss", "unscaled_loss"}
        1 - max_k p_k; entropy divided by log K; cross-entropy scaled to [0, 1] over the n samples, where one outlier
        makes all others easy; cross-entropy as it is.

    Returns
    -------
    Tensor, shape (..., n)
        In [0, 1], but for the unscaled loss, which has no upper bound. The softmax score is at most 1 - 1/K.
    """
    return _PROXIES[proxy](logits, targets)


def terciles(scores: Tensor) -> Tensor:
    """Return each sample's tercile over the last axis: 0 (easy), 1 (medium) or 2 (hard)."""
    return stage_of(scores, stage_thresholds(scores, [1 / 3, 2 / 3]))


def stage_thresholds(scores: Tensor, quantiles: Sequence[float]) -> Tensor:
    """Compute quantiles of the scores over the last axis, shape (..., len(quantiles)), float64."""
    levels = torch.tensor(quantiles, dtype=torch.float64, device=scores.device)
    return torch.quantile(scores.double(), levels, dim=-1).movedim(0, -1)


def stage_of(scores: Tensor, thresholds: Tensor) -> Tensor:
    """Count the thresholds, shape (..., s), that each score is above: from 0 to s, shape (..., n)."""
    stage = torch.zeros(scores.shape, dtype=torch.int64, device=scores.device)
    for threshold in thresholds.unbind(-1):
        stage += scores > threshold.unsqueeze(-1)
    return stage


def _softmax(logits: Tensor, _: Tensor) -> Tensor:
    return class_log_probabilities(logits).amax(-1).expm1().abs()


def _entropy(logits: Tensor, _: Tensor) -> Tensor:
    log_p = class_log_probabilities(logits)
    return ((log_p.exp() * log_p).sum(-1).abs() / math.log(log_p.shape[-1])).clamp_max(1.0)


def _loss(logits: Tensor, targets: Tensor) -> Tensor:
    losses = cross_entropy(logits, targets)
    low, high = losses.aminmax(dim=-1, keepdim=True)
    return (losses - low) / (high - low).clamp_min(torch.finfo(losses.dtype).tiny)


_PROXIES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "softmax": _softmax,
    "entropy": _entropy,
    "loss": _loss,
    "unscaled_loss": cross_entropy,
}
