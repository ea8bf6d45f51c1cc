"""A small backbone as a server in the place of the Hugging Face hub has it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
import timm
import torch
from torch import Tensor

from fossil.data.downloads.hub import HubError
from fossil.training.weights import Pretrained, from_hub
from tests.unit.downloads.hub_server import Server

BACKBONE = "test_byobnet"  # timm's smallest: 1.9 MB
REPOSITORY = "timm/test_byobnet.r160_in1k"
NAME = f"{REPOSITORY}/model.safetensors"
PAGE = f"https://huggingface.co/{REPOSITORY}/blob/main/model.safetensors"


# The part of the stage that deals with the hub, in a process that need not import timm.
FETCH = f"""
import sys
from pathlib import Path
from fossil.data.downloads.hub import fetch_hub_file
print(fetch_hub_file({REPOSITORY!r}, "model.safetensors", cache=Path(sys.argv[1])).revision)
"""


def random_weights(name: str, **options: Any) -> dict[str, Tensor]:
    torch.manual_seed(1)
    return timm.create_model(name, pretrained=False, **options).state_dict()


def fetch(hub: Server, folder: Path, name: str = BACKBONE) -> Pretrained:
    return from_hub(name, cache=folder / "hub", endpoint=hub.url, pause=0.001)


def require_equal(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    assert [name for name in found if not torch.equal(found[name], expected[name])] == []


def complaint(hub: Server, folder: Path, error: type[Exception] = HubError) -> str:
    with pytest.raises(error) as caught:
        fetch(hub, folder)
    return str(caught.value)


def require_by_hand(message: str) -> None:
    assert PAGE in message
    assert "images.weights: /path/to/model.safetensors" in message


def kept_file(folder: Path, content: bytes) -> Path:
    digest = hashlib.sha256(content).hexdigest()
    return folder / "hub" / REPOSITORY.replace("/", "--") / digest / "model.safetensors"


def as_open_clip(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Name a vision transformer's tensors as open_clip's files do."""
    return {f"visual.trunk.{name}": tensor for name, tensor in tensors.items()}
