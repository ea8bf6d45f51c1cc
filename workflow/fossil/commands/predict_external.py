"""Predict the images of an external data set with a method's trained models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from fossil.config.image_training import ImageTraining
from fossil.config.strict import Strict
from fossil.data.fold_data import load_images
from fossil.runtime.files import read_json, write_parquet
from fossil.runtime.logs import logger, progress
from fossil.training.backbone import load_trained
from fossil.training.device import device_name, prepare_device
from fossil.training.image_data import predict_logits


class Run(Strict):
    """A training, by its fold and its seed."""

    fold: int
    seed: int


class Settings(Strict):
    """The training of the models, and their folds and seeds, in the order of their files."""

    training: ImageTraining
    runs: list[Run]


def run(
    settings: Settings,
    *,
    manifest: Path,
    images: Path,
    models: list[Path],
    model_records: list[Path],
    predictions: Path,
) -> dict[str, Any]:
    """Write fold, seed, image_id, target and probability (of class 1) of every image under every model.

    A training that failed left no model to predict with; the record names it.
    """
    table, pixels = load_images(manifest=manifest, images=images)
    device = prepare_device(settings.training.accelerator, threads=settings.training.threads)
    images_on_device = torch.from_numpy(np.array(pixels)).to(device)
    everything = torch.arange(len(table), device=device)
    parts, failed = [], []
    trainings = zip(settings.runs, models, model_records, strict=True)
    description = f"predict_external {predictions.parent.name}"
    for run, model, record in progress(trainings, description=description, total=len(models)):
        key = {"fold": run.fold, "seed": run.seed}
        if read_json(record)["status"] != "ok":
            logger.warning("%s: failed, predicts nothing", record)
            failed.append(key)
            continue
        trained, inputs = load_trained(settings.training.backbone, model)
        logits = predict_logits(
            trained.to(device).to(memory_format=torch.channels_last), inputs, images_on_device, everything
        )
        probability = logits.squeeze(-1).sigmoid().cpu().numpy()
        of_image = {"image_id": table["image_id"], "target": table["label"], "probability": probability}
        parts.append(pd.DataFrame({**key, **of_image}))
    columns = ["fold", "seed", "image_id", "target", "probability"]
    write_parquet(predictions, pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns))
    return {"device": device_name(device), "failed": failed}
