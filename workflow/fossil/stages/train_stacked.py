"""Train all seeds of one method on one synthetic scenario, together."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from fossil.config import Strict, SyntheticScenario, SyntheticTraining
from fossil.data.synthetic import SyntheticData, make_synthetic
from fossil.difficulty import Proxy
from fossil.files import write_parquet
from fossil.logs import logger, progress
from fossil.methods.base import make_method
from fossil.training.device import prepare_device
from fossil.training.stacked import StackedResult, score_training_samples, train_stacked


class Settings(Strict):
    """A scenario, a method and how to train.

    ``scorer`` is the baseline whose frozen scores are the difficulty; null for scores of the trained models themselves.
    """

    scenario: SyntheticScenario
    scenario_name: str
    method: dict[str, Any]
    method_name: str
    seeds: list[int]
    proxy: Proxy
    scorer: dict[str, Any] | None
    training: SyntheticTraining


def run(settings: Settings, *, predictions: Path, history: Path) -> dict[str, Any]:
    """Write the test predictions and the epochs of every seed; difficulty is frozen where there is a scorer."""
    prepare_device("cpu", threads=1)
    method = make_method(**settings.method)
    data = [make_synthetic(settings.scenario, seed=seed) for seed in settings.seeds]
    scores = _frozen_scores(data, settings) if settings.scorer else None
    description = f"train_stacked {settings.scenario_name} {settings.method_name}"
    start = time.perf_counter()
    result = train_stacked(
        data,
        method,
        settings.training,
        seeds=settings.seeds,
        proxy=settings.proxy,
        difficulty=scores,
        epochs=partial(_show, description),
    )
    seconds = time.perf_counter() - start
    write_parquet(predictions, _predictions(data, result, settings.seeds))
    write_parquet(history, _history(result, settings.seeds))
    failed = {str(settings.seeds[k]): f"loss not finite in epoch {epoch}" for k, epoch in result.failed.items()}
    for seed, reason in failed.items():
        logger.warning("seed %s failed: %s", seed, reason)
    return {"training_seconds": round(seconds, 3), "failed_seeds": failed}


def _frozen_scores(data: Sequence[SyntheticData], settings: Settings) -> Tensor:
    scorer = train_stacked(
        data,
        make_method(**settings.scorer),
        settings.training,
        seeds=settings.seeds,
        proxy=settings.proxy,
        epochs=partial(_show, "difficulty of the training samples"),
    )
    if scorer.failed:
        failed = sorted(settings.seeds[k] for k in scorer.failed)
        raise FloatingPointError(f"the baseline that scores difficulty failed for seeds {failed}")
    return score_training_samples(scorer.model, data, proxy=settings.proxy)


def _show(description: str, epochs: range) -> Iterable[int]:
    return progress(epochs, description=description, total=len(epochs))


def _predictions(data: Sequence[SyntheticData], result: StackedResult, seeds: Sequence[int]) -> pd.DataFrame:
    frames = [
        pd.DataFrame({"seed": seed, "sample": np.arange(len(p)), "target": item.test.targets, "probability": p})
        for seed, item, p in zip(seeds, data, result.probabilities.numpy(), strict=True)
    ]
    return pd.concat(frames, ignore_index=True)


def _history(result: StackedResult, seeds: Sequence[int]) -> pd.DataFrame:
    rows = [
        {"seed": seed, "epoch": epoch, **{key: float(value[k]) for key, value in summary.items()}}
        for k, seed in enumerate(seeds)
        for epoch, summary in enumerate(result.history)
    ]
    return pd.DataFrame(rows)
