"""What a run was, in plain sentences: data sets, methods, seeds, folds."""

from __future__ import annotations

from fossil.config.datasets import DATASETS, PHANTOMS
from fossil.config.methods import METHODS
from fossil.config.root import Config
from fossil.config.tuning import VARIANT_LABELS
from fossil.design.candidates import candidates, searches
from fossil.reporting.experiment import Experiment

PHANTOM_SENTENCE = (
    "The images are phantoms, which the pipeline draws: what is measured on them says nothing of patients."
)
"""What must be said wherever results on images are, if they are drawn."""

_WEIGHTS = {
    "none": "from random weights",
    "package": "from ImageNet weights of an installed package",
    "hub": "from weights of the Hugging Face hub",
}


def study_facts(experiment: Experiment) -> dict[str, str]:
    """Say in a few words what is trained on what, by headings such as "Image data"; plain text."""
    config = experiment.config
    found = {**_of_synthetic(config), **_of_images(experiment)}
    if config.allow_missing_runs:
        found["Missing runs"] = "allowed: tables count the runs that they lack"
    return found


def is_drawn(config: Config) -> bool:
    """Whether any images of the run are phantoms."""
    return bool({config.image_dataset, config.external_dataset} & set(PHANTOMS))


def _of_synthetic(config: Config) -> dict[str, str]:
    synthetic = config.synthetic
    ratios = ", ".join(f"{one.imbalance_ratio:g}:1" for one in synthetic.scenarios.values())
    samples = sorted({one.n_samples for one in synthetic.scenarios.values()})
    return {
        "Synthetic data": f"imbalance ratios {ratios}; {' or '.join(map(str, samples))} samples each; "
        f"{synthetic.training.epochs} epochs; {_seeds(synthetic.seeds)}",
        "Methods on synthetic data": _labels(synthetic.methods),
    }


def _of_images(experiment: Experiment) -> dict[str, str]:
    config = experiment.config
    images, training = config.images, config.images.training
    folds = f"{config.image_folds} folds" if config.image_folds > 1 else "one division"
    variants = "; ".join(VARIANT_LABELS[variant] or "as configured" for variant in images.variants)
    found = {
        "Image data": f"{experiment.description(config.image_dataset)}; {folds}, {_seeds(images.seeds)}",
        "Network": f"{training.backbone} at {training.size} pixels, "
        f"{_WEIGHTS.get(images.weights, 'from weights of a file')}, {training.epochs} epochs",
        "Methods on images": _labels(images.methods),
        "Their options": variants,
    }
    if (external := config.external_dataset) is not None:
        ways = ["models of the image data are tried on it"] * images.transfer + [
            "models are trained on it"
        ] * images.refit
        found["External data"] = f"{DATASETS[external]}; {' and '.join(ways) or 'described only'}"
    if searches(config):
        counted = {method: len(candidates(config, method)) for method in images.methods}
        shown = ", ".join(f"{METHODS[method].label} {count}" for method, count in counted.items() if count)
        found["Search"] = f"candidates: {shown}; {images.tuning.epochs} epochs each"
    return found


def _seeds(seeds: list[int]) -> str:
    return f"{len(seeds)} seed{'s' if len(seeds) > 1 else ''} ({', '.join(map(str, seeds))})"


def _labels(methods: list[str]) -> str:
    """Name methods; a label may hold a comma."""
    return "; ".join(METHODS[name].label for name in methods)
