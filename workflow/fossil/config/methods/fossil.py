"""FOSSIL's closed-form weight."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    model_validator,
)

from fossil.config.methods.base import MethodEntry, MethodOptions
from fossil.config.methods.temperature import TemperatureOptions
from fossil.config.strict import (
    Beta,
    Fraction,
    Probability,
)

ClassTerm = Literal["inverse_prior", "effective_number", "none"]


class FossilOptions(MethodOptions):
    """FOSSIL's closed-form weight (Eq. 1)."""

    uses_difficulty: ClassVar[bool] = True

    temperature: TemperatureOptions = TemperatureOptions()
    class_term: ClassTerm = Field("inverse_prior", description="1/(K p), Cui's effective number with `beta`, or 1.")
    beta: Beta = Field(0.999, description="beta of the class term effective_number.")
    class_clamp: PositiveFloat | None = Field(None, description="Upper bound of the class term; null for none.")
    warmup_epochs: NonNegativeInt = Field(5, description="Epochs over which the warm-up term grows to 1; 0 for none.")
    gamma_initial: Probability = Field(0.5, description="gamma_0 of the augmentation penalty.")
    gamma_scale: NonNegativeFloat = Field(1.0, description="Factor on gamma_0 t / T.")
    gamma_max: PositiveFloat = Field(
        2.0, description="Cap of gamma_t; values above 1 act as 1, since weights stay >= 0."
    )
    gamma_schedule: Literal["linear", "constant"] = Field(
        "linear", description="linear: gamma_t grows with t / T from 0; constant: gamma_scale gamma_0 in every epoch."
    )
    stage_mode: bool = Field(
        False, description="Stage-wise variant: a multiplier by difficulty stage in place of exp(-d / T_t)."
    )
    stage_quantiles: list[Fraction] = Field(
        [0.25, 0.5, 0.75],
        description="Quantiles of the training samples' difficulty that divide the stages.",
        min_length=1,
    )
    stage_multipliers: list[PositiveFloat] = Field(
        [0.9, 1.0, 1.1, 1.2], description="Multiplier of each stage, from easy to hard."
    )

    @model_validator(mode="after")
    def _stages_fit(self) -> Self:
        if sorted(set(self.stage_quantiles)) != self.stage_quantiles:
            raise ValueError(f"stage_quantiles must rise, not {self.stage_quantiles}")
        if len(self.stage_multipliers) != len(self.stage_quantiles) + 1:
            raise ValueError(
                f"stage_multipliers: {len(self.stage_quantiles)} stage_quantiles make {len(self.stage_quantiles) + 1} "
                f"stages, but there are {len(self.stage_multipliers)} multipliers"
            )
        return self


METHODS = {
    "fossil": MethodEntry(target="fossil.methods.fossil:Fossil", label="FOSSIL", options=FossilOptions, order=80),
}
