"""One photograph: from a file to the pixels of a square RGB image, and how much memory that may take."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from threading import Condition, Lock
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


def decode_image(path: Path, *, size: int, interpolation: Interpolation) -> Pixels:
    """Decode one image, shape (size, size, 3); transparent parts show black."""
    with path.open("rb") as file:
        return _load(file).fit(size, interpolation)


class MemoryBudget:
    """Bytes that may be in use at once. What needs more than all of them waits until nothing else is in use."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._used = 0
        self._turn = Lock()
        self._released = Condition()

    @contextmanager
    def hold(self, amount: int) -> Iterator[None]:
        """Wait for the bytes and use them until the block ends."""
        # Whoever waits keeps the turn, so that those who need little do not overtake for ever one who needs much.
        with self._turn, self._released:
            self._released.wait_for(lambda: not self._used or self._used + amount <= self._total)
            self._used += amount
        try:
            yield
        finally:
            with self._released:
                self._used -= amount
                self._released.notify()


@contextmanager
def open_photograph(path: Path, digest: str, budget: MemoryBudget) -> Iterator[Photograph]:
    """Read a file once, hash what was read and decode it from memory, when the budget has room for it.

    Parameters
    ----------
    digest : str
        SHA-256 that the file had when the manifest was made.

    Raises
    ------
    DecodeError
        Naming the file, whatever goes wrong with it in here or in the block.
    """
    try:
        with path.open("rb") as file, budget.hold(_estimate_bytes(file, digest)):
            yield _load(_read(file, digest))
    except DecodeError as error:
        raise DecodeError(f"{path}: {error}") from error
    except Exception as error:  # Decoders raise errors of many types.
        raise DecodeError(f"{path}: {_explain(error)}") from error


@dataclass
class Photograph:
    """A decoded photograph. Its image is replaced step by step, so that what has served is freed before the next step.

    Attributes
    ----------
    image : Image
        The picture as it is stored, until :meth:`fit` or :meth:`hash_pixels` changes it.
    orientation : int
        EXIF's number, 1 to 8.
    size : tuple of int
        Width and height of the upright picture, in pixels.
    mode, format : str
        Pillow's names of how the picture is stored.
    """

    image: Image.Image
    orientation: int
    size: tuple[int, int]
    mode: str
    format: str

    def fit(self, size: int, interpolation: Interpolation) -> Pixels:
        """Give the central square of the upright picture, resized to (size, size, 3); transparent parts show black."""
        self._turn()
        self.image = _show_on_black(self.image)
        self.image = ImageOps.fit(self.image, (size, size), method=Image.Resampling[interpolation.upper()])
        return _to_array(self.image)

    def hash_pixels(self) -> bytes:
        """Hash the pixels of the whole upright picture in RGB; transparent parts count as black."""
        self._turn()
        width, height = self.size
        hashed = hashlib.sha256()
        for top in range(0, height, _STRIP):
            strip = self.image.crop((0, top, width, min(top + _STRIP, height)))
            hashed.update(_to_array(_show_on_black(strip)))
        return hashed.digest()

    def _turn(self) -> None:
        if self.orientation > 1:
            self.image = self.image.transpose(_UPRIGHT[self.orientation])
            self.orientation = 1


def _load(file: BinaryIO) -> Photograph:
    image = Image.open(file)
    mode, name = image.mode, str(image.format)
    stored = str(image.tile[0][3]) if image.tile else mode
    image.load()
    if "transparency" in image.info:
        image.info["transparency"] = _in_8_bits(image.info["transparency"], stored)
    orientation = _read_orientation(image)
    size = image.size if orientation < 5 else image.size[::-1]
    if (mode, name) == ("I", "PPM"):  # Pillow spreads a PGM's values over 16 bits, whatever its greatest value.
        image = image.convert("I;16")
    return Photograph(image, orientation, size, mode, name)


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


def _show_on_black(image: Image.Image) -> Image.Image:
    """Put the picture on black, in mode L, RGB or RGBa; in RGBa, the opacity has already scaled the colours."""
    transparent = image.has_transparency_data
    if image.mode.startswith("I;16"):
        values = np.asarray(image)
        shown = values if not transparent else np.where(values == image.info["transparency"], 0, values)
        return Image.fromarray((shown >> 8).astype(np.uint8))
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


def _estimate_bytes(file: BinaryIO, digest: str) -> int:
    """Estimate from the header what decoding takes, so that nothing is read before there is room for it.

    Pillow holds 4 bytes a pixel, and as much again for a copy when it turns or converts a picture. The file's bytes are
    mostly gone by then; some decoders keep them and hold the picture twice more.
    """
    bytes_in_file = os.fstat(file.fileno()).st_size
    if not bytes_in_file:
        raise DecodeError("the file is empty")
    try:
        image = Image.open(file)
    except Exception:
        file.seek(0)
        _require(hashlib.file_digest(file, "sha256").hexdigest(), digest)
        raise
    pixels = 4 * image.width * image.height
    copied = image.mode not in {"L", "RGB"} or "transparency" in image.info or image.info.keys() & {"exif", "xmp"}
    greedy = "progressive" in image.info or image.format not in {"JPEG", "PNG"}
    return pixels + max(bytes_in_file, pixels if copied else 0) + (bytes_in_file + 2 * pixels if greedy else 0)


def _read(file: BinaryIO, digest: str) -> BytesIO:
    file.seek(0)
    content = file.read()
    _require(hashlib.sha256(content).hexdigest(), digest)
    return BytesIO(content)


def _require(found: str, digest: str) -> None:
    if found != digest:
        raise DecodeError("changed since the manifest was made; run again with -R make_manifest")


def _explain(error: Exception) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "no image in a format that Pillow reads"
    reason = (isinstance(error, OSError) and error.strerror) or str(error)
    return f"{type(error).__name__}: {' '.join(reason.split())}"
