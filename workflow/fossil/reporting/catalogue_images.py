"""Which tables of the studies on images there are, and what each needs to know."""

from __future__ import annotations

from fossil.config.datasets import DATASETS, DatasetName
from fossil.config.root import Config
from fossil.config.tuning import SEARCHED
from fossil.design.comparisons import Block
from fossil.design.image_studies import internal_study
from fossil.reporting.entries import Table
from fossil.reporting.experiment import Experiment

_PERFORMANCE = ("auc", "balanced_accuracy", "g_mean", "f1", "recall")
_REGRETS = (
    *("static_regret", "dynamic_regret", "area_under_regret_curve"),
    *("area_under_risk_coverage", "expected_calibration_error", "brier_score"),
)


def image_tables(config: Config, blocks: dict[str, list[Block]]) -> dict[str, Table]:
    """Make the entries of the tables of studies on images, but those of the search, by file name."""
    internal, external = internal_study(config), config.external_dataset
    title = Experiment.of(config).description(config.image_dataset)
    rows = _rows_sentence(config)
    found = {
        "final-tuning": Table(
            internal,
            f"{title}: {rows}.",
            (*_PERFORMANCE, "dynamic_regret"),
        ),
        "internal-regret": Table(internal, f"{title}: regret and calibration, {rows}.", _REGRETS, printed=False),
    }
    if f"{external}-transfer" in blocks:
        experiment = Experiment.of(config)
        title = f"{experiment.description(external)}: models trained on {experiment.trained_on}, {rows}."
        found["external-validation"] = Table(
            f"{external}-transfer",
            title,
            (*_PERFORMANCE, "generalization_gap"),
        )
    if f"{external}-refit" in blocks:
        title = f"{Experiment.of(config).description(external)}: models trained there, {rows}."
        found["external-refit"] = Table(
            f"{external}-refit",
            title,
            (*_PERFORMANCE, "dynamic_regret"),
        )
    return found


def difficulty_description(config: Config, dataset: DatasetName, *, scored_by: DatasetName) -> tuple[str, list[str]]:
    """Say whose difficulty was scored by models of which data set: the caption's start, and sentences below."""
    proxy = config.images.difficulty_proxy
    models = f"an ERM of seed {config.images.difficulty_seed} trained on the fold's training images"
    thirds = "Stages are thirds by quantile of each model's scores."
    if dataset == scored_by:
        title = f"{DATASETS[dataset]}: difficulty of the training images ({proxy}), scored by {models}"
        return title, [thirds]
    notes = [thirds, "The paper does not say which of its models scored."]
    if config.datasets.msld_v2.construction == "originals":
        notes.append("The paper's images are originals and augmented copies; these are originals alone.")
    title = Experiment.of(config).description(dataset)
    return f"{title}: difficulty ({proxy}), scored by {models} of {DATASETS[scored_by]}", notes


def _rows_sentence(config: Config) -> str:
    tuned = any(variant in config.images.variants for variant in (*SEARCHED, "printed"))
    return "every method as configured and tuned" if tuned else "every method as configured"
