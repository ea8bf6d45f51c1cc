"""Image files and their manifest."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fossil.data.images import Augmenter, decode_images
from fossil.data.photographs import DecodeError
from tests.unit.data.pictures import noise, save


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def save_noise(folder: Path, name: str, *, size: int = 24, seed: int = 0) -> Path:
    return save(Image.fromarray(noise(size, size, seed=seed)), folder / name)


def list_originals(paths: Sequence[Path], *, digests: Sequence[str] | None = None) -> pd.DataFrame:
    """Make a manifest of images that are named as their files are; its paths are absolute."""
    names = [path.name for path in paths]
    return pd.DataFrame(
        {
            "image_id": names,
            "source_id": names,
            "path": [str(path) for path in paths],
            "is_augmented": False,
            "sha256": [digest(path) for path in paths] if digests is None else digests,
        }
    )


def list_copies(originals: pd.DataFrame, copies: int) -> pd.DataFrame:
    """Put copies of each original behind it."""
    rows = originals.loc[originals.index.repeat(copies + 1)].reset_index(drop=True)
    rows["copy"] = np.tile(np.arange(copies + 1), len(originals))
    rows["is_augmented"] = rows["copy"] > 0
    rows["image_id"] = [f"{row.image_id}+{row.copy}" if row.copy else row.image_id for row in rows.itertuples()]
    return rows


def tabulate(
    manifest: pd.DataFrame, output: Path, *, size: int = 8, threads: int = 2, augmenter: Augmenter | None = None
) -> pd.DataFrame:
    return decode_images(
        manifest, Path(), size=size, interpolation="bicubic", output=output, threads=threads, augmenter=augmenter
    )


def complaint(manifest: pd.DataFrame, output: Path) -> list[str]:
    """Fail to decode; give the lines of the message."""
    with pytest.raises(DecodeError) as caught:
        tabulate(manifest, output)
    return str(caught.value).splitlines()
