"""The registry of methods and the options of each: adding a method is a line here and a file in fossil/methods."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, model_validator

from fossil.config.strict import Probability, Strict

BASELINE = "baseline"
"""Name of the variant of a method with its configured options."""


class NoOptions(Strict):
    """A method without options."""


class FocalOptions(Strict):
    """Focal loss (Lin et al. 2017)."""

    gamma: NonNegativeFloat = Field(2.0, description="Focusing exponent of (1 - p_t)^gamma.")
    alpha: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None,
        description="Weight of the positive class; null for none. The paper's default of 0 would zero every positive.",
    )


class TemperatureOptions(Strict):
    """Temperature T_t of the difficulty term exp(-d / T_t)."""

    schedule: Literal[
        "exponential_decay", "linear_decay", "linear_growth", "exponential_growth", "constant", "infinite"
    ] = Field("exponential_decay", description="Course of the temperature over training.")
    initial: PositiveFloat = Field(1.0, description="T_0, the largest temperature.")
    minimum: PositiveFloat = Field(0.05, description="T_min, the smallest temperature.")
    decay: PositiveFloat = Field(3.0, description="Rate of the exponential schedules: T_0 exp(-decay t / T).")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.minimum > self.initial:
            raise ValueError(f"minimum ({self.minimum}) is above initial ({self.initial})")
        return self


class CurriculumOptions(Strict):
    """Curriculum learning: easy samples first, by exp(-d / T_t)."""

    temperature: TemperatureOptions = TemperatureOptions()


class FossilOptions(Strict):
    """FOSSIL's closed-form weight (Eq. 1)."""

    temperature: TemperatureOptions = TemperatureOptions()
    class_clamp: PositiveFloat | None = Field(None, description="Upper bound of the class term 1/(K p); null for none.")
    warmup_epochs: NonNegativeInt = Field(5, description="Epochs over which the warm-up term grows to 1; 0 for none.")
    gamma_initial: Probability = Field(0.5, description="gamma_0 of the augmentation penalty.")
    gamma_scale: NonNegativeFloat = Field(1.0, description="Factor on gamma_0 t / T.")
    gamma_max: PositiveFloat = Field(
        2.0, description="Cap of gamma_t; values above 1 act as 1, since weights stay >= 0."
    )


class MethodEntry(BaseModel):
    """A line of the registry: a method's class, its name in print, its options, and whether it needs difficulty."""

    model_config = ConfigDict(frozen=True)

    target: str
    label: str
    options: type[Strict] = NoOptions
    uses_difficulty: bool = False


METHODS: dict[str, MethodEntry] = {
    "erm": MethodEntry(target="fossil.methods.erm:ERM", label="ERM"),
    "static": MethodEntry(target="fossil.methods.static:Static", label="Static weighting"),
    "static_inverted": MethodEntry(target="fossil.methods.static:StaticInverted", label="Static, inverted"),
    "focal": MethodEntry(target="fossil.methods.focal:Focal", label="Focal loss", options=FocalOptions),
    "curriculum": MethodEntry(
        target="fossil.methods.curriculum:Curriculum",
        label="Curriculum learning",
        options=CurriculumOptions,
        uses_difficulty=True,
    ),
    "fossil": MethodEntry(
        target="fossil.methods.fossil:Fossil", label="FOSSIL", options=FossilOptions, uses_difficulty=True
    ),
}
