"""Pretrained weights from a server that answers as the Hugging Face hub does."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import timm
import torch
from huggingface_hub import constants
from safetensors.torch import save
from torch import Tensor

from fossil.data.downloads.download import DownloadError
from fossil.training.backbone import BackboneError
from fossil.training.weights import Pretrained, from_hub
from tests.unit.downloads.file_server import Answer, FileServer

BACKBONE = "test_byobnet"  # timm's smallest: 1.9 MB
REPOSITORY = "timm/test_byobnet.r160_in1k"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
NEXT_COMMIT = "f" * 40


def random_weights(name: str) -> dict[str, Tensor]:
    torch.manual_seed(1)
    return timm.create_model(name, pretrained=False).state_dict()


@pytest.fixture(scope="module")
def tensors() -> dict[str, Tensor]:
    return random_weights(BACKBONE)


@pytest.fixture(scope="module")
def content(tensors: dict[str, Tensor]) -> bytes:
    return save(tensors)


def published(
    content: bytes,
    *,
    name: str = "model.safetensors",
    repository: str = REPOSITORY,
    commit: str = COMMIT,
    has_hash: bool = True,
    storage: Answer | list[Answer] | None = None,
) -> dict[str, Any]:
    """The hub's addresses of a file, which redirect to its storage."""
    digest = hashlib.sha256(content).hexdigest()
    redirection = Answer(
        status=302,
        headers={
            "Location": f"/storage/{commit}/{name}",
            "X-Repo-Commit": commit,
            "X-Linked-Etag": f'"{digest if has_hash else digest[:40]}"',
            "X-Linked-Size": str(len(content)),
        },
    )
    return {
        f"/{repository}/resolve/main/{name}": redirection,
        f"/{repository}/resolve/{commit}/{name}": redirection,
        f"/storage/{commit}/{name}": storage or Answer(content),
    }


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FileServer]:
    """The hub, still empty, and a machine without a token and with an empty common cache."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "common"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    with FileServer({}) as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url())
        yield server


def fetch(folder: Path, name: str = BACKBONE) -> Pretrained:
    return from_hub(name, cache=folder / "hub")


def complaint(folder: Path, error: type[Exception] = DownloadError) -> str:
    with pytest.raises(error) as caught:
        fetch(folder)
    return str(caught.value)


def require_equal(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    assert [name for name in found if not torch.equal(found[name], expected[name])] == []


# --- What arrives ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_hash", [True, False])
def test_the_tensors_on_the_hub_arrive_with_commit_hash_and_licence(
    hub: FileServer, tmp_path: Path, tensors: dict[str, Tensor], content: bytes, has_hash: bool
) -> None:
    hub.serve(published(content, has_hash=has_hash))
    weights = fetch(tmp_path)
    require_equal(weights.tensors, tensors)
    assert weights.origin == {
        "hub_id": REPOSITORY,
        "revision": COMMIT,
        "file": "model.safetensors",
        "file_sha256": hashlib.sha256(content).hexdigest(),
        "file_verified": has_hash,
        "licence": "apache-2.0",
    }
    assert all("authorization" not in asked.headers for asked in hub.log)


def test_a_token_is_sent_to_the_hub(
    hub: FileServer, tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.serve(published(content))
    fetch(tmp_path)
    assert hub.log[0].headers["authorization"] == "Bearer hf_secret"


def test_a_failed_download_resumes_at_the_same_commit_next_time(
    hub: FileServer, tmp_path: Path, tensors: dict[str, Tensor], content: bytes
) -> None:
    hub.serve(published(content, storage=[Answer(content), Answer(content, cut_after=9000), Answer(status=500)]))
    assert "run again to resume" in complaint(tmp_path)
    hub.log.clear()
    hub.serve(published(content))
    require_equal(fetch(tmp_path).tensors, tensors)
    assert hub.ranges(f"/storage/{COMMIT}/model.safetensors")[-1] == "bytes=9000-"


def test_wrong_bytes_are_downloaded_once_more(
    hub: FileServer, tmp_path: Path, tensors: dict[str, Tensor], content: bytes
) -> None:
    hub.serve(published(content, storage=[Answer(content), Answer(content[:-4] + b"oops"), Answer(content)]))
    require_equal(fetch(tmp_path).tensors, tensors)


def test_later_the_first_version_is_used_without_a_connection_and_whatever_is_newer(
    hub: FileServer, tmp_path: Path, content: bytes
) -> None:
    hub.serve(published(content))
    first = fetch(tmp_path)
    hub.serve(published(b"newer", commit=NEXT_COMMIT))
    hub.log.clear()
    assert fetch(tmp_path).origin == first.origin
    assert hub.log == []


def test_a_downloaded_file_that_has_changed_is_an_error_that_names_it(
    hub: FileServer, tmp_path: Path, content: bytes
) -> None:
    hub.serve(published(content))
    fetch(tmp_path)
    (path,) = (tmp_path / "hub").rglob("*.safetensors")
    path.write_bytes(b"overwritten")
    assert complaint(tmp_path).startswith(f"{path}: this is not model.safetensors as published")


def test_a_file_with_names_of_its_own_is_translated_as_timm_does(hub: FileServer, tmp_path: Path) -> None:
    expected = random_weights("test_vit")
    names = {f"visual.trunk.{name}": tensor for name, tensor in expected.items()}
    hub.serve(published(save(names), repository="timm/test_vit.r160_in1k"))
    weights = fetch(tmp_path, "test_vit.r160_in1k").tensors
    assert weights.keys() == expected.keys()
    assert torch.equal(weights["blocks.0.attn.qkv.weight"], expected["blocks.0.attn.qkv.weight"])


# --- What the hub does not give -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(status=401), "401 Unauthorized"),
        (Answer(status=403), "403 Forbidden"),
        (Answer(status=404), "404 Not Found"),
        (Answer(status=503), "503 Service Unavailable"),
        (Answer(b"<html>Please log in to the hotel's network</html>"), "is not the hub"),
    ],
)
def test_a_refusal_is_an_error_that_tells_of_tokens_and_of_what_to_do_by_hand(
    hub: FileServer, tmp_path: Path, answer: Answer, words: str
) -> None:
    hub.serve({f"/{REPOSITORY}/resolve/main/model.safetensors": answer})
    message = complaint(tmp_path)
    assert words in message
    assert "HF_TOKEN" in message
    assert f"download model.safetensors from https://huggingface.co/{REPOSITORY}/tree/main" in message
    assert "set images.weights to its path" in message


@pytest.mark.parametrize("is_offline", [True, False])
def test_without_a_connection_the_common_cache_is_used(
    hub: FileServer, tmp_path: Path, tensors: dict[str, Tensor], content: bytes, is_offline: bool, monkeypatch: Any
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", is_offline)
    folder = tmp_path / "common" / f"models--{REPOSITORY.replace('/', '--')}"
    (folder / "snapshots" / COMMIT).mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(COMMIT)
    (folder / "snapshots" / COMMIT / "model.safetensors").write_bytes(content)
    weights = fetch(tmp_path)
    require_equal(weights.tensors, tensors)
    assert (weights.origin["revision"], weights.origin["file_verified"]) == (COMMIT, False)
    assert (hub.log == []) is is_offline


def test_a_file_of_another_model_is_an_error(hub: FileServer, tmp_path: Path) -> None:
    hub.serve(published(save(random_weights("test_vit"))))
    assert f"not published weights of {BACKBONE}" in complaint(tmp_path, BackboneError)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("convnext_tny.fb_in1k", r"images\.training\.backbone: .*similar names: convnext_tiny\.fb_in1k"),
        ("convnext_tiny.fb_in2k", r"no 'convnext_tiny\.fb_in2k'.*convnext_tiny\.fb_in22k"),
        # Without weights, and with weights elsewhere.
        ("botnet50ts_256", r"no weights of 'botnet50ts_256' on the hub; similar .*botnet26t_256\.c1_in1k"),
        ("legacy_seresnet18.in1k", r"no weights of 'legacy_seresnet18\.in1k' on the hub; similar .*resnet18"),
    ],
)
def test_a_backbone_without_weights_on_the_hub_is_an_error_that_names_similar_ones(
    hub: FileServer, tmp_path: Path, name: str, words: str
) -> None:
    with pytest.raises(BackboneError, match=words):
        fetch(tmp_path, name)
    assert hub.log == []
