"""The jobs that measure and compare: their files and settings."""

from __future__ import annotations

from typing import Any

from fossil.config.root import Config
from fossil.design.comparisons import Block, Row
from fossil.design.image_studies import fold_ratio
from fossil.design.synthetic_studies import configured_levels
from fossil.pipeline.images import ImageJobs
from fossil.pipeline.synthetic import SyntheticJobs


class EvaluationJobs:
    """Jobs that turn runs into metrics and metrics into tests, by the configuration."""

    def __init__(self, config: Config, synthetic: SyntheticJobs, images: ImageJobs) -> None:
        self.config = config
        self.images = images
        self.blocks: dict[str, list[Block]] = {**synthetic.studies, **images.studies}
        # What tests of differences depend on: the level of significance changes none of them.
        self.tests = config.statistics.model_dump(mode="json", exclude={"alpha"})

    def stacked_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``collect_stacked``."""
        rows = [row for block in self.blocks[wildcards.study] for row in block.rows]
        return {"study": wildcards.study, "rows": rows, "seeds": self.config.synthetic.seeds}

    def folds_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``collect_folds`` for a study."""
        dataset = self.images.dataset_of(wildcards.study)
        return self._runs(wildcards.study, self.images.rows(wildcards.study), folds=self.images.folds_of(dataset))

    def runs_option(self, wildcards: Any) -> dict[str, str]:
        """Return the folder of a study's runs as an option of a command."""
        return {"runs": f"results/{self.images.dataset_of(wildcards.study)}/runs"}

    def transfer_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``collect_transfer``."""
        return self._runs(wildcards.study, self.images.rows(wildcards.study), folds=self.config.image_folds)

    def operating_point_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``measure_operating_points``."""
        rows, recall = self.images.rows(self.images.internal), self.config.images.operating_recall
        return {**self._runs(self.images.operating_points, rows, folds=self.config.image_folds), "recall": recall}

    def trial_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``collect_folds`` for all trials."""
        return {
            **self._runs(f"{self.images.dataset}-trials", self.images.trial_rows, folds=self.config.trial_folds),
            "seeds": self.config.images.tuning.seeds,
            "role": "validation",
        }

    def comparison_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``compare_methods``."""
        return {
            **self._compared(wildcards.study),
            "study": wildcards.study,
            "statistics": self.tests,
            "test_train_ratio": fold_ratio(self.config, wildcards.study),
        }

    def rank_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``rank_methods``."""
        return {**self._compared(wildcards.study), "study": wildcards.study, "alpha": self.config.statistics.alpha}

    def effect_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``measure_effects``."""
        return {**self._compared("sensitivity"), "base": configured_levels(self.config), "statistics": self.tests}

    def _compared(self, study: str) -> dict[str, Any]:
        return {"blocks": self.blocks.get(study, []), "allow_missing_runs": self.config.allow_missing_runs}

    def _runs(self, study: str, rows: list[Row], *, folds: int) -> dict[str, Any]:
        return {"study": study, "rows": rows, "folds": folds, "seeds": self.config.images.seeds}
