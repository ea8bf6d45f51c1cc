"""Checkpoints: a tree of tensors, numbers and texts in one safetensors file, written in the background."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from fossil.runtime.files import atomic_path
from fossil.runtime.logs import logger

Tree = Any
"""Dicts with texts as keys, and lists, nested, of tensors, numbers, texts, booleans and None."""

_FORMAT = 1
_TENSOR = "$tensor"


class CheckpointError(RuntimeError):
    """A checkpoint cannot be written, or is none; the message names the file."""


@dataclass(frozen=True)
class Checkpoint:
    """Where a training keeps its state.

    Attributes
    ----------
    path : Path
    identity : dict
        All that the training's result depends on, JSON-native. What was kept under another identity is not used.
    """

    path: Path
    identity: Mapping[str, Any]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the identity."""
        return hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()


def read_checkpoint(checkpoint: Checkpoint) -> Tree | None:
    """Read what was kept, on the CPU; None, and a warning that says why, where it cannot be used."""
    if not checkpoint.path.exists():
        return None
    try:
        header, state = _read(checkpoint.path)
    except CheckpointError as error:
        logger.warning("%s; training starts anew", error)
        return None
    if header["fingerprint"] != checkpoint.fingerprint:
        found, own = header["identity"], checkpoint.identity
        differing = sorted(key for key in {*found, *own} if found.get(key) != own.get(key))
        logger.warning("%s is of a training with other %s; training starts anew", checkpoint.path, ", ".join(differing))
        return None
    return state


class CheckpointWriter:
    """Writes checkpoints in a thread of its own, one at a time, so that training goes on meanwhile."""

    def __init__(self, checkpoint: Checkpoint | None, pool: ThreadPoolExecutor) -> None:
        self._checkpoint = checkpoint
        self._pool = pool
        self._pending: Future[None] | None = None

    def write(self, make_state: Callable[[], Tree]) -> None:
        """Copy the state to the CPU's memory and let it be written; does nothing where no checkpoint is kept.

        Raises
        ------
        CheckpointError
            If the checkpoint before this one could not be written.
        """
        if self._checkpoint is None:
            return
        self.wait()
        self._pending = self._pool.submit(_write, self._checkpoint, _on_cpu(make_state()))

    def wait(self) -> None:
        """Wait until everything is written.

        Raises
        ------
        CheckpointError
            If it could not be.
        """
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()


@contextmanager
def checkpoint_writer(checkpoint: Checkpoint | None) -> Iterator[CheckpointWriter]:
    """Give a writer; what it was given is written when the block ends, in whatever way."""
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint") as pool:
        writer = CheckpointWriter(checkpoint, pool)
        yield writer
        writer.wait()


def moved(tree: Tree, device: torch.device) -> Tree:
    """Move all tensors of a tree to a device."""
    return _mapped(tree, lambda tensor: tensor.to(device))


def _on_cpu(tree: Tree) -> Tree:
    """Copy all tensors into memory of their own, one element after another."""
    return _mapped(tree, lambda t: torch.empty(t.shape, dtype=t.dtype).copy_(t.detach()))


def _mapped(tree: Tree, change: Callable[[Tensor], Tensor]) -> Tree:
    if isinstance(tree, Tensor):
        return change(tree)
    if isinstance(tree, Mapping):
        return {key: _mapped(value, change) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_mapped(value, change) for value in tree]
    return tree


def _write(checkpoint: Checkpoint, state: Tree) -> None:
    tensors: dict[str, Tensor] = {}
    described = json.dumps(_describe(state, "state", tensors))
    header = {
        "format": _FORMAT,
        "fingerprint": checkpoint.fingerprint,
        "identity": dict(checkpoint.identity),
        "sha256": _digest(described, tensors),
    }
    try:
        with atomic_path(checkpoint.path) as temporary:
            # Unlike the library's ``save``, it lets the training's thread run meanwhile.
            save_file(tensors, temporary, {"header": json.dumps(header), "state": described})
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{checkpoint.path}: the checkpoint cannot be written: {error}") from error


def _read(path: Path) -> tuple[dict[str, Any], Tree]:
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
        header, described = json.loads(metadata["header"]), metadata["state"]
        sound = header["format"] == _FORMAT and header["sha256"] == _digest(described, tensors)
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} is no checkpoint or is damaged ({type(error).__name__}: {error})") from error
    if not sound:
        raise CheckpointError(f"{path} is damaged or of another version: its content is not what was written")
    return header, _restore(json.loads(described), tensors)


def _describe(tree: Tree, name: str, tensors: dict[str, Tensor]) -> Any:
    """Replace tensors by their names, under which they come into ``tensors``."""
    if isinstance(tree, Tensor):
        tensors[name] = tree
        return {_TENSOR: name}
    if isinstance(tree, dict):
        for key in tree:
            if not isinstance(key, str) or key == _TENSOR or "/" in key:
                raise TypeError(f"{name}: a key of a checkpoint must be a text without '/', not {key!r}")
        return {key: _describe(value, f"{name}/{key}", tensors) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_describe(value, f"{name}/{place}", tensors) for place, value in enumerate(tree)]
    if tree is None or isinstance(tree, bool | int | float | str):
        return tree
    raise TypeError(f"{name}: a checkpoint cannot hold a {type(tree).__name__}")


def _restore(described: Any, tensors: Mapping[str, Tensor]) -> Tree:
    if isinstance(described, dict):
        if _TENSOR in described:
            return tensors[described[_TENSOR]]
        return {key: _restore(value, tensors) for key, value in described.items()}
    return [_restore(value, tensors) for value in described] if isinstance(described, list) else described


def _digest(described: str, tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256(described.encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tuple(tensors[name].shape)}".encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
