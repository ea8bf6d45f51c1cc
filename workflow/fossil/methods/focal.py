"""Focal loss (Lin et al. 2017, https://arxiv.org/abs/1708.02002)."""

from __future__ import annotations

from torch import Tensor
from torchvision.ops import sigmoid_focal_loss

from fossil.config import FocalOptions
from fossil.likelihood import cross_entropy
from fossil.methods.base import Batch, Method


class Focal(Method):
    """Cross-entropy times (1 - p_t)^gamma, with the gradient through both factors.

    With one logit this is torchvision's loss. With K logits alpha, which names one of two classes, is an error.
    """

    options_type = FocalOptions

    def losses(self, batch: Batch) -> Tensor:
        gamma, alpha = self.options.gamma, self.options.alpha
        if batch.logits.shape[-1] == 1:
            targets = batch.targets.to(batch.logits.dtype)
            return sigmoid_focal_loss(
                batch.logits.squeeze(-1), targets, alpha=-1 if alpha is None else alpha, gamma=gamma
            )
        if alpha is not None:
            raise ValueError(f"alpha = {alpha} weighs one of two classes; with {batch.logits.shape[-1]} use null")
        entropy = cross_entropy(batch.logits, batch.targets)
        return (-entropy).expm1().neg().clamp_min(0.0) ** gamma * entropy
