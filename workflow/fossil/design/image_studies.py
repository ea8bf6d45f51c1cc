"""The comparisons of the studies on images, and the places of their runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fossil.config.methods import METHODS
from fossil.config.strict import BASELINE
from fossil.config.tuning import REPORTED_OPTIONS, VARIANT_LABELS
from fossil.design.candidates import baseline_candidate, candidates, searches, variants_of
from fossil.design.comparisons import Block, Row, row_key
from fossil.design.models import Candidate

if TYPE_CHECKING:
    from fossil.config.root import Config

REPORTED_METHODS = {
    "erm": "ERM",
    "static": "Static",
    "focal": "Focal",
    "meta_weight_net": "MetaWeight",
    "curriculum": "Curriculum",
    "fossil": "FOSSIL",
}
"""What the paper's tables of images call the methods."""

_REPORTED_DATASETS = ("pad_ufes_20", "msld_v2")


def image_studies(config: Config) -> dict[str, list[Block]]:
    """Return the blocks of every study on images, by the study's name.

    {data set}-internal is every variant of every method, trained and tested in folds; {external}-transfer the same
    models on a data set that they never saw, {external}-refit models that are trained there, in folds.
    """
    studies = {internal_study(config): [_every_variant(config, config.image_dataset, "internal")]}
    external = config.external_dataset
    if external is not None and config.images.transfer:
        studies[f"{external}-transfer"] = [_every_variant(config, external, "transfer")]
    if external is not None and config.images.refit:
        studies[f"{external}-refit"] = [_every_variant(config, external, "refit")]
    return studies


def internal_study(config: Config) -> str:
    """Return the name of the study of the data set that is trained on."""
    return f"{config.image_dataset}-internal"


def fold_ratio(config: Config, study: str) -> float | None:
    """Compute the ratio of test images to training images in a fold of a study.

    Of k folds one tests, and of the others' patients a share v validates: the ratio is (1/k) / ((1 - 1/k) (1 - v)).
    Models that predict external images were trained in the folds of their own data set, and have its ratio: they share
    its training images. None where there is one fold, or where each seed draws new data.
    """
    tested = {
        internal_study(config): config.image_folds,
        f"{config.external_dataset}-transfer": config.image_folds,
        f"{config.external_dataset}-refit": config.images.folds,
    }
    folds = tested.get(study, 1)
    return 1 / ((folds - 1) * (1 - config.images.validation_fraction)) if folds > 1 else None


def operating_points(config: Config) -> str:
    """Return the name of the study of operating points."""
    return f"{config.image_dataset}-operating-point"


def trials(config: Config) -> dict[str, list[Candidate]]:
    """Return the trials of the search by method: its candidates, and the configured options."""
    if not searches(config):
        return {}
    return {method: [baseline_candidate(method), *candidates(config, method)] for method in config.images.methods}


def variant_overrides(method: str, variant: str) -> dict[str, Any]:
    """Return the options in which a variant differs from the configured method, as far as known before the search."""
    return REPORTED_OPTIONS[method] if variant == "printed" else {}


def _every_variant(config: Config, dataset: str, name: str) -> Block:
    rows = [
        Row(
            scenario=dataset,
            method=method,
            variant=variant,
            label=", ".join(filter(None, [METHODS[method].label, VARIANT_LABELS[variant]])),
            **_reported(config, dataset, name, method, variant),
        )
        for method in config.images.methods
        for variant in variants_of(config, method)
    ]
    reference = config.images.reference
    variants = variants_of(config, reference)
    chosen = "tuned" if "tuned" in variants else variants[0]
    return Block(name=name, title="", rows=rows, reference=row_key(dataset, reference, chosen))


def _reported(config: Config, dataset: str, study: str, method: str, variant: str) -> dict[str, Any]:
    """Return the paper's row of a method: for its own data sets alone, and none for a refit."""
    tuned = method in REPORTED_OPTIONS
    if dataset not in _REPORTED_DATASETS or method not in REPORTED_METHODS or study == "refit":
        return {}
    if study == "internal":
        if dataset != "pad_ufes_20" or variant == "equal-budget":
            return {}
        return {"reported": REPORTED_METHODS[method], "reported_variant": BASELINE if variant == BASELINE else "tuned"}
    if config.image_dataset != "pad_ufes_20" or tuned == (variant == BASELINE) or variant == "equal-budget":
        return {}
    return {"reported": REPORTED_METHODS[method]}


def trained_datasets(config: Config) -> list[str]:
    """Return the data sets that something is trained on."""
    external = config.external_dataset
    return [config.image_dataset, *([external] if external and config.images.refit else [])]


def scores_difficulty(config: Config) -> bool:
    """Return whether an ERM of each fold scores the difficulty of its training images."""
    uses = any(METHODS[name].uses_difficulty for name in config.images.methods)
    return config.images.difficulty_source == "frozen" and uses
