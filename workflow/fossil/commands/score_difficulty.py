"""Score the difficulty of images by a trained baseline, and freeze it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from fossil.config.image_training import ImageTraining
from fossil.config.strict import Proxy, Strict
from fossil.data.fold_data import FoldDataError, load_images
from fossil.difficulty import difficulty, terciles
from fossil.runtime.files import read_json, write_parquet
from fossil.runtime.logs import logger
from fossil.training.backbone import load_trained
from fossil.training.device import device_name, prepare_device
from fossil.training.image_data import predict_logits


class ScoringError(RuntimeError):
    """The baseline cannot score; the message says why."""


class Settings(Strict):
    """The proxy, how the baseline was trained, and the fold whose training images are scored; null scores them all."""

    proxy: Proxy
    training: ImageTraining
    fold: int | None


def run(
    settings: Settings,
    *,
    manifest: Path,
    folds: list[Path],
    images: Path,
    model: Path,
    model_record: Path,
    scores: Path,
) -> dict[str, Any]:
    """Write image_id, difficulty, tercile (0 easy, 1 medium, 2 hard) and probability (of class 1).

    Of a fold only the training images have a row: the baseline never saw the others and nothing may depend on them.
    """
    record = read_json(model_record)
    if record["status"] != "ok":
        raise ScoringError(
            f"the baseline that scores difficulty failed ({model_record}): {record['reason']}. Use another "
            "images.difficulty_seed, a lower images.training.learning_rate or images.difficulty_source: online"
        )
    table, pixels = load_images(manifest=manifest, images=images)
    rows = np.arange(len(table)) if settings.fold is None else _training_rows(table, folds, settings.fold)
    device = prepare_device(settings.training.accelerator, threads=settings.training.threads)
    trained, inputs = load_trained(settings.training.backbone, model)
    trained = trained.to(device).to(memory_format=torch.channels_last)
    images_on_device = torch.from_numpy(np.array(pixels[rows])).to(device)
    logits = predict_logits(trained, inputs, images_on_device, torch.arange(len(rows), device=device))
    targets = torch.tensor(table["label"].to_numpy()[rows], device=device)
    d = difficulty(logits, targets, proxy=settings.proxy).cpu()
    if not d.isfinite().all():
        raise ScoringError(f"the scores of {model} are not finite")
    table_of_scores = pd.DataFrame(
        {
            "image_id": table["image_id"].iloc[rows].to_numpy(),
            "difficulty": d.double(),
            "tercile": terciles(d),
            "probability": logits.squeeze(-1).sigmoid().cpu().double(),
        }
    )
    write_parquet(scores, table_of_scores)
    return {"device": device_name(device), **_agreement(table.iloc[rows], table_of_scores)}


def _training_rows(table: pd.DataFrame, folds: list[Path], fold: int) -> np.ndarray:
    if not folds:
        raise FoldDataError("the folds are needed to score the training images of one (--folds)")
    roles = pd.read_parquet(folds[0], filters=[("fold", "==", fold)])
    training = set(roles.loc[roles["role"] == "train", "image_id"])
    return np.flatnonzero(table["image_id"].isin(training))


def _agreement(images: pd.DataFrame, scores: pd.DataFrame) -> dict[str, float]:
    """Compute Spearman's correlation with the true difficulty, which a drawn data set knows."""
    if "true_difficulty" not in images:
        return {}
    truth = images["true_difficulty"].reset_index(drop=True)
    correlation = float(truth.rank().corr(scores["difficulty"].rank()))
    logger.info("Spearman correlation of scored and true difficulty: %.3f", correlation)
    return {"true_difficulty_spearman": round(correlation, 4)}
