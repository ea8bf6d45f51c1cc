"""Static class weights."""

from __future__ import annotations

from pydantic import (
    Field,
)

from fossil.config.methods.base import MethodEntry, MethodOptions
from fossil.config.strict import (
    Beta,
)


class EffectiveNumberOptions(MethodOptions):
    """Class weights by the effective number of samples (Cui et al. 2019)."""

    beta: Beta = Field(0.999, description="beta of (1 - beta) / (1 - beta^n): 0 is ERM, towards 1 static weighting.")


METHODS = {
    "static": MethodEntry(target="fossil.methods.static:Static", label="Static weighting", order=20),
    "static_inverted": MethodEntry(
        target="fossil.methods.static:StaticInverted", label="Static, inverted", studies=("synthetic",), order=30
    ),
    "effective_number": MethodEntry(
        target="fossil.methods.static:EffectiveNumber",
        label="Effective number",
        options=EffectiveNumberOptions,
        studies=("synthetic",),
        order=40,
    ),
}
