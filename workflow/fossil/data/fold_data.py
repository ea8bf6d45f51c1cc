"""The data that a training job reads: a data set, divided by one fold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray


@dataclass(frozen=True)
class FoldData:
    """A data set, divided by one fold.

    Attributes
    ----------
    table : DataFrame
        The manifest with a column role; row i belongs to ``images[i]``.
    images : array of uint8, shape (n, size, size, 3)
        Mapped from the file, not read.
    """

    table: pd.DataFrame
    images: NDArray[np.uint8]

    def positions(self, role: str) -> NDArray[np.int64]:
        """Return the positions of a role's images."""
        return np.flatnonzero(self.table["role"] == role)


class FoldDataError(ValueError):
    """Manifest, folds and images do not belong together; the message says what disagrees."""


def load_images(*, manifest: Path, images: Path) -> tuple[pd.DataFrame, NDArray[np.uint8]]:
    """Read the manifest and map the decoded images."""
    table = pd.read_parquet(manifest)
    array = np.load(images, mmap_mode="r")
    if len(array) != len(table):
        raise FoldDataError(f"{images} holds {len(array)} images, {manifest} lists {len(table)}; decode them again")
    return table, array


def load_fold(*, manifest: Path, folds: Path, images: Path, fold: int) -> FoldData:
    """Read the manifest and roles of one fold and map the decoded images."""
    roles = pd.read_parquet(folds, filters=[("fold", "==", fold)])
    table, array = load_images(manifest=manifest, images=images)
    table = table.merge(roles[["image_id", "role"]], on="image_id", how="left", validate="1:1")
    if table["role"].isna().any():
        raise FoldDataError(f"{folds}: fold {fold} has no role for some images of {manifest}; make the folds again")
    return FoldData(table, array)
