"""FOSSIL's bilevel optimiser (Algorithm 1): weights and penalties by hypergradients of the validation loss."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from fossil.config.methods.fossil_bilevel import FossilBilevelOptions
from fossil.difficulty import stage_thresholds
from fossil.hypergradient.upper_level import BilevelWeights
from fossil.methods.base import MakeProblem, Method, Progress, Samples
from fossil.methods.fossil import closed_form
from fossil.schedules import augmentation_penalty


class Bilevel(Method):
    """Free weights and penalties of every training sample, started from Eq. 1 and stepped after every epoch.

    The first weights are Eq. 1's at epoch 0, scaled to mean 1, which the warm-up term does not survive; the first
    penalty is Eq. 1's there, 0 with its linear schedule.
    """

    options_type = FossilBilevelOptions

    def __init__(self, options: FossilBilevelOptions) -> None:
        super().__init__(options)
        self.upper: BilevelWeights | None = None

    def before_epoch(self, samples: Samples, progress: Progress) -> None:
        if progress.epoch:
            return
        initial = self.options.initial
        thresholds = stage_thresholds(samples.difficulty, initial.stage_quantiles) if initial.stage_mode else None
        # Penalties are variables of their own here, so Eq. 1 gives the other factors alone.
        bare = initial.model_copy(update={"gamma_scale": 0.0})
        start = closed_form(samples, bare, progress, thresholds=thresholds)
        penalty = augmentation_penalty(progress.fraction, initial)
        self.upper = BilevelWeights(start, samples.is_augmented, penalty=penalty, options=self.options)

    def weights(self, samples: Samples, progress: Progress) -> Tensor:
        if self.upper is None:
            raise ValueError("the bilevel weights start at epoch 0, which before_epoch has not seen")
        return self.upper(samples.index)

    def after_epoch(self, make_problem: MakeProblem, progress: Progress) -> None:
        if self.upper is not None:
            self.upper.update(make_problem(self.options.parameters, self.options.curvature_samples))

    def report(self) -> dict[str, Tensor]:
        return {} if self.upper is None else self.upper.report()

    def state_dict(self) -> dict[str, Any]:
        # What the solver did last is reported before a state can be asked for.
        return {} if self.upper is None else self.upper.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state:
            self.upper = BilevelWeights(state["weights"], state["is_augmented"], options=self.options)
            self.upper.load_state_dict(state)
