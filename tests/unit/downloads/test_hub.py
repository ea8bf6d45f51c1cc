"""Pretrained weights from a server that answers as the Hugging Face hub does."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants, hf_hub_download
from safetensors.torch import save
from torch import Tensor

from tests.unit.downloads.hub_files import (
    FETCH,
    NAME,
    REPOSITORY,
    as_open_clip,
    complaint,
    fetch,
    kept_file,
    random_weights,
    require_by_hand,
    require_equal,
)
from tests.unit.downloads.hub_server import Fault, Hub

# --- From the hub ---------------------------------------------------------------------------------------------------


def test_the_tensors_on_the_hub_arrive_with_commit_hash_and_licence(
    hub: Hub, tmp_path: Path, tensors: dict[str, Tensor], content: bytes
) -> None:
    found = fetch(hub, tmp_path)
    require_equal(found.tensors, tensors)
    assert found.origin == {
        "hub_id": REPOSITORY,
        "revision": hub.commit,
        "file": "model.safetensors",
        "file_sha256": hashlib.sha256(content).hexdigest(),
        "file_verified": True,
        "licence": "apache-2.0",
    }


def test_a_cut_download_goes_on_where_it_was(hub: Hub, tmp_path: Path, tensors: dict[str, Tensor]) -> None:
    hub.faults.extend([Fault(after=1_000_000), Fault(after=500_000)])
    require_equal(fetch(hub, tmp_path).tensors, tensors)
    assert hub.ranges() == [None, "bytes=1000000-", "bytes=1500000-"]


def test_a_killed_download_goes_on_in_the_next_process(
    hub: Hub, tmp_path: Path, tensors: dict[str, Tensor], content: bytes
) -> None:
    hub.faults.append(Fault(after=1_000_000, silent=True))
    environment = {**os.environ, "HF_ENDPOINT": hub.url}
    process = subprocess.Popen([sys.executable, "-c", FETCH, str(tmp_path / "hub")], env=environment)
    partial = kept_file(tmp_path, content).with_name("model.safetensors.partial")
    deadline = time.monotonic() + 300
    while not (partial.exists() and partial.stat().st_size == 1_000_000) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert partial.read_bytes() == content[:1_000_000]
    require_equal(fetch(hub, tmp_path).tensors, tensors)
    assert hub.ranges() == [None, "bytes=1000000-"]


def test_a_server_that_sends_the_whole_file_instead_of_the_rest_starts_the_file_anew(
    hub: Hub, tmp_path: Path, tensors: dict[str, Tensor]
) -> None:
    hub.faults.extend([Fault(after=1_000_000), Fault(ignores_range=True)])
    require_equal(fetch(hub, tmp_path).tensors, tensors)
    assert hub.ranges() == [None, "bytes=1000000-"]


def test_a_server_that_falls_silent_is_asked_again(
    hub: Hub, tmp_path: Path, tensors: dict[str, Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.2)
    hub.faults.append(Fault(after=1_000_000, silent=True))
    require_equal(fetch(hub, tmp_path).tensors, tensors)
    assert hub.ranges() == [None, "bytes=1000000-"]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_hub_is_asked_again(hub: Hub, tmp_path: Path, tensors: dict[str, Tensor], status: int) -> None:
    hub.answers.extend([status, status])
    hub.faults.append(Fault(status=status))
    require_equal(fetch(hub, tmp_path).tensors, tensors)


def test_wrong_bytes_are_downloaded_anew(hub: Hub, tmp_path: Path, tensors: dict[str, Tensor], content: bytes) -> None:
    hub.faults.append(Fault(content=content[:-4] + b"oops"))
    require_equal(fetch(hub, tmp_path).tensors, tensors)
    assert hub.ranges() == [None, None]


def test_bytes_that_are_wrong_twice_are_an_error_with_both_hashes(hub: Hub, tmp_path: Path, content: bytes) -> None:
    wrong = content[:-4] + b"oops"
    hub.faults.extend([Fault(content=wrong)] * 2)
    message = complaint(hub, tmp_path)
    for data in (wrong, content):
        assert hashlib.sha256(data).hexdigest() in message
    require_by_hand(message)
    assert not any(path.is_file() for path in (tmp_path / "hub").rglob("*"))


def test_a_file_whose_hash_the_hub_does_not_give_is_marked_as_not_verified(
    hub: Hub, tmp_path: Path, tensors: dict[str, Tensor], content: bytes
) -> None:
    hub.has_sha256 = False
    found = fetch(hub, tmp_path)
    require_equal(found.tensors, tensors)
    assert found.origin["file_verified"] is False
    assert found.origin["file_sha256"] == hashlib.sha256(content).hexdigest()


def test_what_was_downloaded_is_not_downloaded_again(hub: Hub, tmp_path: Path, tensors: dict[str, Tensor]) -> None:
    first = fetch(hub, tmp_path)
    hub.asked.clear()
    again = fetch(hub, tmp_path)
    require_equal(again.tensors, tensors)
    assert again.origin == first.origin
    assert not hub.asked


def test_newer_weights_on_the_hub_do_not_take_the_place_of_the_first_ones(
    hub: Hub, tmp_path: Path, tensors: dict[str, Tensor]
) -> None:
    first = fetch(hub, tmp_path)
    hub.files = {NAME: save({name: tensor + 1 for name, tensor in tensors.items()})}
    hub.commit = "f" * 40
    again = fetch(hub, tmp_path)
    require_equal(again.tensors, tensors)
    assert again.origin["revision"] == first.origin["revision"] != hub.commit


def test_a_kept_file_that_has_changed_is_downloaded_anew(
    hub: Hub, tmp_path: Path, tensors: dict[str, Tensor], content: bytes
) -> None:
    fetch(hub, tmp_path)
    kept_file(tmp_path, content).write_bytes(b"overwritten")
    require_equal(fetch(hub, tmp_path).tensors, tensors)


def test_a_file_with_names_of_its_own_is_translated_as_timm_does(hub: Hub, tmp_path: Path) -> None:
    expected = random_weights("test_vit")
    hub.files = {"timm/test_vit.r160_in1k/model.safetensors": save(as_open_clip(expected))}
    found = fetch(hub, tmp_path, "test_vit.r160_in1k").tensors
    head = {"head.weight", "head.bias"}
    assert found.keys() == expected.keys()
    assert [name for name in found if name not in head and not torch.equal(found[name], expected[name])] == []


def test_without_a_safetensors_file_the_pickled_one_is_taken(
    hub: Hub, tmp_path: Path, tensors: dict[str, Tensor]
) -> None:
    pickled = io.BytesIO()
    torch.save(tensors, pickled)
    hub.files = {f"{REPOSITORY}/pytorch_model.bin": pickled.getvalue()}
    found = fetch(hub, tmp_path)
    require_equal(found.tensors, tensors)
    assert found.origin["file"] == "pytorch_model.bin"


# --- Without a connection -------------------------------------------------------------------------------------------


def test_without_a_connection_the_error_says_which_file_to_put_where(unreachable: Hub, tmp_path: Path) -> None:
    require_by_hand(complaint(unreachable, tmp_path))


def test_without_a_connection_the_last_download_is_taken(
    hub: Hub, unreachable: Hub, tmp_path: Path, tensors: dict[str, Tensor]
) -> None:
    first = fetch(hub, tmp_path)
    again = fetch(unreachable, tmp_path)
    require_equal(again.tensors, tensors)
    assert again.origin == first.origin


def test_a_last_download_that_has_changed_is_not_taken(
    hub: Hub, unreachable: Hub, tmp_path: Path, content: bytes
) -> None:
    fetch(hub, tmp_path)
    kept_file(tmp_path, content).write_bytes(b"overwritten")
    require_by_hand(complaint(unreachable, tmp_path))


@pytest.mark.parametrize("connected", [True, False])
def test_what_the_common_cache_holds_is_taken(
    hub: Hub, unreachable: Hub, tmp_path: Path, tensors: dict[str, Tensor], connected: bool
) -> None:
    hf_hub_download(REPOSITORY, "model.safetensors", cache_dir=tmp_path / "common", endpoint=hub.url)
    hub.asked.clear()
    found = fetch(hub if connected else unreachable, tmp_path)
    require_equal(found.tensors, tensors)
    assert found.origin["revision"] == hub.commit
    assert found.origin["file_verified"] is connected
    assert hub.ranges() == []
