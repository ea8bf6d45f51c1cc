"""Decoding of photographs into one array of square RGB images, written image by image."""

from __future__ import annotations

import math
import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

from fossil.data.photographs import DecodeError, Interpolation, Pixels, open_photograph
from fossil.runtime.files import atomic_path
from fossil.runtime.logs import progress

Augmenter = Callable[[Pixels, Sequence[str]], Pixels]
Result = TypeVar("Result")

_BATCH = 64  # augmented copies that are made at once


def decode_images(
    manifest: pd.DataFrame,
    root: Path,
    *,
    size: int,
    interpolation: Interpolation,
    output: Path,
    threads: int,
    augmenter: Augmenter | None = None,
) -> pd.DataFrame:
    """Decode images into a NumPy file of shape (n, size, size, 3), uint8, that can be memory-mapped.

    Each image is turned as its EXIF orientation says, put on black where it is transparent, converted to RGB, cropped
    to its central square and resized. An augmented copy is made from the decoded pixels of its original. The number of
    threads changes no byte.

    Parameters
    ----------
    manifest : DataFrame of n rows
        With the columns of :data:`fossil.data.manifest.COLUMNS`.
    root : Path
        Folder that the manifest's paths are relative to.
    augmenter : callable, optional
        Makes augmented copies, some at a time: gets the decoded originals, uint8 (k, size, size, 3), and the image_ids
        of the k copies, and gives images of this shape and type. Needed where the manifest holds augmented copies.

    Returns
    -------
    DataFrame of n rows, in the manifest's order
        image_id; width and height of the whole upright photograph in pixels; mode and format as stored, by Pillow's
        names; duplicate_of, the image_id of the first original whose whole upright picture has the same RGB pixels, or
        missing where there is none before this one. An augmented copy has the properties of its original and is
        nobody's duplicate.

    Raises
    ------
    DecodeError
        Naming every file that is unreadable, truncated, gone or changed, or every augmented copy without an original.
        Nothing is written.
    """
    sources = _find_sources(manifest)
    files = [(root / path, digest) for path, digest in zip(manifest["path"], manifest["sha256"], strict=True)]
    originals = np.flatnonzero(sources == np.arange(len(manifest))).tolist()
    Image.init()  # Formats register themselves on first use, which may fail when two threads are the first.
    with (
        atomic_path(output) as temporary,
        temporary.open("w+b") as file,
        ThreadPoolExecutor(threads) as pool,
        warnings.catch_warnings(action="ignore", category=Image.DecompressionBombWarning),
    ):
        array = _ImageFile(file, count=len(manifest), size=size)

        def decode(row: int) -> _Properties:
            with open_photograph(*files[row]) as photograph:
                pixels = photograph.fit(size, interpolation)
            array[row] = pixels
            return _Properties(*photograph.image.size, photograph.mode, photograph.format, hash(pixels.tobytes()))

        def hash_pixels(row: int) -> bytes:
            with open_photograph(*files[row]) as photograph:
                return photograph.hash_pixels()

        decoded = _attempt_all(pool, decode, originals, "Decoding images")
        alike = _group((row, image.appearance) for row, image in decoded.items())
        hashes = _attempt_all(pool, hash_pixels, list(chain(*alike)), "Comparing images that look alike")
        identical = _group((row, (decoded[row].appearance, digest)) for row, digest in hashes.items())
        _make_copies(array, manifest, sources, augmenter)
    firsts = {row: group[0] for group in identical for row in group[1:]}
    return _tabulate(manifest["image_id"].tolist(), [decoded[source] for source in sources], firsts)


class _ImageFile:
    """A NumPy file of images, read and written image by image without mapping it into memory."""

    def __init__(self, file: BinaryIO, *, count: int, size: int) -> None:
        shape = (count, size, size, 3)
        np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})
        file.flush()
        self._descriptor = file.fileno()
        self._start = file.tell()
        self._shape = shape[1:]
        self._bytes = math.prod(self._shape)
        file.truncate(self._start + count * self._bytes)

    def __getitem__(self, row: int) -> Pixels:
        content = os.pread(self._descriptor, self._bytes, self._start + row * self._bytes)
        return np.frombuffer(content, np.uint8).reshape(self._shape)

    def __setitem__(self, row: int, pixels: Pixels) -> None:
        if pixels.shape != self._shape or pixels.dtype != np.uint8:
            raise ValueError(f"found an image of {pixels.dtype} {pixels.shape}; expected uint8 {self._shape}")
        content, written = np.ascontiguousarray(pixels).data.cast("B"), 0
        while written < self._bytes:
            place = self._start + row * self._bytes + written
            written += os.pwrite(self._descriptor, content[written:], place)


@dataclass(frozen=True)
class _Properties:
    width: int
    height: int
    mode: str
    format: str
    hash: int  # of the row of the array

    @property
    def appearance(self) -> Hashable:
        """Return a key that photographs of the same pixels share, and others seldom."""
        return self.width, self.height, self.hash


def _attempt_all(
    pool: ThreadPoolExecutor, work: Callable[[int], Result], rows: Sequence[int], description: str
) -> dict[int, Result]:
    """Run the work for every row, and raise the errors of all rows as one."""

    def attempt(row: int) -> Result | DecodeError:
        try:
            return work(row)
        except DecodeError as error:
            return DecodeError(*error.args)  # without the traceback, which holds on to the pixels

    if not rows:
        return {}
    done = dict(zip(rows, progress(pool.map(attempt, rows), description=description, total=len(rows)), strict=True))
    if problems := [str(result) for result in done.values() if isinstance(result, DecodeError)]:
        raise DecodeError(f"{len(problems)} of {len(rows)} images:\n" + "\n".join(problems))
    return {row: result for row, result in done.items() if not isinstance(result, DecodeError)}


def _group(keys: Iterable[tuple[int, Hashable]]) -> list[list[int]]:
    """Group the rows that share a key with others."""
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    for row, key in keys:
        groups[key].append(row)
    return [group for group in groups.values() if len(group) > 1]


def _find_sources(manifest: pd.DataFrame) -> NDArray[np.int64]:
    """Return the row whose file has each row's pixels: the original itself, or that of an augmented copy."""
    copied = manifest["is_augmented"].to_numpy(dtype=bool)
    rows = {name: row for row, name in enumerate(manifest["image_id"]) if not copied[row]}
    names = manifest["source_id"].where(copied, manifest["image_id"])
    sources = np.array([rows.get(name, -1) for name in names], dtype=np.int64)
    paths = manifest["path"].to_numpy()
    lost = copied & ((sources < 0) | (paths[sources] != paths))
    if lost.any():
        lines = [
            f"{copy.image_id}: augmented copy of {copy.source_id}, which no original of path {copy.path} is called"
            for copy in manifest[lost].itertuples()
        ]
        raise DecodeError(f"{len(lines)} of {len(manifest)} images:\n" + "\n".join(lines))
    return sources


def _make_copies(
    array: _ImageFile, manifest: pd.DataFrame, sources: NDArray[np.int64], augmenter: Augmenter | None
) -> None:
    copies = np.flatnonzero(sources != np.arange(len(sources)))
    if not len(copies):
        return
    if augmenter is None:
        raise ValueError(f"the manifest holds {len(copies)} augmented copies, and no augmenter to make them was given")
    starts = range(0, len(copies), _BATCH)
    for start in progress(starts, description="Augmenting copies", total=len(starts)):
        batch = copies[start : start + _BATCH]
        originals = np.stack([array[source] for source in sources[batch]])
        augmented = augmenter(originals, manifest["image_id"].iloc[batch].tolist())
        for row, pixels in zip(batch, augmented, strict=True):
            array[row] = pixels


def _tabulate(names: list[str], photographs: list[_Properties], firsts: dict[int, int]) -> pd.DataFrame:
    duplicate_of = [names[firsts[row]] if row in firsts else None for row in range(len(names))]
    return pd.DataFrame(
        {
            "image_id": names,
            "width": [image.width for image in photographs],
            "height": [image.height for image in photographs],
            "mode": [image.mode for image in photographs],
            "format": [image.format for image in photographs],
            "duplicate_of": pd.array(duplicate_of, dtype="string"),
        }
    )
