"""Curriculum learning (Bengio et al. 2009) by a temperature."""

from __future__ import annotations

from torch import Tensor

from fossil.config.methods.curriculum import CurriculumOptions
from fossil.methods.base import Method, Progress, Samples
from fossil.schedules import temperature


class Curriculum(Method):
    """Weights exp(-d / T_t), FOSSIL's difficulty term alone.

    With a rising temperature easy samples come first and hard ones later, as in the literature. With a falling one, the
    paper's hyperparameters and the default here, all start alike and hard samples fade.
    """

    options_type = CurriculumOptions

    def weights(self, samples: Samples, progress: Progress) -> Tensor:
        return (-samples.difficulty / temperature(progress.fraction, self.options.temperature)).exp()
