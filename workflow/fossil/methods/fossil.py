"""FOSSIL's closed-form weight (Eq. 1)."""

from __future__ import annotations

import math

from torch import Tensor

from fossil.config import FossilOptions
from fossil.methods.base import Batch, Method, Progress
from fossil.schedules import augmentation_penalty, temperature, warmup


class Fossil(Method):
    """Class term x difficulty term x augmentation penalty x warm-up, multiplied as a sum of logarithms.

    w_i(t) = min(1/(K p(y_i)), clamp) exp(-d_i / T_t) (1 - gamma_t 1{i in A}) min(1, (t + 1) / t_warm)
    """

    uses_difficulty = True
    options_type = FossilOptions

    def weights(self, batch: Batch, progress: Progress) -> Tensor:
        options: FossilOptions = self.options
        log_weight = -(batch.class_priors.shape[-1] * batch.own_prior()).log()
        if options.class_clamp is not None:
            log_weight = log_weight.clamp_max(math.log(options.class_clamp))
        penalty = augmentation_penalty(
            progress.fraction,
            initial=options.gamma_initial,
            scale=options.gamma_scale,
            maximum=options.gamma_max,
        )
        log_weight = log_weight - batch.difficulty / temperature(progress.fraction, options.temperature)
        log_weight = log_weight + (-penalty * batch.is_augmented.to(log_weight.dtype)).log1p()
        return (log_weight + math.log(warmup(progress.epoch, warmup_epochs=options.warmup_epochs))).exp()
