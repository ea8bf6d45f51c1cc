"""Decode a data set's images once, into one array that every job maps."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fossil.config import Strict
from fossil.data.images import Interpolation, decode_images
from fossil.files import sha256, write_json


class Settings(Strict):
    """Size and resampling."""

    size: int
    interpolation: Interpolation


def run(settings: Settings, *, manifest: Path, root: Path, images: Path, description: Path, threads: int) -> None:
    """Write the array, and its description: shape, resampling and hash."""
    table = pd.read_parquet(manifest)
    decode_images(
        [root / path for path in table["path"]],
        list(table["sha256"]),
        size=settings.size,
        interpolation=settings.interpolation,
        output=images,
        threads=threads,
    )
    shape = [len(table), settings.size, settings.size, 3]
    write_json(description, {"shape": shape, "interpolation": settings.interpolation, "sha256": sha256(images)})
