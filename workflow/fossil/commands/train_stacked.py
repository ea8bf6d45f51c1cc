"""Train run configurations of the synthetic study, all seeds of a run configuration together."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from fossil.config.strict import Proxy, Strict
from fossil.config.synthetic import SyntheticTraining
from fossil.data.splits import ROLES, SyntheticData, read_problems
from fossil.design.models import RunConfig
from fossil.methods.base import Method, make_method, method_class
from fossil.runtime.files import write_parquet
from fossil.runtime.logs import logger, progress
from fossil.training.device import prepare_device
from fossil.training.grouped_methods import GroupedMethods, can_share
from fossil.training.stacked import StackedResult, score_training_samples, train_stacked


class Settings(Strict):
    """The runs and their training.

    ``scorer`` is the baseline whose scores are the difficulty of runs with a frozen one; null where none has.
    """

    job_group: str
    runs: list[RunConfig]
    seeds: list[int]
    scorer: dict[str, Any] | None
    training: SyntheticTraining


def run(settings: Settings, *, problems: list[Path], predictions: Path, history: Path) -> dict[str, Any]:
    """Read the tables of the problems, write the test predictions and the epochs of every run configuration and seed.

    Returns the seconds of training, and the runs whose loss was not finite.
    """
    prepare_device("cpu", threads=1)
    trainer = _Trainer(settings, {path.stem: path for path in problems})
    stacks = trainer.stacks()
    trained: dict[int, tuple[pd.DataFrame, pd.DataFrame]] = {}
    failed: list[dict[str, Any]] = []
    start = time.perf_counter()
    for stack in progress(stacks, description=f"train_stacked {settings.job_group}", total=len(stacks)):
        for config, data, result in trainer.train(stack):
            keys = {"scenario": config.scenario, "method": config.method, "variant": config.variant}
            tables = _predictions(data, result, settings.seeds, keys), _history(result, settings.seeds, keys)
            trained[settings.runs.index(config)] = tables
            for place, epoch in result.failed.items():
                failed.append({**keys, "seed": settings.seeds[place], "reason": f"loss not finite in epoch {epoch}"})
                logger.warning("failed: %s", failed[-1])
    seconds = time.perf_counter() - start
    columns = zip(*(trained[place] for place in range(len(settings.runs))), strict=True)
    for path, parts in zip((predictions, history), columns, strict=True):
        write_parquet(path, pd.concat(parts, ignore_index=True))
    return {"training_seconds": round(seconds, 3), "stacks": len(stacks), "failed": failed}


class _Trainer:
    """A trainer with what several runs share: problems, and frozen scores of difficulty."""

    def __init__(self, settings: Settings, files: dict[str, Path]) -> None:
        self._settings = settings
        self._files = files
        self._problems = cache(self._read)
        self._scores = cache(self._score)

    def stacks(self) -> list[list[RunConfig]]:
        """Group runs that can be trained as one stack, as many as fit the processor's cache."""
        alike: dict[str, list[RunConfig]] = {}
        for config in self._settings.runs:
            shares = can_share(method_class(config.target))
            problem = self._problems(config.scenario)[0]
            shapes = [getattr(problem, role).inputs.shape for role in ROLES]
            options = {} if shares else config.options
            key = json.dumps([config.target, options, config.proxy, config.source, shapes], sort_keys=True)
            alike.setdefault(key, []).append(config)
        most = max(1, _MODELS_IN_A_STACK // len(self._settings.seeds))
        return [runs[start : start + most] for runs in alike.values() for start in range(0, len(runs), most)]

    def train(self, runs: Sequence[RunConfig]) -> Iterator[tuple[RunConfig, list[SyntheticData], StackedResult]]:
        """Train runs as one stack; yield each with its problems and its result."""
        first = runs[0]
        proxy = first.proxy or "softmax"  # a method without difficulty never asks for scores
        scores = None
        if first.source == "frozen":
            scores = torch.cat([self._scores(config.scenario, proxy) for config in runs])
        methods = [make_method(config.target, config.options) for config in runs]
        same = all(config.options == first.options for config in runs)
        data = [problem for config in runs for problem in self._problems(config.scenario)]
        result = self._train(data, methods[0] if same else GroupedMethods(methods), proxy=proxy, scores=scores)
        for place, config in enumerate(runs):
            yield config, self._problems(config.scenario), result.part(place, of=len(runs))

    def _train(
        self, data: list[SyntheticData], method: Method, *, proxy: Proxy, scores: Tensor | None
    ) -> StackedResult:
        training, seeds = self._settings.training, self._settings.seeds
        copies = len(data) // len(seeds)
        return train_stacked(data, method, training, seeds=seeds * copies, proxy=proxy, difficulty=scores)

    def _read(self, scenario: str) -> list[SyntheticData]:
        return read_problems(self._files[scenario], self._settings.seeds)

    def _score(self, scenario: str, proxy: Proxy) -> Tensor:
        data = self._problems(scenario)
        if self._settings.scorer is None:
            raise ValueError("frozen difficulty needs the baseline that scores it; give scorer")
        scorer = self._train(data, make_method(**self._settings.scorer), proxy=proxy, scores=None)
        scores = score_training_samples(scorer.model, data, proxy=proxy)
        for place in scorer.failed:
            seed = self._settings.seeds[place]
            logger.warning("%s, seed %s: the baseline that scores difficulty failed; so do its runs", scenario, seed)
            scores[place] = torch.nan
        return scores


_MODELS_IN_A_STACK = 24


def _predictions(
    data: Sequence[SyntheticData], result: StackedResult, seeds: Sequence[int], keys: dict[str, str]
) -> pd.DataFrame:
    probabilities = result.probabilities.numpy()
    count = probabilities.shape[1]
    table = {
        "seed": np.repeat(seeds, count),
        "sample": np.tile(np.arange(count), len(seeds)),
        "target": np.concatenate([item.test.targets for item in data]),
        "probability": probabilities.flatten(),
    }
    return pd.DataFrame({**keys, **table})


def _history(result: StackedResult, seeds: Sequence[int], keys: dict[str, str]) -> pd.DataFrame:
    epochs = len(result.history)
    table = {"seed": np.repeat(seeds, epochs), "epoch": np.tile(np.arange(epochs), len(seeds))}
    for name in result.history[0]:
        table[name] = np.stack([epoch[name].double().numpy() for epoch in result.history], axis=1).flatten()
    return pd.DataFrame({**keys, **table})
