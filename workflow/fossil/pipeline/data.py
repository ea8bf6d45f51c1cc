"""Places and readers of each image data set's files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fossil.config.datasets import DATASETS
from fossil.config.root import Config
from fossil.config.strict import ConfigError
from fossil.runtime.digest import listing_digest, table_digest


@dataclass(frozen=True)
class DataJobs:
    """Jobs that turn photographs into manifests, arrays and folds; a folder of the user's is only read."""

    config: Config

    def require_folders(self) -> None:
        """Check the user's folders, since Snakemake takes an error in an input function for a missing file.

        Raises
        ------
        ConfigError
            If a folder or a table that the configuration names is missing.
        """
        for name in DATASETS:
            if (problem := self.config.datasets[name].folder_problem()) is not None:
                raise ConfigError(f"datasets.{name}.{problem}")

    def is_local(self, dataset: str) -> bool:
        """Return whether a data set is in a folder of the user's."""
        return self.config.datasets[dataset].local_folder is not None

    def is_downloaded(self, dataset: str) -> bool:
        """Return whether the configuration asks for a download and names no folder."""
        return getattr(self.config.datasets[dataset], "download", False) and not self.is_local(dataset)

    def local_paths(self) -> list[str]:
        """Return the folders and files of the user's that the configuration names."""
        paths = [self.config.datasets[name].own_path for name in DATASETS]
        return [str(path) for path in paths if path is not None]

    def root(self, wildcards: Any) -> str:
        """Return the folder that a data set's files are in."""
        return str(self.config.datasets[wildcards.dataset].local_folder or f"data/raw/{wildcards.dataset}")

    def root_option(self, wildcards: Any) -> dict[str, str]:
        """Return the folder as an option of a command."""
        return {"root": self.root(wildcards)}

    def described_files(self, wildcards: Any) -> list[str]:
        """Return the files that describe a data set: its table, and the record of its drawing or download."""
        name = wildcards.dataset
        metadata = self.config.datasets[name].metadata_file
        files = [] if metadata is None else [str(Path(self.root(wildcards), metadata))]
        return files if self.is_local(name) else [*files, f"data/raw/{name}.json"]

    def image_folders(self, wildcards: Any) -> list[str]:
        """Return the folder of images that the pipeline fills; none for a data set of the user's."""
        return [] if self.is_local(wildcards.dataset) else [f"{self.root(wildcards)}/images"]

    def listing(self, wildcards: Any) -> str:
        """Digest the names and sizes of the user's images, so that an added or replaced one is noticed."""
        if not self.is_local(wildcards.dataset):
            return ""
        if wildcards.dataset == "custom":
            options = self.config.datasets.custom
            assert options.own_path is not None
            return table_digest(options.own_path, options.image_column)
        return listing_digest(Path(self.root(wildcards)))

    def manifest_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``make_manifest``."""
        options = self.config.datasets[wildcards.dataset]
        return {"reader": options.reader, "options": options.reader_options}

    def reader_modules(self, wildcards: Any) -> list[str]:
        """Return the module that reads a data set's layout."""
        return [f"fossil.data.{self.config.datasets[wildcards.dataset].reader}"]
