"""Focal loss."""

from __future__ import annotations

from typing import Annotated

from pydantic import (
    Field,
    NonNegativeFloat,
)

from fossil.config.methods.base import MethodEntry, MethodOptions


class FocalOptions(MethodOptions):
    """Focal loss (Lin et al. 2017)."""

    gamma: NonNegativeFloat = Field(2.0, description="Focusing exponent of (1 - p_t)^gamma.")
    alpha: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None,
        description="Weight of the positive class; null for none. The paper's default of 0 would zero every positive.",
    )


METHODS = {
    "focal": MethodEntry(
        target="fossil.methods.focal:Focal", label="Focal loss", options=FocalOptions, own_loss=True, order=50
    ),
}
