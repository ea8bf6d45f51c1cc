"""FOSSIL's bilevel optimiser."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import (
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
)

from fossil.config.methods.base import MethodEntry, MethodOptions
from fossil.config.methods.fossil import FossilOptions


class BilevelOptions(MethodOptions):
    """Upper level of FOSSIL's bilevel optimiser (Algorithm 1): hypergradients and updates of weights and penalties."""

    weights_learning_rate: NonNegativeFloat = Field(
        0.03,
        description="eta_w, of the weights scaled to mean 1. The paper gives none; this one was chosen on problems of "
        "other seeds than the study's.",
    )
    penalties_learning_rate: NonNegativeFloat = Field(0.1, description="eta_lambda.")
    momentum: Annotated[float, Field(ge=0, lt=1)] = Field(0.9, description="beta_w and beta_lambda.")
    solver: Literal["conjugate_gradient", "neumann_series"] = Field(
        "conjugate_gradient", description="How the inverse Hessian is applied."
    )
    damping: NonNegativeFloat = Field(0.1, description="Added to the diagonal of the Hessian.")
    iterations: PositiveInt = Field(10, description="Steps of the solver at most.")
    tolerance: NonNegativeFloat = Field(1e-6, description="Relative residual at which conjugate gradient stops.")
    neumann_step: PositiveFloat = Field(0.1, description="Step of the Neumann series.")
    derivatives: Literal["exact", "finite_difference"] = Field(
        "exact", description="Second derivatives by double backward and dual numbers, or by central differences."
    )


class FossilBilevelOptions(BilevelOptions):
    """FOSSIL's bilevel optimiser (Algorithm 1), started from Eq. 1."""

    uses_difficulty: ClassVar[bool] = True

    initial: FossilOptions = FossilOptions()
    parameters: Literal["all", "head"] | None = Field(
        None,
        description="Parameters that the lower level is differentiated by; null for all of a perceptron and the head "
        "of an image backbone.",
    )
    curvature_samples: PositiveInt | None = Field(
        512,
        description="Training samples, redrawn for each update, whose Hessian stands for that of all; null for all.",
    )


METHODS = {
    "fossil_bilevel": MethodEntry(
        target="fossil.methods.fossil_bilevel:Bilevel",
        label="FOSSIL bilevel",
        options=FossilBilevelOptions,
        uses_validation_split=True,
        order=90,
    ),
}
