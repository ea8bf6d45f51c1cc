"""Checkpoints: what comes back, what is not used, and what happens when one cannot be written."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from fossil.training import checkpoint as module
from fossil.training.checkpoint import Checkpoint, CheckpointError, checkpoint_writer, read_checkpoint

IDENTITY = {"settings": {"seed": 1, "names": ["a", "b"]}, "torch": "2.14.1"}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint(tmp_path / "runs" / "checkpoint.safetensors", IDENTITY)


def write(checkpoint: Checkpoint, tree: Any) -> None:
    with checkpoint_writer(checkpoint) as writer:
        writer.write(lambda: tree)


def same(a: Any, b: Any) -> bool:
    """Whether two trees have the same types and bits, NaN included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        bits = [t.contiguous().reshape(-1).view(torch.uint8) for t in (a, b)]
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(*bits)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return repr(a) == repr(b)


TREE = {
    "model": {"conv.weight": torch.rand(2, 3, 4, 4).to(memory_format=torch.channels_last), "n": torch.tensor(7)},
    "flags": torch.tensor([True, False]),
    "half": torch.rand(3).bfloat16(),
    "bytes": torch.arange(5, dtype=torch.uint8),
    "none": torch.empty(0, 3),
    "undefined": torch.tensor([float("nan"), float("-inf"), -0.0]),
    "history": [{"loss": 0.1 + 0.2, "auc": float("nan")}, {"loss": 5e-324, "auc": float("inf")}],
    "nothing": None,
    "yes": True,
    "text": "a text",
    "nested": [[torch.ones(2)], [], {}],
}


def test_a_tree_comes_back_with_its_types_shapes_and_bits(checkpoint: Checkpoint) -> None:
    write(checkpoint, TREE)
    assert same(read_checkpoint(checkpoint), TREE)


def test_a_checkpoint_is_one_safetensors_file_with_tensors_by_their_names(checkpoint: Checkpoint) -> None:
    write(checkpoint, TREE)
    assert [path.name for path in checkpoint.path.parent.iterdir()] == ["checkpoint.safetensors"]
    tensors = load_file(checkpoint.path)
    assert torch.equal(tensors["state/model/conv.weight"], TREE["model"]["conv.weight"])


def test_where_there_is_no_file_there_is_no_state_and_no_warning(
    checkpoint: Checkpoint, caplog: pytest.LogCaptureFixture
) -> None:
    assert read_checkpoint(checkpoint) is None
    assert not caplog.records


def test_a_state_of_other_settings_is_not_used_and_a_warning_names_what_differs(
    checkpoint: Checkpoint, caplog: pytest.LogCaptureFixture
) -> None:
    write(checkpoint, TREE)
    other = {"settings": {"seed": 2, "names": ["a", "b"]}, "torch": "2.14.1", "threads": 1}
    with caplog.at_level(logging.WARNING):
        assert read_checkpoint(Checkpoint(checkpoint.path, other)) is None
    assert caplog.messages == [f"{checkpoint.path} is of a training with other settings, threads; training starts anew"]


def test_the_order_of_an_identity_does_not_count(checkpoint: Checkpoint) -> None:
    write(checkpoint, TREE)
    turned = Checkpoint(checkpoint.path, dict(reversed(IDENTITY.items())))
    assert read_checkpoint(turned) is not None


@pytest.mark.parametrize("kept", [0, 7, 100, -1, -100])
def test_a_truncated_file_is_not_used_and_a_warning_says_so(
    kept: int, checkpoint: Checkpoint, caplog: pytest.LogCaptureFixture
) -> None:
    write(checkpoint, TREE)
    checkpoint.path.write_bytes(checkpoint.path.read_bytes()[:kept])
    with caplog.at_level(logging.WARNING):
        assert read_checkpoint(checkpoint) is None
    assert "is no checkpoint or is damaged" in caplog.text
    assert "training starts anew" in caplog.text


def test_one_changed_bit_anywhere_in_the_numbers_is_noticed(
    checkpoint: Checkpoint, caplog: pytest.LogCaptureFixture
) -> None:
    write(checkpoint, TREE)
    content = bytearray(checkpoint.path.read_bytes())
    content[-3] ^= 1
    checkpoint.path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert read_checkpoint(checkpoint) is None
    assert "damaged" in caplog.text


def test_a_file_of_something_else_is_not_used(checkpoint: Checkpoint, caplog: pytest.LogCaptureFixture) -> None:
    checkpoint.path.parent.mkdir()
    save_file({"weight": torch.ones(3)}, checkpoint.path)
    with caplog.at_level(logging.WARNING):
        assert read_checkpoint(checkpoint) is None
    assert "is no checkpoint" in caplog.text


def test_the_state_is_that_of_the_call_whatever_changes_while_it_is_written(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = threading.Event()
    really_write = module._write

    def late_write(*arguments: Any) -> None:
        assert changed.wait(10)
        really_write(*arguments)

    monkeypatch.setattr(module, "_write", late_write)
    weight, losses = torch.ones(3), [torch.zeros(2)]
    with checkpoint_writer(checkpoint) as writer:
        writer.write(lambda: {"weight": weight, "losses": losses})
        weight.fill_(9.0)
        losses.append(torch.ones(1))
        changed.set()
    assert same(read_checkpoint(checkpoint), {"weight": torch.ones(3), "losses": [torch.zeros(2)]})


def test_a_write_waits_for_the_one_before(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    really_write = module._write

    def noted_write(kept: Checkpoint, state: Any) -> None:
        events.append(f"begin {state['n']}")
        really_write(kept, state)
        events.append(f"end {state['n']}")

    monkeypatch.setattr(module, "_write", noted_write)
    with checkpoint_writer(checkpoint) as writer:
        for n in range(4):
            writer.write(lambda n=n: {"n": n})
    assert events == [f"{what} {n}" for n in range(4) for what in ("begin", "end")]
    assert read_checkpoint(checkpoint) == {"n": 3}


def test_what_cannot_be_written_is_an_error_at_the_next_write_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    checkpoint = Checkpoint(tmp_path / "file" / "checkpoint.safetensors", IDENTITY)
    with checkpoint_writer(checkpoint) as writer:
        writer.write(lambda: {"n": 1})
        with pytest.raises(CheckpointError, match=r"checkpoint\.safetensors: the checkpoint cannot be written"):
            writer.write(lambda: {"n": 2})


def test_what_cannot_be_written_last_is_an_error_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    checkpoint = Checkpoint(tmp_path / "file" / "checkpoint.safetensors", IDENTITY)
    with pytest.raises(CheckpointError, match="cannot be written"), checkpoint_writer(checkpoint) as writer:
        writer.write(lambda: {"n": 1})


def test_an_error_in_training_is_not_hidden_and_what_was_given_is_written(checkpoint: Checkpoint) -> None:
    def train() -> None:
        with checkpoint_writer(checkpoint) as writer:
            writer.write(lambda: {"n": 1})
            raise KeyError("training")

    with pytest.raises(KeyError, match="training"):
        train()
    assert read_checkpoint(checkpoint) == {"n": 1}


def test_without_a_checkpoint_nothing_is_copied_or_written(tmp_path: Path) -> None:
    def never() -> Any:
        raise AssertionError("the state was asked for")

    with checkpoint_writer(None) as writer:
        writer.write(never)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("tree", [{"a": {1, 2}}, {"a": object()}, {1: 2}, {"a/b": 1}, {"$tensor": 1}])
def test_what_a_checkpoint_cannot_hold_is_an_error(tree: Any, checkpoint: Checkpoint) -> None:
    with pytest.raises(TypeError, match="checkpoint"):
        write(checkpoint, tree)
