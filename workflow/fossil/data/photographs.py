"""Decoding of one photograph to the pixels of a square RGB image."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

Interpolation = Literal["bilinear", "bicubic", "lanczos"]
Pixels = NDArray[np.uint8]

_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_STRIP = 64  # rows whose colours are converted at once where the whole picture is not needed


class DecodeError(ValueError):
    """Images cannot be decoded; the message names each file and the reason."""


@contextmanager
def open_photograph(path: Path, digest: str) -> Iterator[Photograph]:
    """Read a file once and decode it, if it still has the SHA-256 of the manifest.

    Raises
    ------
    DecodeError
        Naming the file, whatever goes wrong with it in here or in the block.
    """
    try:
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != digest:
            raise DecodeError("changed since the manifest was made; run again with -R make_manifest")
        if not content:
            raise DecodeError("the file is empty")
        yield _load(BytesIO(content))
    except DecodeError as error:
        raise DecodeError(f"{path}: {error}") from error
    except Exception as error:  # Decoders raise errors of many types.
        raise DecodeError(f"{path}: {_explain(error)}") from error


@dataclass(frozen=True)
class Photograph:
    """A decoded photograph, upright; ``mode`` and ``format`` are Pillow's names of how it is stored."""

    image: Image.Image
    mode: str
    format: str

    def fit(self, size: int, interpolation: Interpolation) -> Pixels:
        """Resize the central square to (size, size, 3); transparent parts become black."""
        method = Image.Resampling[interpolation.upper()]
        return _to_array(ImageOps.fit(_on_black(self.image), (size, size), method=method))

    def hash_pixels(self) -> bytes:
        """Hash the pixels of the whole picture in RGB; transparent parts count as black."""
        width, height = self.image.size
        hashed = hashlib.sha256()
        for top in range(0, height, _STRIP):
            strip = self.image.crop((0, top, width, min(top + _STRIP, height)))
            hashed.update(_to_array(_on_black(strip)).data)
        return hashed.digest()


def _load(file: BinaryIO) -> Photograph:
    opened = Image.open(file)
    mode, name = opened.mode, str(opened.format)
    stored = str(opened.tile[0][3]) if opened.tile else mode
    opened.load()
    image: Image.Image = opened
    if "transparency" in image.info:
        image.info["transparency"] = _in_8_bits(image.info["transparency"], stored)
    orientation = _read_orientation(image)
    if (mode, name) == ("I", "PPM"):  # Pillow spreads a PGM's values over 16 bits, whatever its greatest value.
        image = image.convert("I;16")
    if orientation > 1:
        image = image.transpose(_UPRIGHT[orientation])
    return Photograph(image, mode, name)


def _in_8_bits(transparency: Any, stored: str) -> Any:
    """Scale the transparent colour of a PNG of 2, 4 or 16 bits a channel as Pillow scales the picture."""
    if stored == "RGB;16B":
        return tuple(value >> 8 for value in transparency)
    return transparency * {"L;2": 85, "L;4": 17}.get(stored, 1)


def _read_orientation(image: Image.Image) -> int:
    try:
        orientation = int(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # Whatever is wrong with its EXIF block, viewers show such a picture as it is stored.
        return 1
    return orientation if orientation in _UPRIGHT else 1


def _on_black(image: Image.Image) -> Image.Image:
    """Composite the picture on black, in mode L, RGB or RGBa; in RGBa, the opacity has already scaled the colours."""
    transparent = image.has_transparency_data
    if image.mode.startswith("I;16"):
        values = np.asarray(image)
        visible = values if not transparent else np.where(values == image.info["transparency"], 0, values)
        return Image.fromarray((visible >> 8).astype(np.uint8))
    if image.mode in {"I", "F"}:
        raise ValueError(f"mode {image.mode} has no known range; save it with 8 or 16 bits a channel")
    if transparent and image.mode in {"1", "L"}:
        image = image.convert("LA")
    if image.mode in {"LA", "La"}:
        return (image.convert("La") if image.mode == "LA" else image).getchannel(0)
    if transparent and image.mode != "RGBa":
        image = image if image.mode == "RGBA" else image.convert("RGBA")
        opaque = np.asarray(image.getchannel("A")).min() == 255
        return image.convert("RGB" if opaque else "RGBa")
    return image if image.mode in {"L", "RGB", "RGBa"} else image.convert("RGB")


def _to_array(image: Image.Image) -> Pixels:
    return np.ascontiguousarray(np.asarray(image if image.mode == "RGBa" else image.convert("RGB"))[..., :3])


def _explain(error: Exception) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "no image in a format that Pillow reads"
    reason = (isinstance(error, OSError) and error.strerror) or str(error)
    return f"{type(error).__name__}: {' '.join(reason.split())}"
