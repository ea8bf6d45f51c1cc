"""Small pictures, and the colours that they are decoded to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fossil.data.photographs import Interpolation, Pixels, open_photograph
from fossil.runtime.files import sha256

Colour = tuple[int, int, int]

RED, GREEN, BLUE, BLACK, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (0, 0, 0), (255, 255, 255)
ORIENTATION = 0x0112


def grey(value: int) -> Colour:
    return (value, value, value)


def noise(height: int, width: int, channels: int = 3, *, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), dtype=np.uint8)


def save(image: Image.Image, path: Path, **saving: Any) -> Path:
    image.save(path, **saving)
    return path


def with_orientation(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    return exif


def two_by_two(mode: str, values: Sequence[object]) -> Image.Image:
    """Make a picture of four pixels: the upper row first."""
    image = Image.new(mode, (2, 2))
    for n, value in enumerate(values):
        image.putpixel((n % 2, n // 2), value)  # type: ignore[arg-type]
    return image


def decode_image(path: Path, *, size: int, interpolation: Interpolation) -> Pixels:
    """Decode the central square as a data set's images are decoded."""
    with open_photograph(path, sha256(path)) as photograph:
        return photograph.fit(size, interpolation)


def colours(path: Path, *, mode: str | None = None) -> list[Colour]:
    """Decode a picture of four pixels, which has to be stored in a mode."""
    with Image.open(path) as stored:
        assert mode in (None, stored.mode)
        assert stored.size == (2, 2)
    return [(*pixel,) for pixel in decode_image(path, size=2, interpolation="bicubic").reshape(4, 3).tolist()]
