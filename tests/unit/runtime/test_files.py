"""Reading and writing of results, against hashlib and the file system."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from fossil.runtime.files import (
    atomic_path,
    read_json,
    sha256,
    visible_files,
    write_csv,
    write_json,
    write_parquet,
    write_tensors,
    write_text,
)

FRAME = pd.DataFrame({"name": ["a", "b,c", "é"], "value": [0.1, 1 / 3, np.nan], "count": [1, 2, 3]})
TENSORS = {"weight": torch.arange(6.0).reshape(2, 3), "steps": torch.tensor(7), "empty": torch.zeros(0, 2)}
WRITERS: dict[str, Callable[[Path], None]] = {
    "json": lambda path: write_json(path, {"b": [1, 2.5, None], "a": "é"}),
    "txt": lambda path: write_text(path, "line\n"),
    "parquet": lambda path: write_parquet(path, FRAME),
    "csv": lambda path: write_csv(path, FRAME),
    "safetensors": lambda path: write_tensors(path, TENSORS),
}


@contextmanager
def umask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


def write_half(path: Path, error: BaseException) -> None:
    """Break off in the middle of writing."""
    with atomic_path(path) as temporary:
        temporary.write_text("half of the n")
        raise error


def test_file_appears_under_its_name_when_the_block_ends_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "table.csv"
    with atomic_path(path) as temporary:
        temporary.write_text("x")
        assert not path.exists()
        assert temporary.parent == path.parent
        assert temporary.suffix == ".csv"
    assert path.read_text() == "x"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("error", [RuntimeError("stop"), KeyboardInterrupt()])
@pytest.mark.parametrize("old", ["old", None])
def test_an_error_or_interruption_leaves_what_was_as_it_was_and_no_temporary(
    tmp_path: Path, error: BaseException, old: str | None
) -> None:
    path = tmp_path / "run.json"
    if old is not None:
        path.write_text(old)
    with pytest.raises(type(error)):
        write_half(path, error)
    assert [p.read_text() for p in tmp_path.iterdir()] == ([] if old is None else [old])


def test_block_that_writes_nothing_is_an_error_and_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("old")
    with pytest.raises(FileNotFoundError), atomic_path(path):
        pass
    assert path.read_text() == "old"


@pytest.mark.parametrize("kind", WRITERS)
def test_writer_gives_the_same_bytes_twice_and_replaces_what_was_there(kind: str, tmp_path: Path) -> None:
    first, second = tmp_path / f"first.{kind}", tmp_path / f"second.{kind}"
    second.write_bytes(b"older and longer than what comes" * 1000)
    WRITERS[kind](first)
    WRITERS[kind](second)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(tmp_path.iterdir()) == [first, second]


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("mask", [0o022, 0o002, 0o077])
def test_mode_of_a_written_file_obeys_the_umask(kind: str, mask: int, tmp_path: Path) -> None:
    path = tmp_path / f"file.{kind}"
    with umask(mask):
        WRITERS[kind](path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_json_has_sorted_keys_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "value.json"
    value = {"b": [1, 0.1, None, True], "a": {"d": "é", "c": 1 / 3}}
    write_json(path, value)
    assert read_json(path) == value
    assert list(json.loads(path.read_text(encoding="utf-8"))) == ["a", "b"]
    assert path.read_text(encoding="utf-8").endswith("}\n")


def test_json_refuses_what_is_not_a_number_and_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "value.json"
    write_json(path, {"a": 1})
    with pytest.raises(ValueError, match="nan"):
        write_json(path, {"a": float("nan")})
    assert read_json(path) == {"a": 1}


def test_text_is_utf_8(tmp_path: Path) -> None:
    write_text(tmp_path / "text.txt", "é ≥ 0\n")
    assert (tmp_path / "text.txt").read_bytes() == b"\xc3\xa9 \xe2\x89\xa5 0\n"


def test_tables_read_back_with_every_digit_and_without_an_index(tmp_path: Path) -> None:
    moved = FRAME.set_axis([5, 6, 7])
    write_csv(tmp_path / "table.csv", moved)
    write_parquet(tmp_path / "table.parquet", moved)
    for found in (pd.read_csv(tmp_path / "table.csv"), pd.read_parquet(tmp_path / "table.parquet")):
        assert list(found.columns) == ["name", "value", "count"]
        assert found["name"].tolist() == ["a", "b,c", "é"]
        np.testing.assert_array_equal(found["value"].to_numpy(), FRAME["value"].to_numpy())
        assert found["count"].tolist() == [1, 2, 3]


def test_tensors_read_back_with_shapes_and_types(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    transposed = TENSORS["weight"].T
    write_tensors(path, {**TENSORS, "transposed": transposed, "flags": torch.tensor([True, False])})
    found = load_file(path)
    assert set(found) == {"weight", "steps", "empty", "transposed", "flags"}
    for name, tensor in TENSORS.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)
    assert torch.equal(found["transposed"], transposed)
    assert found["flags"].tolist() == [True, False]


def test_hash_of_a_file_is_that_of_hashlib(tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    for content in (b"", b"abc", bytes(range(256)) * 5000):
        path.write_bytes(content)
        assert sha256(path) == hashlib.sha256(content).hexdigest()
    path.write_bytes(b"abc")
    assert sha256(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_visible_files_are_found_once_through_links_and_without_hidden_dangling_or_circular_ones(
    tmp_path: Path,
) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    for folder in (data / "part", data / ".hidden", elsewhere):
        folder.mkdir(parents=True)
    for path in (data / "part/a.png", data / ".hidden/b.png", data / ".c.png", elsewhere / "d.png"):
        path.touch()
    (data / "linked").symlink_to(elsewhere)
    (data / "dangling.png").symlink_to(tmp_path / "nowhere")
    (data / "circle").symlink_to(data)
    (data / "part/circle").symlink_to(data)
    assert sorted(path.name for path in visible_files(data)) == ["a.png", "d.png"]


def test_what_a_killed_writer_left_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with atomic_path(path) as temporary:
        left_behind = temporary
        temporary.write_text("x")
    left_behind.write_text("half of an older ta")
    with atomic_path(path) as temporary:
        temporary.write_text("new")
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]
    assert path.read_text() == "new"
