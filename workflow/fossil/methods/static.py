"""Static class weights."""

from __future__ import annotations

from torch import Tensor

from fossil.methods.base import Batch, Method, Progress


class Static(Method):
    """Class-balanced weights 1/(K p(y)): all samples that the priors count weigh the same by class, in total."""

    def weights(self, batch: Batch, progress: Progress) -> Tensor:
        return 1.0 / (batch.class_priors.shape[-1] * batch.own_prior())


class StaticInverted(Method):
    """Weights K p(y), proportional to the prior: what the paper's static row fits, against its text."""

    def weights(self, batch: Batch, progress: Progress) -> Tensor:
        return batch.class_priors.shape[-1] * batch.own_prior()
