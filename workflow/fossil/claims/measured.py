"""The study that measures each table of the paper, and how its runs differ from the paper's protocol."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from fossil.config.datasets import DATASETS, PHANTOMS
from fossil.config.methods import METHODS
from fossil.config.root import Config
from fossil.config.strict import Strict, deep_merge
from fossil.config.studies import SyntheticStudy
from fossil.design.comparisons import Block
from fossil.design.image_studies import fold_ratio, internal_study

SWEEP = "proxy-top3"
"""The paper's table of its search."""

_PAPER_TRAINING: dict[str, Any] = {
    "backbone": "convnext_tiny.fb_in1k",
    "size": 224,
    "epochs": 20,
    "batch_size": 64,
    "learning_rate": 1e-4,
    "weights": "hub",
}
"""How the paper trains on images, as far as it says so (lines 1113 to 1118 and 1297)."""

_PAPER_IMAGES: dict[str, Any] = {"folds": 5, "seeds": [42, 77, 123], "difficulty_proxy": "softmax"}
_PAPER_TRIALS: dict[str, Any] = {"folds": 3, "seeds": [42], "epochs": 6}
_PAPER_RATIO = 9.0
_PAPER_OPTIONS: dict[str, dict[str, Any]] = {"curriculum": {"temperature": {"schedule": "linear_decay"}}}
"""Configured options in which the paper's default differs from ours."""

_ROWS_ONLY = ("studies", "methods", "reference", "sensitivity")
"""Keys of the synthetic section that choose what is run, and change no run of a table of the paper."""


class Measured(Strict):
    """A study that has rows of a table of the paper.

    Attributes
    ----------
    study : str
        Its name in the metrics.
    test_train_ratio : float or None
        Test over training images of a fold, where pairs of folds and seeds are not independent.
    """

    study: str
    blocks: list[Block]
    test_train_ratio: float | None = None


def measured_tables(
    config: Config, studies: Mapping[str, str], blocks: Mapping[str, list[Block]]
) -> dict[str, Measured]:
    """Return what was measured of each table of the paper, by its name; ``studies`` names its study."""
    return {
        name: Measured(study=study, blocks=blocks[study], test_train_ratio=fold_ratio(config, study))
        for name, study in studies.items()
    }


def absent_tables(config: Config) -> dict[str, str]:
    """Return why tables of the paper were not measured: models were trained on another data set."""
    dataset = config.image_dataset
    if dataset == "pad_ufes_20":
        return {}
    drawn = "the images are phantom, which says nothing of the paper's"
    reason = drawn if dataset in PHANTOMS else f"the images are {DATASETS[dataset]}"
    return dict.fromkeys(("final-tuning", "external-validation", SWEEP), reason)


def protocols(config: Config, tables: Mapping[str, Measured], *, searched: bool) -> dict[str, str]:
    """Return how the runs of each table and of its search differ from the paper's protocol; "" where they do not.

    ``searched`` tells whether a search is configured.
    """
    differences = {name: protocol(config, table.study) for name, table in tables.items()}
    if not searched:
        return differences
    trials = {key: getattr(config.images.tuning, key) for key in _PAPER_TRIALS} | {"folds": config.trial_folds}
    training = [*_of_training(config, without=("epochs",)), *_differing(trials, _PAPER_TRIALS, "trials")]
    return differences | {SWEEP: _joined([*training, *_of_options(config, config.images.methods)])}


def protocol(config: Config, study: str) -> str:
    """Return how the runs of a study differ from the paper's protocol; "" where they do not."""
    if study in (internal_study(config), f"{config.external_dataset}-transfer", f"{config.external_dataset}-refit"):
        return _joined([*_of_images(config), *_of_options(config, config.images.methods)])
    configured, paper = (
        study.model_dump(mode="json", exclude=set(_ROWS_ONLY)) | {"seeds": sorted(study.seeds)}
        for study in (config.synthetic, SyntheticStudy())
    )
    # Some studies train these two whatever the methods are.
    methods = {*config.synthetic.methods, "erm", "fossil"}
    return _joined([*_differing(configured, paper), *_of_options(config, methods)])


def _joined(differing: list[str]) -> str:
    return f"other protocol than the paper's: {', '.join(differing)}" if differing else ""


def _of_images(config: Config) -> Iterator[str]:
    images = config.images
    proxy = images.difficulty_proxy
    configured = {"folds": config.image_folds, "seeds": sorted(images.seeds), "difficulty_proxy": proxy}
    yield from _of_training(config)
    yield from _differing(configured, _PAPER_IMAGES)
    if getattr(getattr(config.datasets, config.image_dataset, None), "allow_missing", False):
        yield "images may be missing"
    if config.external_dataset == "msld_v2":
        yield from _of_msld(config)


def _of_training(config: Config, *, without: tuple[str, ...] = ()) -> Iterator[str]:
    configured = config.images.training.model_dump() | {"weights": config.images.weights}
    paper = {key: value for key, value in _PAPER_TRAINING.items() if key not in without}
    yield from _differing({key: configured[key] for key in paper}, paper)


def _of_msld(config: Config) -> Iterator[str]:
    external = config.datasets.msld_v2
    if external.construction == "originals":
        yield "external images without augmented copies"
        if external.imbalance_ratio != _PAPER_RATIO:
            yield f"external images at 1:{external.imbalance_ratio:g}"
    if external.allow_missing_classes:
        yield "external classes may be missing"


def _of_options(config: Config, methods: Collection[str]) -> Iterator[str]:
    """Yield options of methods that are neither defaults nor the paper's."""
    for name in (name for name in config.methods if name in methods):
        default = METHODS[name].options().model_dump(mode="json")
        allowed = [default, deep_merge(default, _PAPER_OPTIONS.get(name, {}))]
        configured = config.method_settings(name)["options"]
        if configured not in allowed:
            yield from _differing(configured, default, name)


def _differing(configured: Mapping[str, Any], paper: Mapping[str, Any], within: str = "") -> Iterator[str]:
    """Yield the path and the value of each key whose value differs."""
    for key, value in configured.items():
        named = f"{within} {key.replace('_', ' ')}".strip()
        if key in paper and isinstance(value, Mapping) and isinstance(paper[key], Mapping):
            yield from _differing(value, paper[key], named)
        elif key not in paper or value != paper[key]:
            yield named if isinstance(value, Mapping) else f"{named} {value}"
    yield from (f"no {f'{within} {key}'.strip()}" for key in paper if key not in configured)
