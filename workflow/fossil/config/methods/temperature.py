"""The temperature of the difficulty term, which several methods share."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import (
    Field,
    PositiveFloat,
    model_validator,
)

from fossil.config.strict import (
    Strict,
)

Schedule = Literal["exponential_decay", "linear_decay", "linear_growth", "exponential_growth", "constant", "infinite"]


class TemperatureOptions(Strict):
    """Temperature T_t of the difficulty term exp(-d / T_t)."""

    schedule: Schedule = Field("exponential_decay", description="Course of the temperature over training.")
    initial: PositiveFloat = Field(1.0, description="T_0, the largest temperature.")
    minimum: PositiveFloat = Field(0.05, description="T_min, the smallest temperature.")
    decay: PositiveFloat = Field(3.0, description="Rate of the exponential schedules: T_0 exp(-decay t / T).")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.minimum > self.initial:
            raise ValueError(f"minimum ({self.minimum}) is above initial ({self.initial})")
        return self
