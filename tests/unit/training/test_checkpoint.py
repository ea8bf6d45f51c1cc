"""Checkpoints: what comes back, what is not used, and what happens when one cannot be written."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from fossil.training import checkpoint as module
from fossil.training.checkpoint import Checkpoint, CheckpointError, read_checkpoint, write_checkpoint

CPU = torch.device("cpu")
IDENTITY = {"settings": {"seed": 1, "names": ["a", "b"]}, "torch": "2.14.1"}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint(tmp_path / "runs" / "checkpoint.pt", IDENTITY)


def same(a: Any, b: Any) -> bool:
    """Whether two states have the same types, strides and bits, NaN included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        bits = [t.contiguous().reshape(-1).view(torch.uint8) for t in (a, b)]
        return a.dtype == b.dtype and a.stride() == b.stride() and torch.equal(*bits)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return repr(a) == repr(b)


STATE = {
    "model": {"conv.weight": torch.rand(2, 3, 4, 4).to(memory_format=torch.channels_last), "n": torch.tensor(7)},
    "flags": torch.tensor([True, False]),
    "half": torch.rand(3).bfloat16(),
    "none": torch.empty(0, 3),
    "undefined": torch.tensor([float("nan"), float("-inf"), -0.0]),
    "history": [{"loss": 0.1 + 0.2, "auc": float("nan")}, {"loss": 5e-324, "auc": float("inf")}],
    "nothing": None,
    "text": "a text",
    "nested": [[torch.ones(2)], [], {}],
}


def test_a_state_comes_back_with_its_types_strides_and_bits(checkpoint: Checkpoint) -> None:
    write_checkpoint(checkpoint, STATE)
    assert same(read_checkpoint(checkpoint, CPU), STATE)
    assert [path.name for path in checkpoint.path.parent.iterdir()] == ["checkpoint.pt"]


def test_where_there_is_no_file_there_is_no_state_and_no_warning(
    checkpoint: Checkpoint, caplog: pytest.LogCaptureFixture
) -> None:
    assert read_checkpoint(checkpoint, CPU) is None
    assert not caplog.records


def test_a_state_of_other_settings_is_not_used_and_a_warning_names_what_differs(
    checkpoint: Checkpoint, caplog: pytest.LogCaptureFixture
) -> None:
    write_checkpoint(checkpoint, STATE)
    other = {"settings": {"seed": 2, "names": ["a", "b"]}, "torch": "2.14.1", "threads": 1}
    with caplog.at_level(logging.WARNING):
        assert read_checkpoint(Checkpoint(checkpoint.path, other), CPU) is None
    path = checkpoint.path
    assert caplog.messages == [f"{path} is of a training with other settings, threads; training starts again"]


def test_the_order_of_an_identity_does_not_count(checkpoint: Checkpoint) -> None:
    write_checkpoint(checkpoint, STATE)
    turned = Checkpoint(checkpoint.path, dict(reversed(IDENTITY.items())))
    assert read_checkpoint(turned, CPU) is not None


def cut(kept: int) -> Any:
    return lambda path: path.write_bytes(path.read_bytes()[:kept])


def flip_bit_of_a_number(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(STATE["model"]["conv.weight"].permute(0, 2, 3, 1).numpy().tobytes())] ^= 1
    path.write_bytes(content)


class Command:
    """What a pickle may make Python do."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("made-by-a-pickle",)


@pytest.mark.parametrize(
    "damage",
    [
        *map(cut, (0, 7, 100, -1, -100)),
        flip_bit_of_a_number,
        lambda path: torch.save({"weight": torch.ones(3)}, path),
        lambda path: torch.save(torch.ones(3), path),
        lambda path: torch.save({"identity": IDENTITY, "state": Command()}, path),
    ],
    ids=[
        "empty",
        "7 bytes",
        "100 bytes",
        "without its end",
        "without its index",
        "a bit",
        "other",
        "tensor",
        "command",
    ],
)
def test_a_file_that_is_damaged_or_something_else_is_not_used_and_a_warning_says_so(
    damage: Any,
    checkpoint: Checkpoint,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_checkpoint(checkpoint, STATE)
    damage(checkpoint.path)
    with caplog.at_level(logging.WARNING):
        assert read_checkpoint(checkpoint, CPU) is None
    assert "is no checkpoint or is damaged" in caplog.text
    assert "training starts again" in caplog.text
    assert not Path("made-by-a-pickle").exists()


def test_what_cannot_be_written_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(CheckpointError, match=r"checkpoint\.pt: the checkpoint cannot be written"):
        write_checkpoint(Checkpoint(tmp_path / "file" / "checkpoint.pt", IDENTITY), {"n": 1})


def test_a_write_that_fails_leaves_the_checkpoint_before(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_checkpoint(checkpoint, {"n": 1})

    def half(content: Any, path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(module.torch, "save", half)
    with pytest.raises(CheckpointError, match="disk full"):
        write_checkpoint(checkpoint, {"n": 2})
    assert read_checkpoint(checkpoint, CPU) == {"n": 1}
