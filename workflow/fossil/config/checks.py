"""Combinations that cannot work; each check returns one line per problem, which names the key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from fossil.config.datasets import DATASETS, Datasets, PhantomDataset
from fossil.config.image_training import PACKAGED_BACKBONES
from fossil.config.methods import METHODS
from fossil.config.methods.fossil import FossilOptions
from fossil.config.statistics import Statistics
from fossil.config.strict import explain
from fossil.config.studies import ImageStudy, SyntheticStudy
from fossil.config.synthetic import AUGMENTED
from fossil.config.tuning import REPORTED_OPTIONS

if TYPE_CHECKING:
    from fossil.config.root import Config


def weights_problems(study: ImageStudy) -> list[str]:
    """Check that the weights are available."""
    if study.weights != "package" or study.training.backbone in PACKAGED_BACKBONES:
        return []
    return [
        f"images.weights: package has no weights of {study.training.backbone}, only of {', '.join(PACKAGED_BACKBONES)}"
    ]


def options_problems(name: str, options: dict[str, Any]) -> list[str]:
    """Check the options of one method."""
    if name not in METHODS:
        return [f"methods.{name}: {unknown_method([name])}"]
    try:
        METHODS[name].options.model_validate(options)
    except ValidationError as error:
        return [f"methods.{name}.{problem}" for problem in explain(error)]
    return []


def scenario_problems(study: SyntheticStudy) -> list[str]:
    """Check that no scenario has the name of a data set or of the first scenario's augmented twin."""
    taken = [name for name in study.scenarios if name in DATASETS]
    if taken:
        return [f"synthetic.scenarios.{taken[0]}: this is the name of a data set of images; take another"]
    twin = f"{study.headline}{AUGMENTED}"
    if twin in study.scenarios:
        return [
            f"synthetic.scenarios.{twin}: this name is that of {study.headline} with augmented copies; take another"
        ]
    return []


def grid_problems(study: SyntheticStudy, fossil: FossilOptions) -> list[str]:
    """Check that no level is repeated, and that the configured FOSSIL can be the base of the effects."""
    problems = [
        f"synthetic.sensitivity.{key}: {values} names one twice"
        for key, values in study.sensitivity.model_dump().items()
        if len(set(values)) < len(values)
    ]
    if "sensitivity" not in study.studies:
        return problems
    if fossil.stage_mode:
        problems.append(
            "methods.fossil.stage_mode: stages take the place of the temperature, whose schedules the study "
            "sensitivity compares; take it out of synthetic.studies"
        )
    if fossil.temperature.schedule == "infinite":
        problems.append(
            "methods.fossil.temperature.schedule: infinite has no difficulty term, from which the study sensitivity "
            "could measure the effect of the difficulty's source; take it out of synthetic.studies"
        )
    return problems


def study_problems(key: str, study: SyntheticStudy | ImageStudy) -> list[str]:
    """Check that methods are known, the reference is among them, and nothing is repeated."""
    problems = []
    unknown = [name for name in study.methods if name not in METHODS]
    if unknown:
        problems.append(f"{key}.methods: {unknown_method(unknown)}")
    for field in ("methods", "seeds"):
        values = getattr(study, field)
        if not values:
            problems.append(f"{key}.{field}: empty")
        if len(set(values)) != len(values):
            problems.append(f"{key}.{field}: {values} names one twice")
    if study.reference not in study.methods:
        problems.append(f"{key}.reference: {study.reference!r} is not in {key}.methods {study.methods}")
    return problems


def dataset_problems(datasets: Datasets, study: ImageStudy) -> list[str]:
    """Check that the image study's data set is available and unambiguous."""
    if study.dataset == "phantom_external":
        return ["images.dataset: phantom_external is what models are tried on, and not trained on; take phantom"]
    available = datasets.available()
    if study.dataset is not None and study.dataset not in available:
        return [f"images.dataset: {study.dataset} needs datasets.{study.dataset}.{datasets[study.dataset].needs}"]
    if study.dataset == "msld_v2" and datasets.msld_v2.construction == "paper":
        return [
            "images.dataset: msld_v2 is trained on with datasets.msld_v2.construction: originals only; the augmented "
            "copies of construction paper would be trained on and tested as if they were photographs"
        ]
    several = datasets.photographs()
    if study.dataset is None and len(several) > 1:
        return [f"images.dataset: {' and '.join(several)} are both set; name the one to train on"]
    return []


def external_problems(config: Config) -> list[str]:
    """Check that the external data set is another one, and that models can be trained on it if asked."""
    external = config.external_dataset
    if config.images.refit and external is None:
        return ["images.refit: there is no external data set; name datasets.msld_v2.root, or set it to false"]
    if config.images.refit and external == "msld_v2" and config.datasets.msld_v2.construction == "paper":
        return ["images.refit: MSLD v2.0 is trained on with datasets.msld_v2.construction: originals only"]
    if external != "phantom_external":
        return []
    first, second = config.datasets.phantom, config.datasets.phantom_external
    if first.seed == second.seed:
        return [f"datasets.phantom_external.seed: {second.seed} is that of datasets.phantom; take another"]
    return phantom_problems("phantom_external", second, config.images.folds if config.images.refit else 1)


def phantom_problems(name: str, phantom: PhantomDataset, folds: int) -> list[str]:
    """Check that every fold can test both classes."""
    malignant = round(phantom.images / (1 + phantom.imbalance_ratio))
    if malignant >= folds:
        return []
    return [
        f"datasets.{name}: {phantom.images} images at imbalance_ratio = {phantom.imbalance_ratio:g} have {malignant} "
        f"malignant ones, fewer than images.folds = {folds}"
    ]


def alpha_problems(key: str, study: SyntheticStudy | ImageStudy, folds: int, statistics: Statistics) -> list[str]:
    """Check that runs on so many folds can reach the significance level, before a correction for several methods."""
    pairs = folds * len(study.seeds)
    if len(study.methods) == 1 and not _compares_variants(study):
        return []
    problems = []
    if 2 / 2**pairs > statistics.alpha:
        keys = f"{key}.seeds" if folds == 1 else f"{key}.seeds x {key}.folds"
        problems.append(
            f"{keys}: {pairs} pairs cannot reach statistics.alpha = {statistics.alpha}: a two-sided Wilcoxon or "
            f"sign-flip test of {pairs} pairs gives at least p = 2/2^{pairs} = {2 / 2**pairs:.3g}. Add seeds, or set "
            "statistics.alpha higher"
        )
    elif 2**pairs > statistics.shuffles and 2 / (statistics.shuffles + 1) > statistics.alpha:
        problems.append(
            f"statistics.shuffles: {statistics.shuffles} random sign flips cannot reach statistics.alpha = "
            f"{statistics.alpha}; they give at least p = {2 / (statistics.shuffles + 1):.3g}"
        )
    return problems


def _compares_variants(study: SyntheticStudy | ImageStudy) -> bool:
    """Return whether a study compares more than the configured methods."""
    if isinstance(study, SyntheticStudy):
        return any(not name.startswith("synthetic-") for name in study.studies)
    tunable = {*study.tuning.grids, *REPORTED_OPTIONS}
    return len(study.variants) > 1 and not tunable.isdisjoint(study.methods)


def unknown_method(names: list[str]) -> str:
    """Return a message that names the unknown and the known methods."""
    return f"unknown method {', '.join(names)}; known: {', '.join(METHODS)}"
