"""Generate the problems of the synthetic study, one for each scenario and seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fossil.config.strict import Strict
from fossil.data.splits import ROLES, SyntheticData, as_table
from fossil.data.synthetic import make_synthetic
from fossil.design.models import Problem
from fossil.runtime.files import sha256, write_json, write_parquet


class Settings(Strict):
    """The problems by name, and their seeds."""

    problems: dict[str, Problem]
    seeds: list[int]


def run(settings: Settings, *, problems: list[Path], descriptions: list[Path]) -> None:
    """Write a table {name}.parquet for each problem, and what is in it, with its hash, as JSON."""
    for path, description in zip(problems, descriptions, strict=True):
        problem = settings.problems[path.stem]
        described = {
            seed: make_synthetic(problem.scenario, seed=seed, augmentation=problem.augmentation)
            for seed in settings.seeds
        }
        write_parquet(path, as_table(described))
        write_json(
            description,
            {
                "sha256": sha256(path),
                "imbalance_ratio": problem.scenario.imbalance_ratio,
                "augmented": problem.augmentation is not None,
                "splits": {role: _counts(described, role) for role in ROLES},
            },
        )


def _counts(problems: dict[int, SyntheticData], role: str) -> dict[str, Any]:
    """Count rows of a split, and by seed the samples of each class, without and with augmented copies."""
    splits = {str(seed): getattr(problem, role) for seed, problem in problems.items()}
    return {
        "rows": len(next(iter(splits.values())).targets),
        "class_counts": {seed: split.class_counts for seed, split in splits.items()},
        "class_counts_of_rows": {seed: np.bincount(split.targets).tolist() for seed, split in splits.items()},
    }
