"""A small data set and how to train on it, for several tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from fossil.commands import score_difficulty
from fossil.commands import train_fold as train_stage
from fossil.config.image_training import ImageTraining
from fossil.config.methods.base import NoOptions
from fossil.config.strict import Proxy
from fossil.data.fold_data import load_fold
from fossil.data.folds import make_folds
from fossil.methods.base import Batch, Method, Progress
from fossil.methods.erm import ERM
from fossil.runtime.files import write_json, write_parquet
from fossil.training.fold import train_fold

BACKBONE = "test_byobnet"


CPU = torch.device("cpu")


SIZE = 32
NEGATIVE, POSITIVE = 44, 16


def quick(**changes: Any) -> ImageTraining:
    """Train two epochs of a tiny model on the CPU."""
    values = {"backbone": BACKBONE, "size": SIZE, "epochs": 2, "batch_size": 16, "accelerator": "cpu", "threads": 1}
    return ImageTraining.model_validate({**values, **changes})


@dataclass(frozen=True)
class Study:
    """A small data set on disk: random images, one a patient, and folds."""

    folder: Path

    @property
    def paths(self) -> dict[str, Path]:
        return {
            "manifest": self.folder / "manifest.parquet",
            "folds": self.folder / "folds.parquet",
            "images": self.folder / "images.npy",
        }

    def table(self, fold: int = 0) -> pd.DataFrame:
        folds = pd.read_parquet(self.paths["folds"])
        return pd.read_parquet(self.paths["manifest"]).merge(folds[folds["fold"] == fold], on="image_id")

    def ids(self, *roles: str) -> list[str]:
        table = self.table()
        return list(table.loc[table["role"].isin(roles), "image_id"])

    def train(
        self,
        method: Method | None = None,
        *,
        seed: int = 7,
        difficulty: pd.DataFrame | None = None,
        online: Proxy | None = None,
        **changes: Any,
    ):
        data = load_fold(**self.paths, fold=0)
        method = ERM(NoOptions()) if method is None else method
        return train_fold(data, method, quick(**changes), weights=None, seed=seed, difficulty=difficulty, online=online)

    def score(
        self,
        scores: Path,
        *,
        proxy: str = "softmax",
        fold: int | None = 0,
        baseline: Path | None = None,
        **changes: Any,
    ) -> pd.DataFrame:
        """Train a baseline, unless one is given, and let it score."""
        if baseline is None:
            baseline = scores.with_suffix("")
            facts, *_ = self.run(baseline, difficulty=[], **changes)
            write_json(baseline / "run.json", {"status": "ok", **facts})
        settings = score_difficulty.Settings(
            proxy=proxy,  # type: ignore[arg-type]
            training=quick(**changes),
            fold=fold,
        )
        paths = self.paths | {"folds": [self.paths["folds"]] if fold is not None else []}
        model = {"model": baseline / "m.safetensors", "model_record": baseline / "run.json"}
        score_difficulty.run(settings, **paths, **model, scores=scores)
        return pd.read_parquet(scores)

    def run(
        self,
        output: Path,
        *,
        difficulty: list[Path],
        method: str = "fossil.methods.erm:ERM",
        checkpoint: Sequence[Path] = (),
        images_description: Sequence[Path] = (),
        events: Sequence[Path] = (),
        code: str = "",
        **changes: Any,
    ):
        settings = train_stage.Settings(
            method={"target": method, "options": {}}, method_name="erm", fold=0, seed=7, training=quick(**changes)
        )
        outputs = {
            "predictions": output / "p.parquet",
            "history": output / "h.parquet",
            "model": [output / "m.safetensors"],
        }
        facts = train_stage.run(
            settings,
            **self.paths,
            difficulty=difficulty,
            weights=[],
            tuned=[],
            **outputs,
            checkpoint=checkpoint,
            images_description=images_description,
            events=events,
            code=code,
        )
        return facts, pd.read_parquet(outputs["predictions"]), pd.read_parquet(outputs["history"])


def write_study(folder: Path, images: np.ndarray, labels: np.ndarray) -> None:
    names = [f"image_{n:03d}" for n in range(len(labels))]
    manifest = pd.DataFrame(
        {
            "image_id": names,
            "patient_id": [f"patient_{n}" for n in range(len(labels))],
            "label": labels,
            "is_augmented": False,
            "source_id": names,
        }
    )
    write_parquet(folder / "manifest.parquet", manifest)
    np.save(folder / "images.npy", images)


def random_images(seed: int) -> np.ndarray:
    """Draw noise; positive images, the last ones, are brighter."""
    images = np.random.default_rng(seed).integers(0, 160, (NEGATIVE + POSITIVE, SIZE, SIZE, 3), dtype=np.uint8)
    images[NEGATIVE:] += 90
    return images


def no_duplicates(manifest: pd.DataFrame) -> pd.DataFrame:
    """Say of every image that no other has its pixels."""
    return pd.DataFrame({"image_id": manifest["image_id"], "duplicate_of": None})


def make_study(folder: Path) -> Study:
    """Write a study whose positive images are brighter than its negative ones."""
    write_study(folder, random_images(0), np.repeat([0, 1], [NEGATIVE, POSITIVE]))
    manifest = pd.read_parquet(folder / "manifest.parquet")
    folds = make_folds(manifest, no_duplicates(manifest), folds=2, validation_fraction=0.3, seed=1)
    write_parquet(folder / "folds.parquet", folds)
    return Study(folder)


class Recorder(ERM):
    """Empirical risk minimisation that keeps every batch that it is asked about."""

    weights_each_step = True

    def __init__(self) -> None:
        super().__init__(NoOptions())
        self.batches: list[tuple[Batch, Progress]] = []

    def weights(self, samples: Batch, progress: Progress) -> Tensor:
        self.batches.append((samples, progress))
        return super().weights(samples, progress)
