"""The manifest of your own images, which a CSV file lists: one row per image."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from pydantic import Field

from fossil.config.strict import Strict
from fossil.data.manifest import Manifest, ManifestError, build_manifest, require_both_classes, some
from fossil.data.tables import read_table

ROLES = {"train": "train", "training": "train", "validation": "validation", "valid": "validation", "val": "validation"}
ROLES |= {"test": "test", "testing": "test"}
"""The values of a split column, in lower case, and their roles."""

_KEY = "datasets.custom"


class Options(Strict):
    """The file in the data set's folder, its columns, and the positive classes."""

    table: str
    image_column: str
    label_column: str
    patient_column: str | None
    split_column: str | None
    positive: list[str] = Field(min_length=1)


def read_manifest(root: Path, options: Options) -> Manifest:
    """Read the table and find each row's image.

    Parameters
    ----------
    root : Path
        Folder of the table; paths in the table are relative to it, or absolute.

    Returns
    -------
    Manifest
        image_id is the path as the table has it. Without a patient column each image is its own patient. A column split
        (train, validation or test) follows where the options name one.

    Raises
    ------
    ManifestError
        A missing file, column, field or image, an image named twice, a split that is none, or a positive class that no
        row has.
    """
    path = root / options.table
    if not path.is_file():
        raise ManifestError(f"{path}: no such file; {_KEY}.table must name a CSV file")
    columns = [options.image_column, options.label_column, options.patient_column, options.split_column]
    hint = f"The keys {_KEY}.*_column name the columns"
    table = read_table(path, required=[column for column in columns if column is not None], hint=hint)
    if table.empty:
        raise ManifestError(f"{path}: no rows")
    images = table[options.image_column]
    if images.duplicated().any():
        raise ManifestError(f"{path}: {options.image_column} stands twice: {some(images[images.duplicated()])}")
    missing = [name for name in images if not (root / name).is_file()]
    if missing:
        raise ManifestError(
            f"{path}: {len(missing)} of {len(images)} images are not there: {some(missing)}. "
            f"Paths are relative to {root}"
        )
    require_both_classes(table[options.label_column], options.positive, where=path, key=f"{_KEY}.positive")
    listed = pd.DataFrame(
        {
            "image_id": images,
            "patient_id": images if options.patient_column is None else table[options.patient_column],
            "class_name": table[options.label_column],
            "path": images,
        }
    )
    if options.split_column is not None:
        listed["split"] = _roles(path, table[options.split_column])
    facts = {"rows": len(table), "missing_images": 0, "patients_named": options.patient_column is not None}
    return build_manifest(root, listed, facts=facts, positive=options.positive)


def _roles(path: Path, splits: pd.Series) -> pd.Series:
    roles = splits.str.lower().map(ROLES)
    unknown = splits.index[roles.isna()]
    if len(unknown):
        raise ManifestError(
            f"{path}: {splits.name} is {splits[unknown[0]]!r} in line {unknown[0]}; expected train, validation or test"
        )
    for role in ("train", "test"):
        if not (roles == role).any():
            raise ManifestError(f"{path}: no row has {splits.name} {role}")
    return roles
