"""Checkpoints of a training: one file that is replaced as a whole and used only for the same training."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from fossil.runtime.files import atomic_path
from fossil.runtime.logs import logger


class CheckpointError(RuntimeError):
    """A checkpoint cannot be written; the message names the file."""


@dataclass(frozen=True)
class Checkpoint:
    """The file of a training's state.

    Attributes
    ----------
    path : Path
    identity : dict
        All that the training's result depends on, JSON-native. A state of another identity is not used.
    """

    path: Path
    identity: Mapping[str, Any]


def read_checkpoint(checkpoint: Checkpoint, device: torch.device) -> dict[str, Any] | None:
    """Read the state to a device; None if there is none, or, with a warning, if it cannot be used."""
    path = checkpoint.path
    if not path.exists():
        return None
    try:
        identity, state = _read(path, device)
    except (OSError, RuntimeError, EOFError, ValueError, zipfile.BadZipFile, pickle.UnpicklingError) as error:
        reason = str(error).partition("\n")[0]
        logger.warning("%s is no checkpoint or is damaged (%s); training starts again", path, reason)
        return None
    if identity == checkpoint.identity:
        return state
    keys = sorted(key for key in {*identity, *checkpoint.identity} if identity.get(key) != checkpoint.identity.get(key))
    logger.warning("%s is of a training with other %s; training starts again", path, ", ".join(keys))
    return None


def _read(path: Path, device: torch.device) -> tuple[dict[str, Any], dict[str, Any]]:
    with zipfile.ZipFile(path) as archive:  # torch does not compare the checksums that it writes
        if damaged := archive.testzip():
            raise ValueError(f"{damaged} is not what was written")
    content = torch.load(path, map_location=device, weights_only=True)
    if not isinstance(content, dict) or set(content) != {"identity", "state"}:
        raise ValueError("it holds something else")
    return content["identity"], content["state"]


def write_checkpoint(checkpoint: Checkpoint, state: Mapping[str, Any]) -> None:
    """Replace the checkpoint by a state: tensors, numbers, texts and None in dicts and lists.

    Raises
    ------
    CheckpointError
        If the file cannot be written.
    """
    try:
        with atomic_path(checkpoint.path) as temporary:
            torch.save({"identity": dict(checkpoint.identity), "state": state}, temporary)
    except (OSError, RuntimeError) as error:
        raise CheckpointError(f"{checkpoint.path}: the checkpoint cannot be written: {error}") from error
