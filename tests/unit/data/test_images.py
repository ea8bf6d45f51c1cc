"""Decoding a data set: order, files that are bad and the command."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageOps

from fossil.commands import decode_images as decode_stage
from fossil.data.photographs import DecodeError
from fossil.runtime.files import read_json
from tests.unit.data.image_files import complaint, digest, list_copies, list_originals, save_noise, tabulate
from tests.unit.data.pictures import BLUE, GREEN, RED, noise, save

# --- The array ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [5, 24, 40])
def test_images_of_any_size_come_out_square_and_in_order(tmp_path: Path, size: int) -> None:
    shapes = {"c.png": (24, 24, RED), "a.png": (60, 31, GREEN), "b.png": (7, 90, BLUE)}
    paths = [save(Image.new("RGB", shape[:2], shape[2]), tmp_path / name) for name, shape in shapes.items()]
    tabulate(list_originals(paths), tmp_path / "images.npy", size=size)
    array = np.load(tmp_path / "images.npy")
    assert array.shape == (3, size, size, 3)
    assert array.dtype == np.uint8
    assert (array == np.array([RED, GREEN, BLUE])[:, None, None]).all()


def test_the_file_has_the_bytes_that_numpy_would_write_and_can_be_mapped(tmp_path: Path) -> None:
    paths = [save_noise(tmp_path, f"{seed}.png", size=8, seed=seed) for seed in range(3)]
    tabulate(list_originals(paths), tmp_path / "images.npy")
    np.save(tmp_path / "expected.npy", np.stack([noise(8, 8, seed=seed) for seed in range(3)]))
    assert (tmp_path / "images.npy").read_bytes() == (tmp_path / "expected.npy").read_bytes()
    assert np.load(tmp_path / "images.npy", mmap_mode="r").shape == (3, 8, 8, 3)


def test_the_number_of_threads_changes_neither_a_byte_nor_the_table(tmp_path: Path) -> None:
    paths = [save_noise(tmp_path, f"{seed}.png", size=20 + seed % 9, seed=seed % 9) for seed in range(24)]
    tables = [tabulate(list_originals(paths), tmp_path / f"{threads}.npy", threads=threads) for threads in (1, 2, 8)]
    assert len({digest(tmp_path / f"{threads}.npy") for threads in (1, 2, 8)}) == 1
    assert tables[0]["duplicate_of"].notna().sum() == 15
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])


def test_real_photographs_have_the_pixels_that_a_bare_pillow_loop_gives_them(pad_sample: Path, tmp_path: Path) -> None:
    paths = sorted((pad_sample / "images").rglob("*.png"))[::10]
    tabulate(list_originals(paths), tmp_path / "images.npy", size=64)
    for path, found in zip(paths, np.load(tmp_path / "images.npy"), strict=True):
        with Image.open(path) as image:
            np.testing.assert_array_equal(found, np.asarray(ImageOps.fit(image.convert("RGB"), (64, 64))))


# --- Files that are bad ---------------------------------------------------------------------------------------------


def png_header(width: int, height: int) -> bytes:
    """Give a PNG file that says how large it is, and ends where its pixels would begin."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header)) + b"\0\0\0\0IDAT"
    )


def test_every_bad_file_is_named_in_one_error_and_nothing_is_written(tmp_path: Path) -> None:
    def write(name: str, content: bytes) -> Path:
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    good, jpeg = save_noise(tmp_path, "good.png"), save_noise(tmp_path, "good.jpg")
    png = good.read_bytes()
    flipped = bytearray(png)
    flipped[len(png) // 2] ^= 255
    (tmp_path / "folder.png").mkdir()
    cases = {
        write("cut.png", png[: len(png) * 2 // 3]): "OSError: image file is truncated",
        write("cut.jpg", jpeg.read_bytes()[: jpeg.stat().st_size * 2 // 3]): "OSError: image file is truncated",
        write("flipped.png", bytes(flipped)): "OSError: broken data stream",
        write("text.png", b"this is no picture"): "no image in a format that Pillow reads",
        write("empty.png", b""): "the file is empty",
        write("bomb.png", png_header(20000, 15000)): "Image size (300000000 pixels) exceeds limit of",
        write("floats.tiff", b""): "mode F has no known range",
        save_noise(tmp_path, "changed.png"): "changed since the manifest was made",
        write("replaced.png", b"a note in its place"): "changed since the manifest was made",
        tmp_path / "gone.png": "FileNotFoundError: No such file or directory",
        tmp_path / "folder.png": "IsADirectoryError: Is a directory",
    }
    save(Image.new("F", (4, 4)), tmp_path / "floats.tiff")
    paths = [good, *cases, jpeg]
    manifest = list_originals(paths, digests=[digest(path) if path.is_file() else "0" * 64 for path in paths])
    manifest.loc[manifest["image_id"].isin(["changed.png", "replaced.png"]), "sha256"] = "f" * 64
    output = tmp_path / "results" / "images.npy"
    first, *lines = complaint(manifest, output)
    assert first == "11 of 13 images:"
    assert len(lines) == 11
    for line, (path, reason) in zip(lines, cases.items(), strict=True):
        assert line.startswith(f"{path}: ")
        assert reason in line
    assert list(output.parent.iterdir()) == []


def test_a_result_that_was_there_stays_as_it_was_after_an_error(tmp_path: Path) -> None:
    output = tmp_path / "images.npy"
    tabulate(list_originals([save_noise(tmp_path, "good.png")]), output)
    before = output.read_bytes()
    complaint(list_originals([tmp_path / "gone.png"], digests=["0" * 64]), output)
    assert output.read_bytes() == before


# --- The command ------------------------------------------------------------------------------------------------------


def run_stage(folder: Path, manifest: pd.DataFrame, *, size: int = 8) -> dict[str, Any]:
    manifest.to_parquet(folder / "manifest.parquet")
    return decode_stage.run(
        decode_stage.Settings(size=size, interpolation="lanczos"),
        manifest=folder / "manifest.parquet",
        root=folder,
        images=folder / "out" / "images.npy",
        description=folder / "out" / "images.json",
        properties=folder / "out" / "images.parquet",
        threads=1,
    )


def test_the_stage_writes_array_description_and_properties_and_reports_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "part").mkdir()
    images = {
        "part/b.png": Image.fromarray(noise(8, 8, seed=1)),
        "a.png": Image.fromarray(noise(8, 8, seed=2)),
        "part/c.png": Image.fromarray(noise(8, 8, seed=1)).convert("RGBA"),
        "large.png": Image.new("L", (30, 20)),
        "small.png": Image.new("L", (70, 2)),
    }
    for name, image in images.items():
        image.save(tmp_path / name)
    manifest = list_originals([tmp_path / name for name in images])
    facts = run_stage(tmp_path, manifest.assign(path=list(images)))
    found = np.load(tmp_path / "out" / "images.npy")
    np.testing.assert_array_equal(found[:3], [noise(8, 8, seed=1), noise(8, 8, seed=2), noise(8, 8, seed=1)])
    assert read_json(tmp_path / "out" / "images.json") == {
        "shape": [5, 8, 8, 3],
        "interpolation": "lanczos",
        "sha256": digest(tmp_path / "out" / "images.npy"),
    }
    table = pd.read_parquet(tmp_path / "out" / "images.parquet")
    assert list(table.columns) == ["image_id", "width", "height", "mode", "format", "duplicate_of"]
    assert table["duplicate_of"].fillna("").tolist() == ["", "", "b.png", "", ""]
    assert facts == {
        "images": 5,
        "duplicates": 1,
        "modes": {"RGB": 2, "L": 2, "RGBA": 1},
        "smallest": [8, 8],
        "largest": [30, 20],
    }
    assert json.loads(json.dumps(facts)) == facts
    assert "1 of 5 images repeat another one pixel by pixel: c.png = b.png" in capsys.readouterr().err
    assert "same pixels: c.png = b.png" in caplog.text


def test_where_no_image_repeats_another_the_column_of_duplicates_is_text_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = run_stage(tmp_path, list_originals([save_noise(tmp_path, "a.png")]))
    assert facts["duplicates"] == 0
    assert pd.read_parquet(tmp_path / "out" / "images.parquet")["duplicate_of"].dtype == "string"
    assert "repeat" not in capsys.readouterr().err


def test_the_stage_makes_weak_copies_that_depend_on_their_name(tmp_path: Path) -> None:
    from fossil.data.augmentation import augment_copies

    manifest = list_copies(list_originals([save_noise(tmp_path, "a.png", size=16)]), 2)
    run_stage(tmp_path, manifest, size=16)
    found = np.load(tmp_path / "out" / "images.npy")
    np.testing.assert_array_equal(found[0], noise(16, 16))
    np.testing.assert_array_equal(found[1:], augment_copies(np.stack([noise(16, 16)] * 2), ["a.png+1", "a.png+2"]))
    assert not (found[1] == found[2]).all()


def test_after_an_error_the_stage_has_written_nothing(tmp_path: Path) -> None:
    manifest = list_originals([save_noise(tmp_path, "a.png"), tmp_path / "gone.png"], digests=["0" * 64] * 2)
    with pytest.raises(DecodeError, match="2 of 2 images"):
        run_stage(tmp_path, manifest)
    assert list((tmp_path / "out").iterdir()) == []
