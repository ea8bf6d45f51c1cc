"""Score the difficulty of a fold's training images by a baseline that saw nothing else, and freeze it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from fossil.config import ImageTraining, Strict
from fossil.data.fold_data import load_fold
from fossil.difficulty import Proxy, difficulty, stages
from fossil.files import write_parquet
from fossil.logs import logger, progress
from fossil.methods.base import make_method
from fossil.training.fold import FoldTrainingError, train_fold
from fossil.training.images import predict_logits


class Settings(Strict):
    """The fold, the baseline's seed and training, and the proxy."""

    fold: int
    seed: int
    proxy: Proxy
    method: dict[str, Any]
    training: ImageTraining


def run(
    settings: Settings, *, manifest: Path, folds: Path, images: Path, weights: list[Path], scores: Path
) -> dict[str, Any]:
    """Write image_id, difficulty and stage (0 easy, 1 medium, 2 hard) of the fold's training images.

    Images of the validation and test roles have no row: the baseline never saw them and nothing may depend on them.
    """
    data = load_fold(manifest=manifest, folds=folds, images=images, fold=settings.fold)
    trained = train_fold(
        data,
        make_method(**settings.method),
        settings.training,
        weights=weights[0] if weights else None,
        seed=settings.seed,
        difficulty=None,
        validate=False,
        epochs=partial(progress, description=f"score_difficulty fold {settings.fold}", total=settings.training.epochs),
    )
    if trained.result.failure:
        raise FoldTrainingError(f"the baseline that scores difficulty failed: {trained.result.failure}")
    rows = data.positions("train")
    logits = predict_logits(trained.model, trained.inputs, trained.images, torch.from_numpy(rows).to(trained.device))
    targets = torch.tensor(data.table["label"].to_numpy()[rows], device=trained.device)
    d = difficulty(logits, targets, proxy=settings.proxy).cpu()
    if not d.isfinite().all():
        raise FoldTrainingError("the baseline that scores difficulty failed: its scores are not finite")
    table = pd.DataFrame({"image_id": data.table["image_id"].iloc[rows], "difficulty": d.double(), "stage": stages(d)})
    write_parquet(scores, table)
    return {"device": trained.device_name, **_agreement(data.table.iloc[rows], table)}


def _agreement(images: pd.DataFrame, scores: pd.DataFrame) -> dict[str, float]:
    """Spearman correlation with the true difficulty, which a drawn data set knows."""
    if "true_difficulty" not in images:
        return {}
    correlation = float(images["true_difficulty"].rank().corr(scores["difficulty"].rank()))
    logger.info("Spearman correlation of scored and true difficulty: %.3f", correlation)
    return {"true_difficulty_spearman": round(correlation, 4)}
