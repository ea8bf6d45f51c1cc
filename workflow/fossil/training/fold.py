"""One training of the image study: a fold of a data set, a method and a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from fossil.config.image_training import ImageTraining
from fossil.config.strict import Proxy
from fossil.data.augmentation import image_keys
from fossil.data.fold_data import FoldData
from fossil.methods.base import Method
from fossil.training.backbone import InputConfig, make_backbone
from fossil.training.checkpoint import Checkpoint
from fossil.training.device import device_identity, device_name, prepare_device
from fossil.training.image_data import TrainingRows, training_rows
from fossil.training.image_run import make_run
from fossil.training.images import EpochWatcher, ImageResult, train_model


class FoldTrainingError(RuntimeError):
    """A fold cannot be trained with these settings; the message says which file or key is at odds."""


@dataclass(frozen=True)
class TrainedFold:
    """A trained model, with what it needs to predict and how fast it was trained."""

    model: nn.Module
    inputs: InputConfig
    images: Tensor
    device: torch.device
    device_name: str
    result: ImageResult
    images_per_second: float


def train_fold(
    data: FoldData,
    method: Method,
    training: ImageTraining,
    *,
    weights: Path | None,
    seed: int,
    difficulty: pd.DataFrame | None,
    online: Proxy | None = None,
    epochs: Callable[[range], Iterable[int]] = iter,
    checkpoint: Checkpoint | None = None,
    after_epoch: EpochWatcher | None = None,
) -> TrainedFold:
    """Train a model on a fold's training images.

    Parameters
    ----------
    weights : Path or None
        Pretrained tensors (safetensors).
    difficulty : DataFrame or None
        Columns image_id and difficulty for every training image; None where the method needs none.
    online : str or None
        Proxy by which the model itself scores difficulty at the start of each epoch, in place of ``difficulty``.
    checkpoint : Checkpoint or None
        Where the state of the training is kept, and what its result depends on; this machine's part is added here.
    epochs, after_epoch : callable
        See :func:`fossil.training.images.train_model`, which raises more.

    Raises
    ------
    FoldTrainingError
        If difficulty is needed and missing for an image, or the images were decoded in another way than the backbone
        expects.
    """
    device = prepare_device(training.accelerator, threads=training.threads)
    model, inputs = make_backbone(training.backbone, weights=weights, seed=seed)
    _require_decoded_for(inputs, training)
    model = model.to(device).to(memory_format=torch.channels_last)
    labels = torch.tensor(data.table["label"].to_numpy(), device=device)
    needs_scores = method.uses_difficulty and online is None
    positions = torch.from_numpy(data.positions("validation")).to(device)
    run = make_run(
        model,
        inputs,
        method,
        training,
        images=torch.from_numpy(np.array(data.images)).to(device),
        rows=_rows(
            data, labels, type(method).__name__ if needs_scores else None, difficulty, training.augmented_copies
        ),
        validation=(positions, labels[positions]),
        seed=seed,
        names=list(data.table["image_id"]),
    )
    if checkpoint is not None:
        checkpoint = replace(checkpoint, identity={**checkpoint.identity, **device_identity(device)})
    result = train_model(run, online=online, epochs=epochs, checkpoint=checkpoint, after_epoch=after_epoch)
    return TrainedFold(model, inputs, run.images, device, device_name(device), result, _rate(result))


def _require_decoded_for(inputs: InputConfig, training: ImageTraining) -> None:
    """Check that the images were decoded in the way that the backbone expects."""
    if inputs.interpolation != training.interpolation:
        raise FoldTrainingError(
            f"images.training.interpolation is {training.interpolation}, but {training.backbone} expects "
            f"{inputs.interpolation}"
        )
    if inputs.only_size not in (None, training.size):
        raise FoldTrainingError(
            f"images.training.size is {training.size}, but {training.backbone} takes {inputs.only_size} pixels only"
        )


def _rate(result: ImageResult) -> float:
    """Average images per second over all epochs, of equally many images each, whichever process trained them."""
    seconds = sum(1 / epoch["images_per_second"] for epoch in result.speed)
    return round(len(result.speed) / seconds, 1) if seconds else 0.0


def _rows(
    data: FoldData, labels: Tensor, scored_for: str | None, difficulty: pd.DataFrame | None, copies: int
) -> TrainingRows:
    positions = data.positions("train")
    scores = torch.zeros(len(positions), device=labels.device)
    if scored_for is not None:
        if difficulty is None:
            raise FoldTrainingError(f"{scored_for} needs the fold's difficulty scores (--difficulty)")
        ids = data.table["image_id"].iloc[positions]
        scored = difficulty.set_index("image_id")["difficulty"].reindex(list(ids))
        if scored.isna().any():
            raise FoldTrainingError(
                f"the difficulty scores lack {int(scored.isna().sum())} training images, e.g. "
                f"{scored.index[scored.isna()][0]}; run score_difficulty on these folds again"
            )
        scores = torch.from_numpy(scored.to_numpy(dtype="float32")).to(labels.device)
    image = torch.from_numpy(positions).to(labels.device)
    table = data.table.iloc[positions]
    return training_rows(
        image,
        labels[image],
        scores,
        copies=copies,
        key=torch.from_numpy(image_keys(table["image_id"]).view(np.int64)).to(labels.device),
    )
