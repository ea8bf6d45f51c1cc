"""The jobs of the synthetic section: their trainings, and the files of the runs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from fossil.config.methods import METHODS
from fossil.config.root import Config
from fossil.config.strict import BASELINE
from fossil.design.comparisons import row_key
from fossil.design.job_groups import job_groups, problems
from fossil.design.synthetic_studies import studies
from fossil.pipeline.files import RUN_FILES, existing, method_module


class SyntheticJobs:
    """Jobs that make problems and train on them, by the configuration."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.groups = job_groups(config)
        self.problems = problems(config)
        self.studies = studies(config)

    @cached_property
    def grid(self) -> list[str]:
        """Return the job groups of the grid of FOSSIL's options."""
        return [name for name in self.groups if name.startswith("sensitivity-")]

    def problem_tables(self, wildcards: Any) -> list[str]:
        """Return the problems that a job group trains on."""
        return [f"data/processed/synthetic/{scenario}.parquet" for scenario in self._scenarios(wildcards.job_group)]

    def problem_descriptions(self, wildcards: Any) -> list[str]:
        """Return the files that describe these problems, with their hashes."""
        return [f"data/processed/synthetic/{scenario}.json" for scenario in self._scenarios(wildcards.job_group)]

    def training_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``train_stacked``."""
        return {
            "job_group": wildcards.job_group,
            "runs": self.groups[wildcards.job_group],
            "seeds": self.config.synthetic.seeds,
            "scorer": self.config.method_settings("erm") if self._has_frozen(wildcards.job_group) else None,
            "training": self.config.synthetic.training,
        }

    def method_modules(self, wildcards: Any) -> list[str]:
        """Return the modules of the methods that a job group trains, ERM's where it scores difficulty."""
        frozen = {"erm"} if self._has_frozen(wildcards.job_group) else set()
        return sorted(method_module(name) for name in {run.method for run in self.groups[wildcards.job_group]} | frozen)

    def study_runs(self, wildcards: Any) -> list[str]:
        """Return the files of every job group of a study."""
        return self._files(self._groups_of(wildcards.study), RUN_FILES)

    def study_records(self, wildcards: Any) -> list[str]:
        """Return the records of every job group of a study."""
        return [path for path in self.study_runs(wildcards) if path.endswith("run.json")]

    def histories(self, study: str) -> list[str]:
        """Return the epochs of every job group of a study."""
        return self._files(self._groups_of(study), ["history.parquet"])

    def method_histories(self, wildcards: Any) -> list[str]:
        """Return the epochs of the job groups that train methods, as configured, on the headline scenario."""
        synthetic = self.config.synthetic
        return self._files(
            self._training({row_key(synthetic.headline, method, BASELINE) for method in synthetic.methods}),
            ["history.parquet"],
        )

    def theory_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``verify_theory``."""
        names = self.config.synthetic.methods
        comparable = [name for name in names if not (METHODS[name].own_loss or METHODS[name].uses_validation_split)]
        return {"methods": names, "comparable": comparable, "scenario": self.config.synthetic.headline, "seed": 0}

    def _scenarios(self, job_group: str) -> list[str]:
        return sorted({run.scenario for run in self.groups[job_group]})

    def _has_frozen(self, job_group: str) -> bool:
        return any(run.source == "frozen" for run in self.groups[job_group])

    def _groups_of(self, study: str) -> list[str]:
        return self._training({row.key for block in self.studies[study] for row in block.rows})

    def _training(self, keys: set[str]) -> list[str]:
        """Return the job groups that train some rows, in the order of all job groups."""
        return [name for name, runs in self.groups.items() if any(run.key in keys for run in runs)]

    def _files(self, groups: Iterable[str], names: Iterable[str]) -> list[str]:
        names = list(names)
        return existing([f"results/synthetic/{group}/{name}" for group in groups for name in names], config=self.config)
