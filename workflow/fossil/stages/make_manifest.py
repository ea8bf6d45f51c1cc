"""List a data set's images: one row an image, with patient, class and hash."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from fossil.config import Strict
from fossil.data.pad_ufes_20 import read_manifest
from fossil.files import write_parquet
from fossil.logs import logger


class Settings(Strict):
    """What is positive, and whether rows may lack their image."""

    positive: list[str] = Field(min_length=1)
    allow_missing: bool


def run(settings: Settings, *, metadata: Path, images: Path, manifest: Path) -> dict[str, int]:
    """Write the manifest; the record counts rows and missing images."""
    found = read_manifest(metadata, images, positive=settings.positive, allow_missing=settings.allow_missing)
    if found.missing_images:
        logger.warning("%d of %d rows have no image and were left out", found.missing_images, found.rows)
    for name, count in found.table["class_name"].value_counts().items():
        logger.info("%s: %d images", name, count)
    write_parquet(manifest, found.table)
    return {"rows": found.rows, "missing_images": found.missing_images}
