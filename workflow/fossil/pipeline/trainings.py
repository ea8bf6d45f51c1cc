"""All trainings of a run, and their records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fossil.config.strict import BASELINE
from fossil.evaluation.records import Trainings
from fossil.pipeline.files import existing
from fossil.pipeline.images import ImageJobs
from fossil.pipeline.synthetic import SyntheticJobs


def training_groups(synthetic: SyntheticJobs, images: ImageJobs) -> list[dict[str, Any]]:
    """Return the folders of all trainings: names, and folds and seeds if any."""
    studies = [study for study in images.studies if not study.endswith("-transfer")]
    trials = _group(images, images.trials_folder, [_name(row) for row in images.trial_rows])
    trials |= {"folds": images.config.trial_folds, "seeds": images.options.tuning.seeds}
    return [
        {"folder": "synthetic", "names": list(synthetic.groups)},
        *(group for study in studies for group in _study_groups(images, study)),
        trials,
    ]


def training_records(synthetic: SyntheticJobs, images: ImageJobs) -> list[str]:
    """Return the records of all trainings; with allow_missing_runs, of the finished ones."""
    groups = map(Trainings.model_validate, training_groups(synthetic, images))
    return existing([str(path) for group in groups for path in group.records(Path("results"))], config=images.config)


def _study_groups(images: ImageJobs, study: str) -> list[dict[str, Any]]:
    """Return the runs of a study, and the ERM that scores difficulty where it is no row of the study."""
    dataset = images.dataset_of(study)
    folder = f"results/{dataset}/runs"
    names = [_name(row) for row in images.rows(study)]
    erm, seed = f"erm-{BASELINE}", images.options.difficulty_seed
    scores = images.scores_difficulty or (dataset == images.dataset and images.external == "msld_v2")
    apart = scores and not (erm in names and seed in images.options.seeds)
    group = _group(images, folder, names) | {"folds": images.folds_of(dataset)}
    return [group, *([group | {"names": [erm], "seeds": [seed]}] if apart else [])]


def _group(images: ImageJobs, folder: str, names: list[str]) -> dict[str, Any]:
    return {"folder": folder.removeprefix("results/"), "names": names, "seeds": images.options.seeds}


def _name(row: Any) -> str:
    return f"{row.method}-{row.variant}"
