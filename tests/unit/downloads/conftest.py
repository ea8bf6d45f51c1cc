"""Servers in the place of those that data come from, and small disks."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import constants
from safetensors.torch import save
from torch import Tensor

from fossil.data.downloads.msld_v2_source import HANDLE
from tests.unit.downloads.hub_files import BACKBONE, NAME, random_weights
from tests.unit.downloads.hub_server import Hub, Kaggle, running
from tests.unit.downloads.kaggle_files import ARCHIVE
from tests.unit.downloads.pad_ufes_20_files import Place
from tests.unit.downloads.small_disk import mounted


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk") as folder:
        yield folder


@pytest.fixture
def kaggle(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kaggle]:
    """Kaggle with version 3 of the data set, reached by this process and its children without a login."""
    for name in ("KAGGLE_API_TOKEN", "KAGGLE_USERNAME", "KAGGLE_KEY"):
        monkeypatch.delenv(name, raising=False)
    with running(Kaggle(handle=HANDLE, versions={3: ARCHIVE})) as server:
        for name, value in server.variables().items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture(scope="module")
def tensors() -> dict[str, Tensor]:
    return random_weights(BACKBONE)


@pytest.fixture(scope="module")
def content(tensors: dict[str, Tensor]) -> bytes:
    return save(tensors)


@pytest.fixture
def hub(content: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """The hub with the backbone's weights, and a machine whose common cache is empty."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "common"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    with running(Hub(files={NAME: content})) as server:
        yield server


@pytest.fixture
def unreachable(hub: Hub) -> Hub:
    """The hub's address on a port that refuses connections."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield replace(hub, port=taken.getsockname()[1])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)
