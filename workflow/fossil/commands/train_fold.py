"""Train one model of the image study: one method, fold and seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import torch
from pydantic import Field

from fossil.config.image_training import ImageTraining
from fossil.config.strict import Proxy, Strict, deep_merge
from fossil.data.fold_data import FoldData, load_fold
from fossil.methods.base import make_method
from fossil.runtime.files import read_json, sha256, write_parquet, write_tensors
from fossil.runtime.logs import logger, progress
from fossil.training.checkpoint import Checkpoint
from fossil.training.events import event_watcher
from fossil.training.fold import TrainedFold, train_fold
from fossil.training.image_data import predict_logits


class Settings(Strict):
    """The method, the fold, the seed, the training, and the roles of the images to predict."""

    method: dict[str, Any]
    method_name: str
    fold: int
    seed: int
    training: ImageTraining
    online: Proxy | None = None
    roles: list[Literal["validation", "test"]] = Field(["validation", "test"])


def run(
    settings: Settings,
    *,
    manifest: Path,
    folds: Path,
    images: Path,
    difficulty: list[Path],
    weights: list[Path],
    tuned: list[Path],
    predictions: Path,
    history: Path,
    model: list[Path],
    checkpoint: Sequence[Path] = (),
    images_description: Sequence[Path] = (),
    events: Sequence[Path] = (),
    code: str = "",
) -> dict[str, Any]:
    """Write predictions for the images of the roles, the epochs, and the model if it has a file.

    The options of a file ``tuned`` (JSON, from ``select_options``) are laid over those of the method. A loss that is
    not finite ends the run as failed: its predictions are empty and the record says why. With a path for a checkpoint,
    a stopped or killed run resumes from there; the file is deleted once all is written. Its hash of the
    images is that of their description, where there is one. Below a folder for events, the epochs are also written for
    TensorBoard.
    """
    data = load_fold(manifest=manifest, folds=folds, images=images, fold=settings.fold)
    options = settings.method["options"]
    for path in tuned:
        options = deep_merge(options, read_json(path)["options"])
    read = [manifest, folds, *(images_description or [images]), *difficulty, *weights, *tuned]
    name = f"{settings.method_name} fold {settings.fold} seed {settings.seed}"
    with event_watcher(events[0] / name.replace(" ", "-") if events else None) as after_epoch:
        trained = train_fold(
            data,
            make_method(settings.method["target"], options),
            settings.training,
            weights=weights[0] if weights else None,
            seed=settings.seed,
            difficulty=pd.read_parquet(difficulty[0]) if difficulty else None,
            online=settings.online,
            epochs=partial(progress, description=f"train_fold {name}", total=settings.training.epochs),
            checkpoint=_checkpoint(checkpoint[0], settings, code, read) if checkpoint else None,
            after_epoch=after_epoch,
        )
    failure = trained.result.failure
    write_parquet(predictions, _predictions(data, trained, settings.roles).iloc[: 0 if failure else None])
    epochs = [epoch | speed for epoch, speed in zip(trained.result.history, trained.result.speed, strict=True)]
    write_parquet(history, pd.DataFrame(epochs).rename_axis("epoch").reset_index())
    for path in model:
        write_tensors(path, trained.model.state_dict())
    facts = {
        "options": options,
        "device": trained.device_name,
        "images_per_second": trained.images_per_second,
        "input": asdict(trained.inputs),
        "weights_sha256": sha256(weights[0]) if weights else None,
    }
    if checkpoint:
        checkpoint[0].unlink(missing_ok=True)
    if not failure:
        return facts
    logger.warning("run failed: %s", failure)
    return {**facts, "status": "failed", "reason": failure}


def _checkpoint(path: Path, settings: Settings, code: str, read: Sequence[Path]) -> Checkpoint:
    """Return the checkpoint of the training, with everything that its result depends on."""
    identity = {"settings": settings.model_dump(mode="json"), "code": code, "data": [sha256(file) for file in read]}
    return Checkpoint(path, identity)


def _predictions(data: FoldData, trained: TrainedFold, roles: Sequence[str]) -> pd.DataFrame:
    held_out = data.table[data.table["role"].isin(roles)]
    positions = torch.tensor(list(held_out.index), device=trained.device)
    logits = predict_logits(trained.model, trained.inputs, trained.images, positions)
    return pd.DataFrame(
        {
            "image_id": held_out["image_id"],
            "role": held_out["role"],
            "target": held_out["label"],
            "probability": logits.squeeze(-1).sigmoid().cpu().numpy(),
        }
    ).reset_index(drop=True)
