"""Difficulty of images, by the models that scored it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.config.datasets import DATASETS
from fossil.design.image_studies import scores_difficulty, trained_datasets
from fossil.reporting.entries import TableEntry

if TYPE_CHECKING:
    from fossil.reporting.experiment import Experiment


def tables(experiment: Experiment) -> Iterator[TableEntry]:
    """Describe a table of each data set whose images are scored: by models of its own, or by those of another."""
    config = experiment.config
    for dataset in trained_datasets(config) if scores_difficulty(config) else []:
        yield _entry(
            experiment,
            name=f"difficulty-{dataset.replace('_', '-')}",
            dataset=dataset,
            title=f"{DATASETS[dataset]}: difficulty of the training images",
            caption="Difficulty of the training images as each fold's baseline scored it.",
            scored_by=dataset,
            notes=[],
        )
    if config.external_dataset == "msld_v2":
        notes = ["The paper does not say which of its models scored."]
        if config.datasets.msld_v2.construction == "originals":
            notes.append("The paper's images are originals and augmented copies; these are originals alone.")
        yield _entry(
            experiment,
            name="msld-statistics",
            dataset="msld_v2",
            title=f"{experiment.description('msld_v2')}: difficulty",
            caption="Difficulty of every image of MSLD v2.0, with the paper's numbers.",
            scored_by=config.image_dataset,
            notes=notes,
        )


def _entry(
    experiment: Experiment,
    *,
    name: str,
    dataset: str,
    title: str,
    caption: str,
    scored_by: str,
    notes: list[str],
) -> TableEntry:
    images = experiment.config.images
    models = f"an ERM of seed {images.difficulty_seed} trained on the fold's training images"
    models += f" of {DATASETS[scored_by]}" if scored_by != dataset else ""
    whole = f"{title} ({images.difficulty_proxy}), scored by {models}"
    return TableEntry(
        name=name,
        study=dataset,
        command="tabulate_difficulty",
        title=whole,
        caption=caption,
        section="Data",
        place=20,
        datasets=(dataset,) if scored_by == dataset else (dataset, scored_by),
        settings={
            "title": whole,
            "label": name,
            "notes": ["Stages are thirds by quantile of each model's scores.", *notes],
            "comparable": images.difficulty_proxy == "softmax",  # the paper's
        },
    )
