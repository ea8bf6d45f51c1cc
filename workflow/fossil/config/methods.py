"""The registry of methods and the options of each: adding a method is a line here and a file in fossil/methods."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from fossil.config.strict import Fraction, Probability, Strict

Schedule = Literal["exponential_decay", "linear_decay", "linear_growth", "exponential_growth", "constant", "infinite"]
ClassTerm = Literal["inverse_prior", "effective_number", "none"]
Beta = Annotated[float, Field(ge=0, lt=1)]

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


class EffectiveNumberOptions(Strict):
    """Class weights by the effective number of samples (Cui et al. 2019)."""

    beta: Beta = Field(0.999, description="beta of (1 - beta) / (1 - beta^n): 0 is ERM, towards 1 static weighting.")


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


class CurriculumOptions(Strict):
    """Curriculum learning: weights exp(-d / T_t)."""

    temperature: TemperatureOptions = TemperatureOptions()


class FossilOptions(Strict):
    """FOSSIL's closed-form weight (Eq. 1)."""

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


class MetaWeightNetOptions(Strict):
    """Meta-Weight-Net (Shu et al. 2019)."""

    hidden: PositiveInt = Field(100, description="Units of the hidden layer.")
    learning_rate: PositiveFloat = Field(1e-4, description="Learning rate of the network's own Adam (meta-lr).")
    meta_batch_size: PositiveInt = Field(
        16,
        description="Validation samples a step, drawn with replacement. The paper is silent; a quarter of its batch "
        "keeps a step within three plain ones.",
    )


class BilevelOptions(Strict):
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

    initial: FossilOptions = FossilOptions()
    parameters: Literal["all", "head"] | None = Field(
        None,
        description="Parameters that the lower level is differentiated by; null for all of a perceptron and the head "
        "of an image backbone.",
    )
    curvature_samples: PositiveInt | None = Field(
        512,
        description="Training samples, drawn anew for each update, whose Hessian stands for that of all; null for all.",
    )


class MethodEntry(BaseModel):
    """A line of the registry.

    Attributes
    ----------
    target : str
        "module:Class".
    label : str
        Name in print.
    options : type
        Model of its options.
    uses_difficulty : bool
        Whether it looks at difficulty.
    own_loss : bool
        Whether it trains on another loss than cross-entropy.
    learns_on_validation : bool
        Whether it learns its weights on the validation split, so that what is measured there flatters it.
    studies : tuple of str
        Studies that have it unless they are told otherwise.
    """

    model_config = ConfigDict(frozen=True)

    target: str
    label: str
    options: type[Strict] = NoOptions
    uses_difficulty: bool = False
    own_loss: bool = False
    learns_on_validation: bool = False
    studies: tuple[Literal["synthetic", "images"], ...] = ("synthetic", "images")


METHODS: dict[str, MethodEntry] = {
    "erm": MethodEntry(target="fossil.methods.erm:ERM", label="ERM"),
    "static": MethodEntry(target="fossil.methods.static:Static", label="Static weighting"),
    "static_inverted": MethodEntry(
        target="fossil.methods.static:StaticInverted", label="Static, inverted", studies=("synthetic",)
    ),
    "effective_number": MethodEntry(
        target="fossil.methods.static:EffectiveNumber",
        label="Effective number",
        options=EffectiveNumberOptions,
        studies=("synthetic",),
    ),
    "focal": MethodEntry(target="fossil.methods.focal:Focal", label="Focal loss", options=FocalOptions, own_loss=True),
    "meta_weight_net": MethodEntry(
        target="fossil.methods.meta_weight_net:MetaWeightNet",
        label="Meta-Weight-Net",
        options=MetaWeightNetOptions,
        learns_on_validation=True,
    ),
    "curriculum": MethodEntry(
        target="fossil.methods.curriculum:Curriculum",
        label="Curriculum learning",
        options=CurriculumOptions,
        uses_difficulty=True,
    ),
    "fossil": MethodEntry(
        target="fossil.methods.fossil:Fossil", label="FOSSIL", options=FossilOptions, uses_difficulty=True
    ),
    "fossil_bilevel": MethodEntry(
        target="fossil.methods.fossil_bilevel:FossilBilevel",
        label="FOSSIL bilevel",
        options=FossilBilevelOptions,
        uses_difficulty=True,
        learns_on_validation=True,
    ),
}


def methods_of(study: Literal["synthetic", "images"]) -> list[str]:
    """Names of the methods that a study has by default, in the registry's order, which is that of the tables."""
    return [name for name, entry in METHODS.items() if study in entry.studies]
