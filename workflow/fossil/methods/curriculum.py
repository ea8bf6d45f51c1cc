"""Curriculum learning (Bengio et al. 2009): easy samples first."""

from __future__ import annotations

from torch import Tensor

from fossil.config import CurriculumOptions
from fossil.methods.base import Method, Progress, Samples
from fossil.schedules import temperature


class Curriculum(Method):
    """Weights exp(-d / T_t), FOSSIL's difficulty term alone."""

    uses_difficulty = True
    options_type = CurriculumOptions

    def weights(self, samples: Samples, progress: Progress) -> Tensor:
        return (-samples.difficulty / temperature(progress.fraction, self.options.temperature)).exp()
