"""The whole configuration: the only place where defaults live.

Every key of ``config/config.yaml`` is a field of these models. ``make schema`` generates the JSON schema
(``workflow/schemas/config.schema.json``) and the table in ``config/README.md`` from them. Pipeline steps never read the
configuration: they receive the resolved values that they use, as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from fossil.config import checks
from fossil.config.datasets import Datasets
from fossil.config.methods import METHODS
from fossil.config.methods.fossil import FossilOptions
from fossil.config.publication import Publishing
from fossil.config.statistics import Statistics
from fossil.config.strict import Name, Strict, deep_merge
from fossil.config.studies import ImageStudy, SyntheticStudy


class Config(Strict):
    """The whole study."""

    synthetic: SyntheticStudy = SyntheticStudy()
    datasets: Datasets = Datasets()
    images: ImageStudy = ImageStudy()
    methods: dict[Name, dict[str, Any]] = Field(
        {}, description="Options of the methods, by name; what is not named keeps its default."
    )
    statistics: Statistics = Statistics()
    allow_missing_runs: bool = Field(
        False,
        description="Evaluate the available runs, train no others, and count the missing ones in every table; "
        "otherwise missing runs are made, and a failed one is an error.",
    )
    publish: Publishing = Publishing()

    @model_validator(mode="after")
    def _possible(self) -> Self:
        studies = (("synthetic", self.synthetic), ("images", self.images))
        problems = [
            *checks.weights_problems(self.images),
            *checks.scenario_problems(self.synthetic),
            *(problem for name, options in self.methods.items() for problem in checks.options_problems(name, options)),
            *(problem for key, study in studies for problem in checks.study_problems(key, study)),
            *checks.alpha_problems("synthetic", self.synthetic, 1, self.statistics),
            *checks.alpha_problems("images", self.images, self.image_folds, self.statistics),
        ]
        if not problems:
            fossil = FossilOptions.model_validate(self.methods.get("fossil", {}))
            problems += checks.grid_problems(self.synthetic, fossil)
        problems += checks.dataset_problems(self.datasets, self.images)
        if not problems:
            problems += checks.external_problems(self)
        if not problems and self.image_dataset == "phantom":
            problems += checks.phantom_problems("phantom", self.datasets.phantom, self.images.folds)
        if problems:
            raise ValueError("\n".join(dict.fromkeys(problems)))
        return self

    def method_settings(self, name: str, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return a method's class and every option; overrides replace configured options."""
        entry = METHODS[name]
        options = entry.options.model_validate(deep_merge(self.methods.get(name, {}), overrides or {}))
        return {"target": entry.target, "options": options.model_dump(mode="json")}

    @property
    def image_dataset(self) -> str:
        """Return the name of the data set of the image study."""
        return self.images.dataset or next(iter(self.datasets.photographs()), "phantom")

    @property
    def external_dataset(self) -> str | None:
        """Return the name of the external data set that models of the image study are tested on, or None."""
        if "msld_v2" in self.datasets.available() and self.image_dataset != "msld_v2":
            return "msld_v2"
        drawn = self.image_dataset == "phantom" and (self.images.transfer or self.images.refit)
        return "phantom_external" if drawn else None

    @property
    def image_folds(self) -> int:
        """Return the number of folds of the image study's data set; a split column counts as one."""
        return 1 if self.datasets[self.image_dataset].has_split else self.images.folds

    @property
    def trial_folds(self) -> int:
        """Return the number of folds on which candidates are tried."""
        return min(self.images.tuning.folds, self.image_folds)
