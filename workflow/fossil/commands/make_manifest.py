"""List a data set's images: one row per image, with patient, class and hash."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from fossil.config.strict import Name, Strict
from fossil.runtime.files import write_parquet
from fossil.runtime.logs import logger, say


class Settings(Strict):
    """The module of ``fossil.data`` that reads the data set's layout, and its options."""

    reader: Name
    options: dict[str, Any]


def run(settings: Settings, *, root: Path, manifest: Path) -> dict[str, Any]:
    """Write the manifest of the data set in a folder; return its facts for the record."""
    reader = importlib.import_module(f"fossil.data.{settings.reader}")
    listed = reader.read_manifest(root, reader.Options.model_validate(settings.options))
    if missing := listed.facts.get("missing_images"):
        logger.warning("%d of %d rows have no image and were left out", missing, listed.facts["rows"])
    if not listed.facts.get("patients_named", True):
        say(f"{root}: no column names patients, so images of one patient may be trained on and tested")
    for name, count in listed.table["class_name"].value_counts().items():
        logger.info("%s: %d images", name, count)
    write_parquet(manifest, listed.table)
    counts = [int((listed.table["label"] == label).sum()) for label in (0, 1)]
    return {"class_counts": counts, **listed.facts}
