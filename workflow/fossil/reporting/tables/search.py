"""The search for options: its best candidates, and what their choice earns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fossil.design.candidates import described_search, searches
from fossil.design.image_studies import trials
from fossil.reporting.entries import TableEntry

if TYPE_CHECKING:
    from fossil.reporting.experiment import Experiment


def tables(experiment: Experiment) -> Iterator[TableEntry]:
    """Describe the two tables of the search, which one job makes."""
    if not searches(experiment.config):
        return
    config, tuning = experiment.config, experiment.config.images.tuning
    title = experiment.description(config.image_dataset)
    settings = {
        "dataset": config.image_dataset,
        "title": title,
        "methods": [described_search(config, method) for method in trials(config)],
        "folds": config.trial_folds,
        "seeds": tuning.seeds,
        "epochs": tuning.epochs,
    }
    captions = {
        "proxy-top3": "The best candidates of each method's search for options.",
        "tuning": "Configured and tuned options, and how far short trials and the whole study agree.",
    }
    for place, (name, caption) in enumerate(captions.items(), start=30):
        yield TableEntry(
            name=name,
            study=experiment.internal,
            command="tabulate_tuning",
            title=title,
            caption=caption,
            section="Image study",
            place=place,
            datasets=(config.image_dataset,),
            settings=settings,
        )
