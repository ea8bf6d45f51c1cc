"""The search for options: grids of candidates, and the variants of a method that result from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, PositiveInt

from fossil.config.strict import Name, Seed, Strict

if TYPE_CHECKING:
    pass

Grid = dict[Annotated[str, Field(pattern=r"^[a-z_]+(\.[a-z_]+)*$")], Annotated[list[Any], Field(min_length=1)]]
"""Values to try of each option; an option within another is written with a dot, as temperature.minimum."""

ImageVariant = Literal["baseline", "tuned", "equal-budget", "printed"]

SEARCHED: tuple[ImageVariant, ...] = ("tuned", "equal-budget")
"""Variants whose options are the best candidate's: of the whole grid, or of as many candidates as every method has."""

VARIANT_LABELS: dict[ImageVariant, str] = {
    "baseline": "",
    "tuned": "tuned",
    "equal-budget": "tuned, equal budget",
    "printed": "as the paper tuned",
}

REPORTED_OPTIONS: dict[str, dict[str, Any]] = {
    "focal": {"gamma": 3.0, "alpha": 0.25},
    "meta_weight_net": {"hidden": 64, "learning_rate": 5e-4},
    "curriculum": {"temperature": {"schedule": "linear_decay", "minimum": 0.1}},
    "fossil": {
        "temperature": {"minimum": 0.005, "decay": 3.0},
        "warmup_epochs": 10,
        "gamma_scale": 1.0,
        "gamma_max": 2.0,
        "class_clamp": 12.0,
    },
}
"""Options that the paper prints as tuned; where its table is silent, those of the best line of its sweep."""


class Tuning(Strict):
    """The search for each method's options: short trainings on some folds, judged on their validation images alone."""

    grids: dict[Name, Grid] = Field(
        {
            "focal": {"gamma": [1.0, 3.0], "alpha": [0.25]},
            "meta_weight_net": {"hidden": [64], "learning_rate": [5e-4, 1e-3]},
            "curriculum": {"temperature.schedule": ["linear_decay"], "temperature.minimum": [0.02, 0.1]},
            "fossil": {"temperature.minimum": [0.005, 0.02], "gamma_scale": [1.0], "warmup_epochs": [10]},
        },
        description="Values to try, by method and option; every combination is a candidate. The paper's grids are in "
        "config/paper.yaml.",
    )
    stage_wise: bool = Field(
        False,
        description="Also try FOSSIL's stage-wise variant with each combination that still makes a difference; it is "
        "reported beside the others and never chosen.",
    )
    folds: PositiveInt = Field(
        2, description="The first so many folds, on which candidates are tried; all where there are fewer."
    )
    seeds: list[Seed] = Field([42], description="Seeds of the trials.", min_length=1)
    epochs: PositiveInt = Field(3, description="Epochs of a trial.")
    budget: PositiveInt = Field(9, description="Candidates that a method has at most where none has more than others.")
    budget_seed: Seed = Field(0, description="Seed by which these are drawn from larger grids.")
