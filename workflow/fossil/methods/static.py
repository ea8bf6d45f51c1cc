"""Static class weights."""

from __future__ import annotations

from torch import Tensor

from fossil.config.methods.static import EffectiveNumberOptions
from fossil.methods.base import Method, Progress, Samples
from fossil.methods.class_weights import effective_number_weights, inverse_prior_weights


class Static(Method):
    """Class-balanced weights 1/(K p(y)): all samples that the priors count weigh the same by class, in total."""

    def weights(self, samples: Samples, progress: Progress) -> Tensor:
        return samples.of_class(inverse_prior_weights(samples.class_counts))


class StaticInverted(Method):
    """Weights K p(y), proportional to the prior: what the paper's static row fits, against its text."""

    def weights(self, samples: Samples, progress: Progress) -> Tensor:
        return samples.of_class(samples.classes * samples.class_priors)


class EffectiveNumber(Method):
    """Weights by the effective number of samples (Cui et al. 2019, Eq. 4 of https://arxiv.org/abs/1901.05555)."""

    options_type = EffectiveNumberOptions

    def weights(self, samples: Samples, progress: Progress) -> Tensor:
        return samples.of_class(effective_number_weights(samples.class_counts, beta=self.options.beta))
