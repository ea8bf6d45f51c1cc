"""Decode a data set's images once, into one array that every job maps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fossil.config.strict import Strict
from fossil.data.images import decode_images
from fossil.data.manifest import some
from fossil.data.photographs import Interpolation
from fossil.runtime.files import atomic_path, sha256, write_json, write_parquet
from fossil.runtime.logs import logger, say


class Settings(Strict):
    """Size and resampling."""

    size: int
    interpolation: Interpolation


def run(
    settings: Settings, *, manifest: Path, root: Path, images: Path, description: Path, properties: Path, threads: int
) -> dict[str, Any]:
    """Write the array, its description (shape, resampling and hash) and a table of the photographs' properties.

    Return the number of images, duplicates and modes, and the smallest and the largest photograph by pixels.
    """
    table = pd.read_parquet(manifest)
    shape = [len(table), settings.size, settings.size, 3]
    with atomic_path(images) as array, atomic_path(description) as about, atomic_path(properties) as properties_path:
        photographs = decode_images(
            table,
            root,
            size=settings.size,
            interpolation=settings.interpolation,
            output=array,
            threads=threads,
            augmenter=_augment_copies,
        )
        write_json(about, {"shape": shape, "interpolation": settings.interpolation, "sha256": sha256(array)})
        write_parquet(properties_path, photographs)
    _report_duplicates(photographs, properties)
    return _describe(photographs)


def _augment_copies(images: NDArray[np.uint8], image_ids: Sequence[str]) -> NDArray[np.uint8]:
    from fossil.data.augmentation import augment_copies

    return augment_copies(images, image_ids)


def _report_duplicates(photographs: pd.DataFrame, properties: Path) -> None:
    duplicates = photographs.dropna(subset="duplicate_of")
    pairs = [f"{twin.image_id} = {twin.duplicate_of}" for twin in duplicates.itertuples()]
    for pair in pairs:
        logger.warning("same pixels: %s", pair)
    if pairs:
        say(
            f"{len(pairs)} of {len(photographs)} images repeat another one pixel by pixel: {some(pairs)}; "
            f"all are kept, and named in {properties}"
        )


def _describe(photographs: pd.DataFrame) -> dict[str, Any]:
    by_pixels = photographs.iloc[(photographs["width"] * photographs["height"]).argsort(kind="stable")]
    sizes = by_pixels[["width", "height"]].to_numpy().tolist()
    return {
        "images": len(photographs),
        "duplicates": int(photographs["duplicate_of"].notna().sum()),
        "modes": photographs["mode"].value_counts().to_dict(),
        "smallest": sizes[0],
        "largest": sizes[-1],
    }
