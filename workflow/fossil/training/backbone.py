"""Backbones from timm, and the input that each one expects."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import timm
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from timm.data import resolve_model_data_config
from torch import Tensor, nn

_HEAD_STD = 0.01


class BackboneError(ValueError):
    """A backbone or its weights are not what the settings say."""


@dataclass(frozen=True)
class InputConfig:
    """The input that a backbone expects.

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
    model = _create(name)
    head = model.get_classifier()
    if isinstance(head, nn.Linear):
        nn.init.normal_(head.weight, std=_HEAD_STD)
        nn.init.zeros_(head.bias)
    if weights is not None:
        _fit(model, read_tensors(weights), where=weights)
    config = resolve_model_data_config(model)
    only_size = config["input_size"][-1] if model.pretrained_cfg.get("fixed_input_size") else None
    return model, InputConfig(config["mean"], config["std"], config["interpolation"], only_size)


def load_trained(name: str, path: Path) -> tuple[nn.Module, InputConfig]:
    """Load a trained model of the image study, with one logit, on the CPU.

    Raises
    ------
    BackboneError
        If the file's tensors, the classifier's among them, are not the model's.
    """
    model, inputs = make_backbone(name, weights=None, seed=0)
    try:
        model.load_state_dict(read_tensors(path))
    except RuntimeError as error:
        raise BackboneError(f"{path}: not a trained {name}: {error}") from None
    return model, inputs


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file.

    Raises
    ------
    BackboneError
        If it is none.
    """
    try:
        return load_file(path)
    except SafetensorError as error:
        raise BackboneError(f"{path}: not a safetensors file: {error}") from None


def require_fit(name: str, tensors: Mapping[str, Tensor], *, where: Path | str) -> dict[str, Any]:
    """Check that a backbone can start from tensors, and return the input that it expects by timm.

    Parameters
    ----------
    name : str
        Name in timm.
    tensors : mapping
        The model's tensors by name; those of its classifiers do not count.
    where : Path or str
        Where they came from, for the message.

    Returns
    -------
    dict
        timm's data config, JSON-native: input_size, interpolation, mean, std, crop_pct, crop_mode.

    Raises
    ------
    BackboneError
        If timm has no such model, or tensors are missing or do not belong to it.
    """
    model = _create(name)
    _fit(model, tensors, where=where)
    config = resolve_model_data_config(model)
    return {key: list(value) if isinstance(value, tuple) else value for key, value in config.items()}


def say_unknown(name: str) -> str:
    """Return the message that timm does not know a name, with similar names."""
    similar = difflib.get_close_matches(name, [*timm.list_models(), *timm.list_pretrained()], n=4)
    hint = f"; similar names: {', '.join(similar)}" if similar else ""
    return f"images.training.backbone: timm {timm.__version__} has no {name!r}{hint}"


def _create(name: str) -> Any:
    try:
        return timm.create_model(name, pretrained=False, num_classes=1)
    except RuntimeError as error:
        raise BackboneError(f"{say_unknown(name)} ({error})") from None


def _fit(model: Any, tensors: Mapping[str, Tensor], *, where: Path | str) -> None:
    """Load all tensors but those of the classifiers."""
    named = model.pretrained_cfg.get("classifier") or ()
    classifiers = {named} if isinstance(named, str) else set(named)
    kept = {name: tensor for name, tensor in tensors.items() if name.rpartition(".")[0] not in classifiers}
    try:
        missing, unexpected = model.load_state_dict(kept, strict=False)
    except RuntimeError as error:
        raise BackboneError(f"{where}: {error}") from None
    missing = [name for name in missing if name.rpartition(".")[0] not in classifiers]
    unexpected = [name for name in unexpected if not name.endswith("num_batches_tracked")]
    if missing or unexpected:
        raise BackboneError(f"{where}: tensors missing {missing[:5]}, not expected {unexpected[:5]}")
