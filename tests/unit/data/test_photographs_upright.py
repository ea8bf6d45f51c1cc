"""One photograph: orientation, crop and resampling."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from fossil.data.photographs import Interpolation
from tests.unit.data.pictures import BLUE, GREEN, RED, decode_image, noise, save, two_by_two, with_orientation

# --- Orientation, crop and size -------------------------------------------------------------------------------------

# How a picture is stored, by EXIF's definition: where the stored first row and first column lie in the upright picture.
STORED = {
    1: lambda upright: upright,  # top, left
    2: lambda upright: upright[:, ::-1],  # top, right
    3: lambda upright: upright[::-1, ::-1],  # bottom, right
    4: lambda upright: upright[::-1],  # bottom, left
    5: lambda upright: upright.swapaxes(0, 1),  # left, top
    6: lambda upright: upright.swapaxes(0, 1)[::-1],  # right, top
    7: lambda upright: upright.swapaxes(0, 1)[::-1, ::-1],  # right, bottom
    8: lambda upright: upright.swapaxes(0, 1)[:, ::-1],  # left, bottom
}


@pytest.mark.parametrize("orientation", STORED)
@pytest.mark.parametrize("height", [6, 10])
@pytest.mark.parametrize("suffix", ["png", "tiff", "webp"])
def test_a_turned_or_mirrored_picture_is_put_upright(
    tmp_path: Path, orientation: int, height: int, suffix: str
) -> None:
    upright = noise(height, 6)
    image = Image.fromarray(np.ascontiguousarray(STORED[orientation](upright)))
    lossless = {"lossless": True} if suffix == "webp" else {}
    path = save(image, tmp_path / f"image.{suffix}", exif=with_orientation(orientation), **lossless)
    top = (height - 6) // 2
    np.testing.assert_array_equal(decode_image(path, size=6, interpolation="bicubic"), upright[top : top + 6])


def test_a_turned_greyscale_picture_of_16_bits_is_put_upright(tmp_path: Path) -> None:
    image = two_by_two("I;16", [0, 0x33FF, 0xC800, 0xFFFF])
    path = save(image, tmp_path / "image.png", exif=with_orientation(6))
    # Stored first row is the right side, its first column the top: upright is [[200, 0], [255, 51]].
    assert decode_image(path, size=2, interpolation="bicubic")[..., 0].tolist() == [[200, 0], [255, 51]]


@pytest.mark.parametrize("exif", [b"Exif\0\0no tags at all", with_orientation(99), with_orientation(0)])
def test_a_picture_whose_exif_tells_no_orientation_is_taken_as_it_is_stored(
    tmp_path: Path, exif: bytes | Image.Exif
) -> None:
    path = save(Image.fromarray(noise(6, 6)), tmp_path / "image.webp", exif=exif, lossless=True)
    np.testing.assert_array_equal(decode_image(path, size=6, interpolation="bicubic"), noise(6, 6))


@pytest.mark.parametrize("axis", [0, 1])
def test_the_central_square_is_kept(tmp_path: Path, axis: int) -> None:
    pixels = np.zeros((8, 8, 3), dtype=np.uint8)
    pixels[:2], pixels[2:6], pixels[6:] = RED, GREEN, BLUE
    pixels = pixels[:, :4] if axis == 0 else pixels[:, :4].swapaxes(0, 1)
    path = save(Image.fromarray(np.ascontiguousarray(pixels)), tmp_path / "image.png")
    assert (decode_image(path, size=4, interpolation="bicubic") == GREEN).all()


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("orientation", [1, 3, 6])
@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize(("height", "width"), [(160, 331), (200, 61), (40, 90)])
def test_pixels_are_those_of_pillow_s_own_steps_on_the_whole_picture(
    tmp_path: Path, channels: int, orientation: int, interpolation: Interpolation, height: int, width: int
) -> None:
    stored = Image.fromarray(noise(height, width, channels))
    path = save(stored, tmp_path / "image.png", exif=with_orientation(orientation), compress_level=1)
    with Image.open(path) as image:
        upright = ImageOps.exif_transpose(image).convert("RGBA")
    shown = Image.alpha_composite(Image.new("RGBA", upright.size, (0, 0, 0, 255)), upright).convert("RGB")
    expected = ImageOps.fit(shown, (56, 56), method=Image.Resampling[interpolation.upper()])
    np.testing.assert_array_equal(decode_image(path, size=56, interpolation=interpolation), np.asarray(expected))
