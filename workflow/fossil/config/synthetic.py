"""The synthetic problems, and training on them."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import (
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from fossil.config.strict import (
    Fraction,
    Strict,
)

AUGMENTED = "_augmented"
"""What the name of a scenario ends with where its training samples have augmented copies."""


class SyntheticScenario(Strict):
    """One generated classification problem (scikit-learn's make_classification), the paper's protocol."""

    imbalance_ratio: Annotated[float, Field(ge=1)] = Field(9.0, description="n_0 / n_1 before label noise.")
    n_samples: Annotated[int, Field(ge=20)] = Field(3000, description="Samples, all splits together.")
    n_features: PositiveInt = Field(20, description="Features.")
    n_informative: PositiveInt = Field(10, description="Informative features.")
    n_redundant: NonNegativeInt = Field(5, description="Features that are linear combinations of informative ones.")
    n_clusters_per_class: PositiveInt = Field(2, description="Gaussian clusters a class.")
    flip_y: Annotated[float, Field(ge=0, lt=1)] = Field(0.05, description="Share of labels drawn at random.")
    class_sep: PositiveFloat = Field(1.0, description="Distance between the clusters.")
    test_fraction: Fraction = Field(0.2, description="Share of the samples that tests, stratified.")
    validation_fraction: Fraction = Field(0.15, description="Share of the training split that validates, stratified.")
    standardise: bool = Field(True, description="Scale inputs to mean 0 and deviation 1 of the training split.")

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.n_informative + self.n_redundant > self.n_features:
            raise ValueError(
                f"n_informative + n_redundant = {self.n_informative + self.n_redundant} "
                f"is more than n_features = {self.n_features}"
            )
        minority = self.n_samples / (1 + self.imbalance_ratio)
        fewest = minority * min(self.test_fraction, (1 - self.test_fraction) * self.validation_fraction)
        if fewest < 1:
            raise ValueError(
                f"n_samples = {self.n_samples} at imbalance_ratio = {self.imbalance_ratio:g} leaves {fewest:.2g} "
                "minority samples to a split; raise n_samples or the split's fraction"
            )
        if 2 * self.n_clusters_per_class > 2**self.n_informative:
            raise ValueError(
                f"{2 * self.n_clusters_per_class} clusters need more than n_informative = {self.n_informative} features"
            )
        return self


class SyntheticAugmentation(Strict):
    """Augmented copies of training samples, the paper's set A: originals with Gaussian noise in every feature."""

    classes: Literal["minority", "all"] = Field("minority", description="Whose samples are copied.")
    copies: PositiveInt = Field(2, description="Copies of each of these samples, at the nominal imbalance ratio.")
    noise: PositiveFloat = Field(0.1, description="Deviation of the noise, in deviations of the feature.")


class SyntheticTraining(Strict):
    """Training of the synthetic study's multilayer perceptrons."""

    hidden: list[PositiveInt] = Field([64, 64], description="Width of each hidden layer.", min_length=1)
    epochs: PositiveInt = Field(50, description="Epochs.")
    batch_size: PositiveInt = Field(64, description="Samples a step.")
    learning_rate: PositiveFloat = Field(1e-3, description="Adam's learning rate.")
    dtype: Literal["float32", "float64"] = Field(
        "float64",
        description="Floating-point type. In float32 the last bits depend on the machine and on the number of seeds "
        "trained together, and training amplifies them.",
    )
