"""The manifest of a data set: one row per image. Each data set has a module that reads its layout into it.

Such a module holds ``Options``, a strict model of what its reading depends on, and
``read_manifest(root: Path, options: Options) -> Manifest``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from fossil.runtime.files import sha256
from fossil.runtime.logs import progress

COLUMNS = ("image_id", "patient_id", "class_name", "label", "is_augmented", "source_id", "path", "sha256")
"""Columns of every manifest; further ones may follow."""

_SHOWN = 5


class ManifestError(ValueError):
    """The data set's folder is not what it should be; the message names the file, the row and what to do."""


@dataclass(frozen=True)
class Manifest:
    """A data set's images.

    Attributes
    ----------
    table : DataFrame
        The columns of ``COLUMNS``: image_id (unique), patient_id, class_name, label (0 or 1), is_augmented, source_id
        (the image_id of the original; an original's own), path (relative to the data set's folder) and sha256 (of the
        file). Sorted by image_id.
    facts : dict
        What a reader should know of how the table came about, such as how many rows had no image; JSON-native.
    """

    table: pd.DataFrame
    facts: dict[str, Any] = field(default_factory=dict)


def build_manifest(
    root: Path,
    images: pd.DataFrame,
    *,
    facts: Mapping[str, Any],
    positive: Sequence[str],
) -> Manifest:
    """Hash the files, label the classes and put the columns in order.

    Parameters
    ----------
    root : Path
        Folder that ``path`` is relative to.
    images : DataFrame
        Columns image_id, patient_id, class_name and path; is_augmented and source_id where there are augmented copies;
        further columns are carried along.
    positive : sequence of str
        Classes of label 1; all others are label 0.
    """
    images = images.sort_values("image_id", ignore_index=True)
    paths = [root / path for path in images["path"]]
    hashed = progress(map(sha256, paths), description="Hashing images", total=len(paths))
    images = images.assign(
        label=images["class_name"].isin(list(positive)).astype("int64"),
        is_augmented=images.get("is_augmented", False),
        source_id=images.get("source_id", images["image_id"]),
        sha256=list(hashed),
    )
    further = [column for column in images if column not in COLUMNS]
    return Manifest(images[[*COLUMNS, *further]], dict(facts))


def require_both_classes(classes: Iterable[str], positive: Sequence[str], *, where: Path, key: str) -> None:
    """Raise unless every positive class has an image and so has another class.

    Raises
    ------
    ManifestError
        Naming the classes, and the key of the configuration that names the positive ones.
    """
    present = sorted(set(classes))
    unknown = [name for name in positive if name not in present]
    if unknown:
        raise ManifestError(f"{where}: no image of {', '.join(unknown)}, which {key} names; found {', '.join(present)}")
    if set(present) <= set(positive):
        raise ManifestError(f"{where}: every class ({', '.join(present)}) is positive; one must be negative")


def some(values: Sequence[Any] | pd.Series | pd.Index) -> str:
    """Format the first few of many values."""
    text = ", ".join(str(value) for value in values[:_SHOWN])
    return text + (f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else "")
