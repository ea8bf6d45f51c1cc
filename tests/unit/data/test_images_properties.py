"""Decoding a data set: properties, duplicates and augmented copies."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.unit.data.image_files import complaint, list_copies, list_originals, save_noise, tabulate
from tests.unit.data.pictures import ORIENTATION, RED, noise, save

# --- Properties and duplicates --------------------------------------------------------------------------------------


def test_the_table_says_how_large_each_upright_photograph_is_and_how_it_is_stored(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    image = Image.fromarray(noise(30, 50))
    clear = image.copy()
    clear.putalpha(100)
    paths = [
        save(image, tmp_path / "b.png"),
        save(image, tmp_path / "turned.jpg", exif=exif),
        save(image, tmp_path / "turned.tiff", exif=exif),
        save(clear, tmp_path / "a.webp"),
        save(image.convert("P"), tmp_path / "palette.gif"),
        save(image.convert("L"), tmp_path / "grey.bmp"),
    ]
    found = tabulate(list_originals(paths), tmp_path / "images.npy")
    assert list(found["image_id"]) == ["b.png", "turned.jpg", "turned.tiff", "a.webp", "palette.gif", "grey.bmp"]
    assert found[["width", "height"]].to_numpy().tolist() == [[50, 30], [30, 50], [30, 50], *[[50, 30]] * 3]
    assert list(found["mode"]) == ["RGB", "RGB", "RGB", "RGBA", "P", "L"]
    assert list(found["format"]) == ["PNG", "JPEG", "TIFF", "WEBP", "GIF", "BMP"]


def test_equal_pixels_are_duplicates_of_the_first_however_they_are_stored(tmp_path: Path) -> None:
    pixels = noise(30, 20)
    exif = Image.Exif()
    exif[ORIENTATION] = 3
    paths = [
        save_noise(tmp_path, "z.png", seed=9),
        save(Image.fromarray(pixels), tmp_path / "y.png"),
        save(Image.fromarray(pixels).convert("RGBA"), tmp_path / "x.png"),
        save_noise(tmp_path, "w.png", seed=9),
        save(Image.fromarray(pixels), tmp_path / "v.bmp"),
        save(Image.fromarray(np.ascontiguousarray(pixels[::-1, ::-1])), tmp_path / "u.tiff", exif=exif),
        save_noise(tmp_path, "t.png", seed=8),
    ]
    found = tabulate(list_originals(paths), tmp_path / "images.npy")["duplicate_of"]
    assert found.fillna("").tolist() == ["", "", "y.png", "z.png", "y.png", "y.png", ""]


def test_images_that_differ_only_outside_the_square_or_in_size_are_no_duplicates(tmp_path: Path) -> None:
    pixels = noise(20, 60)
    other = pixels.copy()
    other[0, 0, 0] ^= 1
    images = {"a.png": Image.fromarray(pixels), "b.png": Image.fromarray(other)}
    images |= {f"{size}.png": Image.new("RGB", (size, 2 * size), RED) for size in (10, 20)}
    images["turned.png"] = Image.new("RGB", (20, 10), RED)
    manifest = list_originals([save(image, tmp_path / name) for name, image in images.items()])
    found = tabulate(manifest, tmp_path / "images.npy")
    array = np.load(tmp_path / "images.npy")
    np.testing.assert_array_equal(array[0], array[1])
    np.testing.assert_array_equal(array[2], array[3])
    assert found["duplicate_of"].isna().all()


def test_the_two_photographs_of_pad_ufes_20_that_are_known_to_be_equal_are_found(
    pad_sample: Path, tmp_path: Path
) -> None:
    paths = sorted((pad_sample / "images").rglob("PAT_7*.png"))
    found = tabulate(list_originals(paths), tmp_path / "images.npy").dropna(subset="duplicate_of")
    assert found[["image_id", "duplicate_of"]].to_numpy().tolist() == [["PAT_701_4056_457.png", "PAT_701_1321_156.png"]]


# --- Augmented copies -----------------------------------------------------------------------------------------------


def test_copies_are_made_from_the_decoded_pixels_of_their_originals_under_their_own_names(tmp_path: Path) -> None:
    paths = [save_noise(tmp_path, f"{seed}.png", size=8, seed=seed) for seed in range(3)]
    manifest = list_copies(list_originals(paths), 50)
    asked: list[str] = []

    def invert(images: NDArray[np.uint8], image_ids: Sequence[str]) -> NDArray[np.uint8]:
        assert len(images) == len(image_ids)
        asked.extend(image_ids)
        return 255 - images

    found = tabulate(manifest, tmp_path / "images.npy", augmenter=invert)
    array = np.load(tmp_path / "images.npy").reshape(3, 51, 8, 8, 3)
    for seed in range(3):
        np.testing.assert_array_equal(array[seed, 0], noise(8, 8, seed=seed))
        assert (array[seed, 1:] == 255 - noise(8, 8, seed=seed)).all()
    assert asked == [name for name in manifest["image_id"] if "+" in name]
    assert len(asked) == 150
    assert list(found["image_id"]) == list(manifest["image_id"])
    assert (found["width"] == 8).all()


def test_copies_are_nobody_s_duplicates_though_their_pixels_are_equal(tmp_path: Path) -> None:
    paths = [save_noise(tmp_path, name) for name in ("a.png", "b.png")]
    manifest = list_copies(list_originals(paths), 1)
    found = tabulate(manifest, tmp_path / "images.npy", augmenter=lambda images, _: images)
    assert found["duplicate_of"].fillna("").tolist() == ["", "", "a.png", ""]


def test_copies_without_their_original_are_an_error_that_names_each(tmp_path: Path) -> None:
    manifest = list_copies(list_originals([save_noise(tmp_path, "a.png"), save_noise(tmp_path, "b.png")]), 1)
    manifest.loc[1, "path"] = str(tmp_path / "b.png")
    lines = complaint(manifest.drop(index=2), tmp_path / "images.npy")
    assert lines[0] == "2 of 3 images:"
    assert lines[1].startswith("a.png+1: augmented copy of a.png, ")
    assert lines[2].startswith("b.png+1: augmented copy of b.png, ")


def test_an_augmenter_that_gives_other_shapes_is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    manifest = list_copies(list_originals([save_noise(tmp_path, "a.png")]), 1)
    with pytest.raises(ValueError, match=r"uint8 \(4, 8, 3\); expected uint8 \(8, 8, 3\)"):
        tabulate(manifest, tmp_path / "out" / "images.npy", augmenter=lambda images, _: images[:, :4])
    assert list((tmp_path / "out").iterdir()) == []


def test_a_killed_run_leaves_hidden_files_alone_which_the_next_run_takes_away(tmp_path: Path) -> None:
    manifest = list_copies(list_originals([save_noise(tmp_path, "a.png", size=8)]), 1)
    manifest.to_parquet(tmp_path / "manifest.parquet")
    output = tmp_path / "out" / "images.npy"
    code = f"""
import os, signal, pathlib, pandas
from fossil.data.images import decode_images
manifest = pandas.read_parquet({str(tmp_path / "manifest.parquet")!r})
decode_images(manifest, pathlib.Path(), size=8, interpolation="bicubic", output=pathlib.Path({str(output)!r}),
              threads=1, augmenter=lambda images, names: os.kill(os.getpid(), signal.SIGKILL))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    left = [path.name for path in output.parent.iterdir()]
    assert left
    assert all(name.startswith(".") for name in left)
    tabulate(manifest, output, augmenter=lambda images, _: images)
    assert [path.name for path in output.parent.iterdir()] == ["images.npy"]
    np.testing.assert_array_equal(np.load(output), [noise(8, 8)] * 2)
