"""The jobs of the studies on images: their trainings, inputs and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from fossil.config.methods import METHODS
from fossil.config.root import Config
from fossil.config.strict import BASELINE
from fossil.config.tuning import SEARCHED
from fossil.design.candidates import candidates
from fossil.design.comparisons import Row
from fossil.design.image_studies import (
    image_studies,
    internal_study,
    operating_points,
    scores_difficulty,
    trained_datasets,
    trials,
    variant_overrides,
)
from fossil.design.models import Candidate
from fossil.pipeline.files import RUN_FILES, existing, method_module

Paths = list[str]


class ImageJobs:
    """Jobs that divide images, train on them and apply the models, by the configuration."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.options = config.images
        self.dataset = config.image_dataset
        self.external = config.external_dataset
        self.studies = image_studies(config)
        self.internal = internal_study(config)
        self.operating_points = operating_points(config)
        self.trials = trials(config)
        self.training_folder = f"results/{self.dataset}/runs"
        self.trials_folder = f"results/{self.dataset}/trials"
        self.transfer_folder = f"results/{self.external}/transfer"

    @property
    def datasets(self) -> list[str]:
        """Return all image data sets of the run."""
        return [self.dataset] if self.external is None else [self.dataset, self.external]

    @property
    def trained(self) -> list[str]:
        """Return the data sets that something is trained on."""
        return list(trained_datasets(self.config))

    @cached_property
    def scores_difficulty(self) -> bool:
        """Return whether an ERM of each fold scores the difficulty of its training images."""
        return scores_difficulty(self.config)

    def dataset_of(self, study: str) -> str:
        """Return the data set of a study."""
        return self.studies[study][0].rows[0].scenario

    def rows(self, study: str) -> list[Row]:
        """Return the rows of a study."""
        return self.studies[study][0].rows

    def folds_of(self, dataset: str) -> int:
        """Return the number of folds of a data set; a split column counts as one."""
        return self.config.image_folds if dataset == self.dataset else self.options.folds

    # Data and weights

    @property
    def array(self) -> str:
        """Return the decoded images of a data set."""
        return f"data/processed/{{dataset}}/images-{self.options.training.size}.npy"

    @property
    def array_description(self) -> str:
        """Return the files that describe these, with their hash."""
        return f"data/processed/{{dataset}}/images-{self.options.training.size}.json"

    @property
    def properties(self) -> str:
        """Return the file of the properties of every image."""
        return f"data/processed/{{dataset}}/images-{self.options.training.size}.parquet"

    @property
    def weights(self) -> Paths:
        """Return the backbone's initial weights, if any."""
        return (
            [] if self.options.weights == "none" else [f"data/raw/weights/{self.options.training.backbone}.safetensors"]
        )

    @property
    def weights_descriptions(self) -> Paths:
        """Return the files that describe these, with their hash."""
        return [path.replace(".safetensors", ".json") for path in self.weights]

    def weights_file(self, wildcards: Any = None) -> Paths:
        """Return the user's file of weights, if any."""
        return [str(Path(self.options.weights).expanduser())] if self._weights_source == "file" else []

    def weights_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``fetch_weights``."""
        return {"backbone": wildcards.backbone, "source": self._weights_source}

    @property
    def _weights_source(self) -> str:
        return "file" if self.options.weights.endswith(".safetensors") else self.options.weights

    def decoding_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``decode_images``."""
        return {"size": int(wildcards.size), "interpolation": self.options.training.interpolation}

    def folds_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``make_folds``."""
        return {
            "folds": self.folds_of(wildcards.dataset),
            "validation_fraction": self.options.validation_fraction,
            "seed": self.options.fold_seed,
        }

    # Difficulty

    def scoring_model(self, dataset: str, file: str) -> str:
        """Return a file of the ERM that scores difficulty: the study's run of the fold and the seed of the scores."""
        return f"results/{dataset}/runs/erm-{BASELINE}/fold{{fold}}-seed{self.options.difficulty_seed}/{file}"

    def scoring_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``score_difficulty`` for the training images of a fold."""
        return self.external_scoring_settings | {"fold": int(wildcards.fold)}

    @property
    def external_scoring_settings(self) -> dict[str, Any]:
        """Return the settings of ``score_difficulty`` for all images of another data set."""
        return {"proxy": self.options.difficulty_proxy, "training": self.options.training, "fold": None}

    # Training

    def difficulty_file(self, wildcards: Any) -> Paths:
        """Return the scores of difficulty that a training reads."""
        if not METHODS[wildcards.method].uses_difficulty or self.options.difficulty_source == "online":
            return []
        return [f"results/{wildcards.dataset}/difficulty/fold{wildcards.fold}.parquet"]

    def tuned_file(self, wildcards: Any) -> Paths:
        """Return the options that the search chose on the data set that is trained on, for every data set."""
        searched = wildcards.variant in SEARCHED
        return [f"results/{self.dataset}/tuned/{wildcards.method}-{wildcards.variant}.json"] if searched else []

    def training_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``train_fold``."""
        overrides = variant_overrides(wildcards.method, wildcards.variant)
        return {**self._settings(wildcards, overrides), "training": self.options.training}

    def trial_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of a trial: it predicts validation images alone, so that no test image decides."""
        trial = next(trial for trial in self.trials[wildcards.method] if trial.variant == wildcards.variant)
        training = self.options.training.model_copy(update={"epochs": self.options.tuning.epochs})
        return {**self._settings(wildcards, trial.options), "training": training, "roles": ["validation"]}

    def _settings(self, wildcards: Any, overrides: Any) -> dict[str, Any]:
        online = METHODS[wildcards.method].uses_difficulty and self.options.difficulty_source == "online"
        return {
            "method": self.config.method_settings(wildcards.method, overrides),
            "method_name": f"{wildcards.method}-{wildcards.variant}",
            "fold": int(wildcards.fold),
            "seed": int(wildcards.seed),
            "online": self.options.difficulty_proxy if online else None,
        }

    def method_modules(self, wildcards: Any) -> list[str]:
        """Return the module of the method that a job trains."""
        return [method_module(wildcards.method)]

    def training_paths(self, wildcards: Any) -> dict[str, str | Paths]:
        """Return the paths of a training's checkpoint and of its event files."""
        events = [f"results/logs/tensorboard/{wildcards.dataset}"] if self.options.tensorboard else []
        return {"checkpoint": self._checkpoint(wildcards, "runs"), "events": events}

    def trial_paths(self, wildcards: Any) -> dict[str, str]:
        """Return the path of a trial's checkpoint."""
        return {"checkpoint": self._checkpoint(wildcards, "trials")}

    def _checkpoint(self, wildcards: Any, kind: str) -> str:
        name = f"{wildcards.method}-{wildcards.variant}/fold{wildcards.fold}-seed{wildcards.seed}"
        return f"results/{wildcards.dataset}/{kind}/{name}/checkpoint.pt"

    def runs(self, study: str) -> Paths:
        """Return the files of every training of a study in folds."""
        dataset = self.dataset_of(study)
        return self._files(
            f"results/{dataset}/runs",
            [f"{row.method}-{row.variant}" for row in self.rows(study)],
            folds=self.folds_of(dataset),
            seeds=self.options.seeds,
        )

    def study_runs(self, wildcards: Any) -> Paths:
        """Return the files of every training of a job's study."""
        return self.runs(wildcards.study)

    def _files(self, folder: str, names: Iterable[str], *, folds: int, seeds: Sequence[int]) -> Paths:
        paths = [
            f"{folder}/{name}/fold{fold}-seed{seed}/{file}"
            for name in names
            for fold in range(folds)
            for seed in seeds
            for file in RUN_FILES
        ]
        return existing(paths, config=self.config)

    # The search for options

    @cached_property
    def trial_rows(self) -> list[Row]:
        """Return one row for each set of options of the trials."""
        return [
            Row(scenario=self.dataset, method=method, variant=variant, label=variant)
            for method, variant in _trained(trial for tried in self.trials.values() for trial in tried)
        ]

    def trial_runs(self, wildcards: Any = None) -> Paths:
        """Return the files of all trials."""
        return self._trial_files(trial for tried in self.trials.values() for trial in tried)

    def choosable_runs(self, wildcards: Any) -> Paths:
        """Return the files of a method's trials: of the configured options, and of all that may be chosen."""
        tried = self.trials[wildcards.method]
        return self._trial_files(trial for trial in tried if trial.may_win or trial.variant == BASELINE)

    def _trial_files(self, tried: Iterable[Candidate]) -> Paths:
        return self._files(
            self.trials_folder,
            [f"{method}-{variant}" for method, variant in _trained(tried)],
            folds=self.config.trial_folds,
            seeds=self.options.tuning.seeds,
        )

    def selection_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``select_options``."""
        return {
            "dataset": wildcards.dataset,
            "method": wildcards.method,
            "candidates": self._choosable(wildcards.method, wildcards.variant),
            "folds": self.config.trial_folds,
            "seeds": self.options.tuning.seeds,
            "rule": wildcards.variant,
        }

    def _choosable(self, method: str, variant: str) -> list[Candidate]:
        """Return the candidates that may be chosen, alike for every budget where a variant knows none.

        So neither candidates that are only reported nor another budget choose, and train, again.
        """
        choosable = [candidate for candidate in candidates(self.config, method) if candidate.may_win]
        if variant == "equal-budget":
            return choosable
        return [candidate.model_copy(update={"in_budget": True}) for candidate in choosable]

    def chosen_options(self, wildcards: Any) -> Paths:
        """Return the options that the search chose, of every method and rule of the study."""
        rows = [row for row in self.rows(self.internal) if row.variant in SEARCHED]
        paths = [f"results/{self.dataset}/tuned/{row.method}-{row.variant}.json" for row in rows]
        return existing(paths, config=self.config)

    # External validation

    def transferred_files(self, file: str) -> Callable[[Any], Paths]:
        """Return an input function of one file of each model of a row."""

        def files(wildcards: Any) -> Paths:
            folder = f"{self.training_folder}/{wildcards.method}-{wildcards.variant}"
            return [f"{folder}/fold{fold}-seed{seed}/{file}" for fold, seed in self._transferred(wildcards)]

        return files

    def prediction_settings(self, wildcards: Any) -> dict[str, Any]:
        """Return the settings of ``predict_external``."""
        runs = [{"fold": fold, "seed": seed} for fold, seed in self._transferred(wildcards)]
        return {"training": self.options.training, "runs": runs}

    def external_runs(self, wildcards: Any) -> Paths:
        """Return the predictions of every row; with allow_missing_runs of those that have a model."""
        return [
            f"{self.transfer_folder}/{row.method}-{row.variant}/{file}"
            for row in self.rows(wildcards.study)
            if self._transferred(row)
            for file in ["run.json", "predictions.parquet"]
        ]

    def _transferred(self, row: Any) -> list[tuple[int, int]]:
        """Return the folds and seeds of a row's models; with allow_missing_runs of those that are trained."""
        folder = f"{self.training_folder}/{row.method}-{row.variant}"
        runs = [(fold, seed) for fold in range(self.config.image_folds) for seed in self.options.seeds]
        return [
            (fold, seed)
            for fold, seed in runs
            if existing([f"{folder}/fold{fold}-seed{seed}/run.json"], config=self.config)
        ]


def _trained(tried: Iterable[Candidate]) -> list[tuple[str, str]]:
    """Return methods and variants of the trials that are trained, each once."""
    return list(dict.fromkeys((trial.method, trial.trained_as) for trial in tried))
