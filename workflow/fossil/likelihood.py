"""Per-sample cross-entropy and class probabilities, for one logit (binary) or K logits, under any leading axes."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Compute the cross-entropy of each sample in nats.

    Parameters
    ----------
    logits : Tensor, shape (..., n, c)
        c = 1 is a binary problem with one logit for class 1; c >= 2 one logit per class.
    targets : Tensor, shape (..., n)
        Class indices.

    Returns
    -------
    Tensor, shape (..., n)
        At least float32, whatever the logits are.
    """
    logits = at_least_float32(logits)
    if logits.shape[-1] == 1:
        return functional.binary_cross_entropy_with_logits(
            logits.squeeze(-1), targets.to(logits.dtype), reduction="none"
        )
    losses = functional.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
    return losses.unflatten(0, targets.shape)


def class_log_probabilities(logits: Tensor) -> Tensor:
    """Compute log class probabilities, shape (..., n, K), from logits of shape (..., n, 1) or (..., n, K)."""
    if logits.shape[-1] == 1:
        return torch.cat([functional.logsigmoid(-logits), functional.logsigmoid(logits)], dim=-1)
    return functional.log_softmax(logits, dim=-1)


def at_least_float32(values: Tensor) -> Tensor:
    """Convert half precision to float32, and leave other types as they are."""
    return values.float() if values.dtype in (torch.bfloat16, torch.float16) else values
