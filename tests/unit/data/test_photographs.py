"""One photograph: the colours of every mode."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from fossil.data.photographs import Photograph
from tests.unit.data.pictures import (
    BLACK,
    BLUE,
    GREEN,
    RED,
    WHITE,
    Colour,
    colours,
    decode_image,
    grey,
    noise,
    save,
    two_by_two,
)

PIXELS = [
    # Half-transparent white over black: 255 x 128/255 = 128.
    ("RGB", [RED, GREEN, BLUE, WHITE], [RED, GREEN, BLUE, WHITE]),
    ("RGBA", [(*RED, 255), (*GREEN, 255), (*BLUE, 255), (*WHITE, 255)], [RED, GREEN, BLUE, WHITE]),
    ("RGBA", [(*RED, 0), (*GREEN, 0), (*BLUE, 255), (*WHITE, 128)], [BLACK, BLACK, BLUE, grey(128)]),
    ("L", [0, 51, 200, 255], [BLACK, grey(51), grey(200), WHITE]),
    ("LA", [(200, 255), (200, 0), (255, 128), (51, 255)], [grey(200), BLACK, grey(128), grey(51)]),
    ("1", [0, 255, 255, 0], [BLACK, WHITE, WHITE, BLACK]),
    # 16 bits: 0x33FF has the high byte 0x33 = 51, 0xC800 has 0xC8 = 200.
    ("I;16", [0, 0x33FF, 0xC800, 0xFFFF], [BLACK, grey(51), grey(200), WHITE]),
]


TIFF_PIXELS = [
    # Cyan, magenta, black and no ink.
    (
        "CMYK",
        [(255, 0, 0, 0), (0, 255, 0, 0), (0, 0, 0, 255), (0, 0, 0, 0)],
        [(0, 255, 255), (255, 0, 255), BLACK, WHITE],
    ),
    ("YCbCr", [(255, 128, 128), (0, 128, 128), (51, 128, 128), (200, 128, 128)], [WHITE, BLACK, grey(51), grey(200)]),
    ("I;16", [0, 0x33FF, 0xC800, 0xFFFF], [BLACK, grey(51), grey(200), WHITE]),
    ("I;16B", [0, 0x33FF, 0xC800, 0xFFFF], [BLACK, grey(51), grey(200), WHITE]),
]


@pytest.mark.parametrize(
    ("suffix", "mode", "values", "expected"),
    [*(("png", *row) for row in PIXELS), *(("tiff", *row) for row in TIFF_PIXELS)],
)
def test_every_mode_gives_its_colours_and_transparent_parts_are_black(
    tmp_path: Path, suffix: str, mode: str, values: list[object], expected: list[Colour]
) -> None:
    assert colours(save(two_by_two(mode, values), tmp_path / f"image.{suffix}"), mode=mode) == expected


def test_cielab_gives_its_colours_up_to_rounding(tmp_path: Path) -> None:
    # Lightness in 255ths, then two axes of colour whose middle is 128. L* = 50 has luminance .184: 119 in sRGB.
    path = tmp_path / "image.tiff"
    save(two_by_two("LAB", [(255, 128, 128), (0, 128, 128), (128, 128, 128), (0, 128, 128)]), path)
    np.testing.assert_allclose(colours(path, mode="LAB"), [WHITE, BLACK, grey(119), BLACK], atol=1)


MEMORY_PIXELS = [
    ("HSV", "u1", [(0, 255, 255), (85, 255, 255), (170, 255, 255), (0, 0, 255)], [RED, GREEN, BLUE, WHITE]),
    ("RGBX", "u1", [(*RED, 0), (*GREEN, 9), (*BLUE, 255), (*WHITE, 0)], [RED, GREEN, BLUE, WHITE]),
    # The opacity has scaled these colours already.
    ("RGBa", "u1", [(128, 0, 0, 128), (0, 0, 0, 0), (*BLUE, 255), (*WHITE, 255)], [(128, 0, 0), BLACK, BLUE, WHITE]),
    ("La", "u1", [(128, 128), (0, 0), (51, 255), (255, 255)], [grey(128), BLACK, grey(51), WHITE]),
    ("I;16L", "<u2", [0, 0x33FF, 0xC800, 0xFFFF], [BLACK, grey(51), grey(200), WHITE]),
    ("I;16N", "=u2", [0, 0x33FF, 0xC800, 0xFFFF], [BLACK, grey(51), grey(200), WHITE]),
]


@pytest.mark.parametrize(("mode", "dtype", "values", "expected"), MEMORY_PIXELS)
def test_modes_that_pillow_writes_to_no_file_give_their_colours(
    mode: str, dtype: str, values: list[object], expected: list[Colour]
) -> None:
    image = Image.frombytes(mode, (2, 2), np.array(values, dtype).tobytes())
    photograph = Photograph(image, mode, "none")
    assert photograph.fit(2, "bicubic").reshape(4, 3).tolist() == [list(colour) for colour in expected]


def palette_image() -> Image.Image:
    image = two_by_two("P", [0, 1, 2, 1])
    image.putpalette([*RED, *GREEN, *BLUE])
    return image


def test_a_palette_gives_its_colours(tmp_path: Path) -> None:
    assert colours(save(palette_image(), tmp_path / "image.png"), mode="P") == [RED, GREEN, BLUE, GREEN]


@pytest.mark.parametrize(
    ("transparency", "expected"),
    [
        (1, [RED, BLACK, BLUE, BLACK]),  # colour 1 is transparent
        (b"\xff\x00\x80", [RED, BLACK, (0, 0, 128), BLACK]),  # an opacity a colour; 255 x 128/255 = 128
    ],
)
def test_transparent_colours_of_a_palette_are_black(
    tmp_path: Path, transparency: int | bytes, expected: list[Colour]
) -> None:
    assert colours(save(palette_image(), tmp_path / "image.png", transparency=transparency), mode="P") == expected


def test_a_palette_with_an_opacity_a_pixel_gives_its_colours() -> None:
    image = palette_image().convert("PA")
    image.putalpha(two_by_two("L", [255, 0, 128, 255]))
    assert image.mode == "PA"
    photograph = Photograph(image, "PA", "none")
    assert photograph.fit(2, "bicubic").reshape(4, 3).tolist() == [[255, 0, 0], [0, 0, 0], [0, 0, 128], [0, 255, 0]]


def test_a_transparent_colour_of_an_rgb_picture_is_black(tmp_path: Path) -> None:
    path = save(two_by_two("RGB", [RED, GREEN, BLUE, WHITE]), tmp_path / "image.png", transparency=GREEN)
    assert colours(path, mode="RGB") == [RED, BLACK, BLUE, WHITE]


def png(depth: int, colour: int, upper: str, lower: str, *, transparent: str = "") -> bytes:
    """Put a PNG of 2 x 2 pixels together, from rows in hex, for kinds that Pillow reads and does not write."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, depth, colour, 0, 0, 0))
    opacity = chunk(b"tRNS", bytes.fromhex(transparent)) if transparent else b""
    rows = zlib.compress(b"\0" + bytes.fromhex(upper) + b"\0" + bytes.fromhex(lower))
    return b"\x89PNG\r\n\x1a\n" + header + opacity + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


PNG_GREY, PNG_RGB, PNG_GREY_AND_OPACITY, PNG_RGBA = 0, 2, 4, 6
DEPTHS = {
    "RGB, 16 bits": (png(16, PNG_RGB, "33ff0000c800" * 2, "ffffffffffff" * 2), [(51, 0, 200), WHITE]),
    "RGBA, 16 bits": (png(16, PNG_RGBA, "33ff0000c800ffff" * 2, "ffffffffffff0000" * 2), [(51, 0, 200), BLACK]),
    "grey and opacity, 16 bits": (png(16, PNG_GREY_AND_OPACITY, "33ffffff" * 2, "c8000000" * 2), [grey(51), BLACK]),
    # Of 2 bits, 3 is white and 1 a third of it; of 4 bits, 15 is white and 3 a fifth of it.
    "grey, 2 bits": (png(2, PNG_GREY, "f0", "50"), [WHITE, grey(85)]),
    "grey, 4 bits": (png(4, PNG_GREY, "ff", "33"), [WHITE, grey(51)]),
    "one grey transparent, 1 bit": (png(1, PNG_GREY, "c0", "00", transparent="0001"), [BLACK, BLACK]),
    "one grey transparent, 2 bits": (png(2, PNG_GREY, "f0", "50", transparent="0001"), [WHITE, BLACK]),
    "one grey transparent, 4 bits": (png(4, PNG_GREY, "ff", "33", transparent="000f"), [BLACK, grey(51)]),
    "one grey transparent, 8 bits": (png(8, PNG_GREY, "ffff", "3333", transparent="00ff"), [BLACK, grey(51)]),
    "one grey transparent, 16 bits": (png(16, PNG_GREY, "33ff33ff", "33fe33fe", transparent="33ff"), [BLACK, grey(51)]),
    "one colour transparent, 16 bits": (
        png(16, PNG_RGB, "33ff0000c800" * 2, "ffffffffffff" * 2, transparent="33ff0000c800"),
        [BLACK, WHITE],
    ),
}


@pytest.mark.parametrize("kind", DEPTHS)
def test_png_of_every_depth_gives_its_colours(tmp_path: Path, kind: str) -> None:
    content, (upper, lower) = DEPTHS[kind]
    path = tmp_path / "image.png"
    path.write_bytes(content)
    assert colours(path) == [upper, upper, lower, lower]


@pytest.mark.parametrize(
    ("greatest", "values", "expected"),
    [
        (1000, (0, 500, 1000, 1000), [0, 128, 255, 255]),  # half of 65535 is 0x8000, whose high byte is 128
        (65535, (0, 0x33FF, 0xC800, 0xFFFF), [0, 51, 200, 255]),
    ],
)
def test_a_portable_greymap_of_16_bits_knows_its_range(
    tmp_path: Path, greatest: int, values: tuple[int, ...], expected: list[int]
) -> None:
    path = tmp_path / "image.pgm"
    path.write_bytes(f"P5 2 2 {greatest}\n".encode() + struct.pack(">4H", *values))
    assert colours(path, mode="I") == [grey(value) for value in expected]


@pytest.mark.parametrize("mode", ["I", "F"])
def test_a_mode_without_a_known_range_is_an_error_that_says_so(tmp_path: Path, mode: str) -> None:
    path = save(two_by_two(mode, [0, 1, 2, 3]), tmp_path / "image.tiff")
    with pytest.raises(ValueError, match=f"mode {mode} has no known range; save it with 8 or 16 bits a channel"):
        decode_image(path, size=2, interpolation="bicubic")


@pytest.mark.parametrize(
    ("suffix", "saving"),
    [("webp", {"lossless": True}), ("bmp", {}), ("tiff", {}), ("tiff", {"compression": "tiff_lzw"}), ("ppm", {})],
)
def test_formats_without_loss_give_every_pixel(tmp_path: Path, suffix: str, saving: dict[str, Any]) -> None:
    path = save(Image.fromarray(noise(6, 6)), tmp_path / f"image.{suffix}", **saving)
    np.testing.assert_array_equal(decode_image(path, size=6, interpolation="bicubic"), noise(6, 6))


@pytest.mark.parametrize("suffix", ["gif", "tiff", "png", "webp"])
def test_of_several_frames_the_first_is_taken(tmp_path: Path, suffix: str) -> None:
    first, *others = (Image.new("RGB", (2, 2), colour) for colour in (WHITE, GREEN, BLUE))
    path = save(first, tmp_path / f"image.{suffix}", save_all=True, append_images=others)
    assert colours(path) == [WHITE] * 4
