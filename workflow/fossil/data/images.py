"""Decoding photographs into one array of square RGB images."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from fossil.files import atomic_path, sha256
from fossil.logs import progress

Interpolation = Literal["bilinear", "bicubic", "lanczos"]

_SHOWN = 20


class DecodeError(ValueError):
    """Some images cannot be decoded; the message lists them all."""


def decode_images(
    paths: Sequence[Path],
    digests: Sequence[str],
    *,
    size: int,
    interpolation: Interpolation,
    output: Path,
    threads: int,
) -> None:
    """Decode images into a NumPy file of shape (n, size, size, 3), uint8, that can be memory-mapped.

    Each image is turned as its EXIF orientation says, converted to RGB, cropped to its central square and resized.

    Parameters
    ----------
    paths, digests : sequences of length n
        The files, and the SHA-256 that each had when the manifest was made.

    Raises
    ------
    DecodeError
        Listing every file that is unreadable, truncated, gone or changed. Nothing is written.
    """
    with atomic_path(output) as temporary:
        array = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.uint8, shape=(len(paths), size, size, 3))

        def decode(row: int) -> str | None:
            try:
                if sha256(paths[row]) != digests[row]:
                    return f"{paths[row]}: changed since the manifest was made; run again with -R make_manifest"
                array[row] = decode_image(paths[row], size=size, interpolation=interpolation)
            except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
                return f"{paths[row]}: {type(error).__name__}: {error}"
            return None

        with ThreadPoolExecutor(threads) as pool:
            done = progress(pool.map(decode, range(len(paths))), description="Decoding images", total=len(paths))
            problems = [problem for problem in done if problem]
        if problems:
            more = f"\n... and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
            raise DecodeError(f"{len(problems)} of {len(paths)} images:\n" + "\n".join(problems[:_SHOWN]) + more)
        array.flush()


def decode_image(path: Path, *, size: int, interpolation: Interpolation) -> NDArray[np.uint8]:
    """Decode one image, shape (size, size, 3); transparent parts show black."""
    with Image.open(path) as image:
        image.load()
        upright = _to_rgb(ImageOps.exif_transpose(image))
    resampling = Image.Resampling[interpolation.upper()]
    return np.asarray(ImageOps.fit(upright, (size, size), method=resampling))


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8)).convert("RGB")
    if image.mode in ("I", "F"):
        raise ValueError(f"mode {image.mode} has no known range; save it with 8 or 16 bits a channel")
    if image.has_transparency_data:
        rgba = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", rgba.size, (0, 0, 0, 255)), rgba).convert("RGB")
    return image.convert("RGB")
