"""Focal loss (Lin et al. 2017, https://arxiv.org/abs/1708.02002)."""

from __future__ import annotations

from torch import Tensor

from fossil.config.methods.focal import FocalOptions
from fossil.likelihood import cross_entropy
from fossil.methods.base import Batch, Method


class Focal(Method):
    """Cross-entropy times (1 - p_t)^gamma, with the gradient through both factors.

    With one logit, alpha weighs class 1 and 1 - alpha class 0. With one logit a class, alpha is an error. For
    gamma >= 1 the values are those of torchvision's sigmoid_focal_loss, whose gradient is NaN for 0 < gamma < 1 as soon
    as a sample is all but certain.
    """

    options_type = FocalOptions

    def losses(self, batch: Batch) -> Tensor:
        gamma, alpha = self.options.gamma, self.options.alpha
        entropy = cross_entropy(batch.logits, batch.targets)
        losses = (-entropy).expm1().neg().clamp_min(0.0) ** gamma * entropy
        if alpha is None:
            return losses
        if batch.logits.shape[-1] > 1:
            raise ValueError(f"alpha = {alpha} needs a model with one logit, not {batch.logits.shape[-1]}; use null")
        return (batch.targets * alpha + (1 - batch.targets) * (1 - alpha)) * losses
