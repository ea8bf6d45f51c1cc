"""Decoding: colours of every mode, orientation, crop, and errors that name every file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from PIL import Image

from fossil.data.images import DecodeError, Interpolation, decode_image, decode_images
from fossil.files import read_json
from fossil.stages import decode_images as decode_stage

RED, GREEN, BLUE, BLACK, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (0, 0, 0), (255, 255, 255)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def noise(height: int, width: int, *, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def save_noise(folder: Path, name: str, *, size: int = 24, seed: int = 0) -> Path:
    Image.fromarray(noise(size, size, seed=seed)).save(folder / name)
    return folder / name


def decode(
    paths: Sequence[Path],
    output: Path,
    *,
    digests: Sequence[str] | None = None,
    size: int = 8,
    interpolation: Interpolation = "bicubic",
    threads: int = 2,
) -> NDArray[np.uint8]:
    digests = [digest(path) for path in paths] if digests is None else digests
    decode_images(paths, digests, size=size, interpolation=interpolation, output=output, threads=threads)
    return np.load(output)


def two_by_two(mode: str, values: Sequence[object]) -> Image.Image:
    """Make a picture of four pixels: the upper row first."""
    image = Image.new(mode, (2, 2))
    for n, value in enumerate(values):
        image.putpixel((n % 2, n // 2), value)  # type: ignore[arg-type]
    return image


# --- Colours --------------------------------------------------------------------------------------------------------

PIXELS = [
    # Half-transparent white over black: 255 x 128/255 = 128.
    ("RGB", [RED, GREEN, BLUE, WHITE], [RED, GREEN, BLUE, WHITE]),
    ("RGBA", [(*RED, 255), (*GREEN, 255), (*BLUE, 255), (*WHITE, 255)], [RED, GREEN, BLUE, WHITE]),
    ("RGBA", [(*RED, 0), (*GREEN, 0), (*BLUE, 255), (*WHITE, 128)], [BLACK, BLACK, BLUE, (128, 128, 128)]),
    ("L", [0, 51, 200, 255], [BLACK, (51, 51, 51), (200, 200, 200), WHITE]),
    ("LA", [(200, 255), (200, 0), (255, 128), (51, 255)], [(200,) * 3, BLACK, (128,) * 3, (51,) * 3]),
    ("1", [0, 255, 255, 0], [BLACK, WHITE, WHITE, BLACK]),
    # 16 bits: 0x33FF has the high byte 0x33 = 51, 0xC800 has 0xC8 = 200.
    ("I;16", [0, 0x33FF, 0xC800, 0xFFFF], [BLACK, (51, 51, 51), (200, 200, 200), WHITE]),
]


@pytest.mark.parametrize(("mode", "values", "expected"), PIXELS)
def test_every_mode_gives_its_colours_and_transparent_parts_are_black(
    tmp_path: Path, mode: str, values: list[object], expected: list[tuple[int, int, int]]
) -> None:
    path = tmp_path / "image.png"
    two_by_two(mode, values).save(path)
    with Image.open(path) as stored:
        assert stored.mode == mode
    assert decode_image(path, size=2, interpolation="bicubic").reshape(4, 3).tolist() == [list(c) for c in expected]


def palette_image() -> Image.Image:
    image = two_by_two("P", [0, 1, 2, 1])
    image.putpalette([*RED, *GREEN, *BLUE])
    return image


def test_a_palette_gives_its_colours(tmp_path: Path) -> None:
    path = tmp_path / "image.png"
    palette_image().save(path)
    assert decode_image(path, size=2, interpolation="bicubic").reshape(4, 3).tolist() == [
        list(colour) for colour in (RED, GREEN, BLUE, GREEN)
    ]


@pytest.mark.parametrize(
    ("transparency", "expected"),
    [
        (1, [RED, BLACK, BLUE, BLACK]),  # colour 1 is transparent
        (b"\xff\x00\x80", [RED, BLACK, (0, 0, 128), BLACK]),  # an opacity a colour; 255 x 128/255 = 128
    ],
)
def test_transparent_colours_of_a_palette_are_black(
    tmp_path: Path, transparency: int | bytes, expected: list[tuple[int, int, int]]
) -> None:
    path = tmp_path / "image.png"
    palette_image().save(path, transparency=transparency)
    with Image.open(path) as stored:
        assert stored.mode == "P"
    assert decode_image(path, size=2, interpolation="bicubic").reshape(4, 3).tolist() == [list(c) for c in expected]


def test_a_transparent_colour_of_an_rgb_picture_is_black(tmp_path: Path) -> None:
    path = tmp_path / "image.png"
    two_by_two("RGB", [RED, GREEN, BLUE, WHITE]).save(path, transparency=GREEN)
    assert decode_image(path, size=2, interpolation="bicubic").reshape(4, 3).tolist() == [
        list(colour) for colour in (RED, BLACK, BLUE, WHITE)
    ]


def test_inks_become_the_colours_that_they_leave(tmp_path: Path) -> None:
    inks = [(0, 255, 255, 0), (255, 0, 255, 0), (0, 0, 0, 255), (0, 0, 0, 0)]  # cyan, magenta, yellow, black
    path = tmp_path / "image.tiff"
    two_by_two("CMYK", inks).save(path)
    with Image.open(path) as stored:
        assert stored.mode == "CMYK"
    assert decode_image(path, size=2, interpolation="bicubic").reshape(4, 3).tolist() == [
        list(colour) for colour in (RED, GREEN, BLACK, WHITE)
    ]


@pytest.mark.parametrize("mode", ["I", "F"])
def test_a_mode_without_a_known_range_is_an_error_that_says_so(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "image.tiff"
    two_by_two(mode, [0, 1, 2, 3]).save(path)
    with pytest.raises(DecodeError, match=f"image.tiff: .*mode {mode} has no known range"):
        decode([path], tmp_path / "images.npy")


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
def test_a_turned_or_mirrored_picture_is_put_upright(tmp_path: Path, orientation: int, height: int) -> None:
    upright = noise(height, 6)
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / "image.png"
    Image.fromarray(np.ascontiguousarray(STORED[orientation](upright))).save(path, exif=exif)
    top = (height - 6) // 2
    np.testing.assert_array_equal(decode_image(path, size=6, interpolation="bicubic"), upright[top : top + 6])


def test_a_turned_greyscale_picture_of_16_bits_is_put_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    path = tmp_path / "image.png"
    # Stored first row is the right side, its first column the top: upright is [[200, 0], [255, 51]].
    two_by_two("I;16", [0, 0x33FF, 0xC800, 0xFFFF]).save(path, exif=exif)
    assert decode_image(path, size=2, interpolation="bicubic")[..., 0].tolist() == [[200, 0], [255, 51]]


@pytest.mark.parametrize("axis", [0, 1])
def test_the_central_square_is_kept(tmp_path: Path, axis: int) -> None:
    pixels = np.zeros((8, 8, 3), dtype=np.uint8)
    pixels[:2], pixels[2:6], pixels[6:] = RED, GREEN, BLUE
    pixels = pixels[:, :4] if axis == 0 else pixels[:, :4].swapaxes(0, 1)
    path = tmp_path / "image.png"
    Image.fromarray(np.ascontiguousarray(pixels)).save(path)
    assert (decode_image(path, size=4, interpolation="bicubic") == GREEN).all()


@pytest.mark.parametrize("size", [5, 24, 40])
def test_images_of_any_size_come_out_square_and_in_order(tmp_path: Path, size: int) -> None:
    sizes = [(24, 24), (60, 31), (7, 90)]
    paths = []
    for n, (shape, colour) in enumerate(zip(sizes, (RED, GREEN, BLUE), strict=True)):
        paths.append(tmp_path / f"{n}.png")
        Image.new("RGB", shape, colour).save(paths[-1])
    array = decode(paths, tmp_path / "images.npy", size=size)
    assert array.shape == (3, size, size, 3)
    assert array.dtype == np.uint8
    assert (array == np.array([RED, GREEN, BLUE])[:, None, None]).all()


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic", "lanczos"])
def test_resampling_is_the_one_that_is_named(tmp_path: Path, interpolation: Interpolation) -> None:
    path = save_noise(tmp_path, "image.png")
    filters = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}
    expected = Image.fromarray(noise(24, 24)).resize((10, 10), filters.get(interpolation, Image.Resampling.LANCZOS))
    np.testing.assert_array_equal(decode_image(path, size=10, interpolation=interpolation), np.asarray(expected))


def test_resamplings_differ(tmp_path: Path) -> None:
    path = save_noise(tmp_path, "image.png")
    results = {decode_image(path, size=10, interpolation=name).tobytes() for name in ("bilinear", "bicubic", "lanczos")}
    assert len(results) == 3


# --- Files ----------------------------------------------------------------------------------------------------------


def test_the_number_of_threads_changes_no_byte(tmp_path: Path) -> None:
    paths = [save_noise(tmp_path, f"{seed}.png", size=20 + seed, seed=seed) for seed in range(12)]
    for threads in (1, 4):
        decode(paths, tmp_path / f"{threads}.npy", threads=threads)
    assert (tmp_path / "1.npy").read_bytes() == (tmp_path / "4.npy").read_bytes()


def test_every_bad_file_is_named_in_one_error_and_nothing_is_written(tmp_path: Path) -> None:
    good = save_noise(tmp_path, "good.png")
    png, jpeg = save_noise(tmp_path, "cut.png"), save_noise(tmp_path, "cut.jpg")
    for path in (png, jpeg):
        path.write_bytes(path.read_bytes()[: len(path.read_bytes()) * 2 // 3])
    corrupt, empty = tmp_path / "corrupt.png", tmp_path / "empty.png"
    corrupt.write_bytes(b"this is no picture")
    empty.touch()
    changed, gone = save_noise(tmp_path, "changed.png"), tmp_path / "gone.png"
    paths = [good, png, jpeg, corrupt, empty, changed, gone]
    digests = [*(digest(path) for path in paths[:5]), hashlib.sha256(b"as it was").hexdigest(), "0" * 64]
    output = tmp_path / "results" / "images.npy"
    with pytest.raises(DecodeError) as caught:
        decode(paths, output, digests=digests)
    first, *lines = str(caught.value).splitlines()
    assert first == "6 of 7 images:"
    assert [line.partition(": ")[0] for line in lines] == [str(path) for path in paths[1:]]
    assert "changed since the manifest was made" in lines[4]
    assert "FileNotFoundError" in lines[5]
    assert list(output.parent.iterdir()) == []


def test_a_result_that_was_there_stays_as_it_was_after_an_error(tmp_path: Path) -> None:
    output = tmp_path / "images.npy"
    decode([save_noise(tmp_path, "good.png")], output)
    before = output.read_bytes()
    with pytest.raises(DecodeError, match="1 of 1 images"):
        decode([tmp_path / "gone.png"], output, digests=["0" * 64])
    assert output.read_bytes() == before


def test_of_many_bad_files_twenty_are_named_and_the_others_counted(tmp_path: Path) -> None:
    paths = [tmp_path / f"gone_{n:02d}.png" for n in range(25)]
    with pytest.raises(DecodeError) as caught:
        decode(paths, tmp_path / "images.npy", digests=["0" * 64] * 25)
    message = str(caught.value)
    assert message.startswith("25 of 25 images:")
    assert sum(path.name in message for path in paths[:20]) == 20
    assert not any(path.name in message for path in paths[20:])
    assert message.endswith("... and 5 more")


def test_the_stage_writes_the_array_in_the_manifest_order_with_its_description(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    paths = [save_noise(tmp_path, "part/b.png", size=8, seed=1), save_noise(tmp_path, "a.png", size=8, seed=2)]
    table = pd.DataFrame({"path": ["part/b.png", "a.png"], "sha256": [digest(path) for path in paths]})
    table.to_parquet(tmp_path / "manifest.parquet")
    decode_stage.run(
        decode_stage.Settings(size=8, interpolation="lanczos"),
        manifest=tmp_path / "manifest.parquet",
        root=tmp_path,
        images=tmp_path / "images.npy",
        description=tmp_path / "images.json",
        threads=1,
    )
    np.testing.assert_array_equal(np.load(tmp_path / "images.npy"), [noise(8, 8, seed=1), noise(8, 8, seed=2)])
    assert read_json(tmp_path / "images.json") == {
        "shape": [2, 8, 8, 3],
        "interpolation": "lanczos",
        "sha256": digest(tmp_path / "images.npy"),
    }


def test_real_photographs_of_both_kinds_decode_to_pictures(pad_sample: Path, tmp_path: Path) -> None:
    by_mode: dict[str, Path] = {}
    for path in sorted((pad_sample / "images").rglob("*.png")):
        with Image.open(path) as image:
            by_mode.setdefault(image.mode, path)
        if len(by_mode) == 2:
            break
    assert set(by_mode) == {"RGB", "RGBA"}
    array = decode(list(by_mode.values()), tmp_path / "images.npy", size=64)
    assert (array.std(axis=(1, 2, 3)) > 5).all()
