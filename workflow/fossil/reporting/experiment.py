"""A run as its figures and tables see it: the configuration, the studies that follow from it, and words for titles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fossil.config.datasets import DATASETS, PHANTOMS
from fossil.config.root import Config
from fossil.design.comparisons import Block
from fossil.design.image_studies import image_studies, internal_study, operating_points
from fossil.design.synthetic_studies import studies


@dataclass(frozen=True)
class Experiment:
    """The configuration, and the blocks of every study of the run by the study's name."""

    config: Config
    blocks: Mapping[str, list[Block]]

    @classmethod
    def of(cls, config: Config) -> Experiment:
        """Derive the studies from the configuration."""
        return cls(config, {**studies(config), **image_studies(config)})

    def study(self, name: str) -> list[Block]:
        """Return the blocks of a study; none where the run lacks it."""
        return self.blocks.get(name, [])

    @property
    def internal(self) -> str:
        """Name of the study of the data set that is trained on."""
        return internal_study(self.config)

    @property
    def transfer(self) -> str:
        """Name of the study of the same models on the external data set, which a run may lack."""
        return f"{self.config.external_dataset}-transfer"

    @property
    def refit(self) -> str:
        """Name of the study of models that are trained on the external data set, which a run may lack."""
        return f"{self.config.external_dataset}-refit"

    @property
    def operating_points(self) -> str:
        """Name of what is measured at other thresholds than one half."""
        return operating_points(self.config)

    @property
    def ratio(self) -> str:
        """Imbalance ratio of the headline scenario, in words."""
        return f"imbalance ratio {self.config.synthetic.scenarios[self.config.synthetic.headline].imbalance_ratio:g}:1"

    @property
    def scenario(self) -> str:
        """The headline scenario, in words."""
        return f"{self.ratio} (scenario {self.config.synthetic.headline})"

    @property
    def datasets(self) -> list[str]:
        """The image data sets: the one that is trained on, and the external one if any."""
        external = self.config.external_dataset
        return [self.config.image_dataset, *([] if external is None else [external])]

    @property
    def trained_on(self) -> str:
        """Name of the data set that is trained on, next to the external one; of two phantoms it is the first."""
        drawn = self.config.image_dataset in PHANTOMS and self.config.external_dataset in PHANTOMS
        return "the first phantom" if drawn else DATASETS[self.config.image_dataset]

    def description(self, dataset: str) -> str:
        """Describe a data set: the start of the caption of its table."""
        return self.config.datasets[dataset].description
