"""Write a backbone's pretrained weights to one local file."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from fossil.config.strict import Strict
from fossil.runtime.files import sha256, write_json, write_tensors


class Settings(Strict):
    """The backbone, and the source of its weights: a Python package, the Hugging Face hub or a file."""

    backbone: str
    source: Literal["package", "hub", "file"]


def run(settings: Settings, *, file: list[Path], weights: Path, description: Path) -> None:
    """Write the tensors and their description: origin, licence, hash and the backbone's expected input.

    ``file`` names the file of source "file", and nothing for the others. What comes from the hub lies in a folder
    ``hub`` next to ``weights``, so that a failed or killed download resumes.
    """
    import timm

    from fossil.training.backbone import BackboneError, require_fit
    from fossil.training.weights import from_file, from_hub, from_package

    if len(file) != (settings.source == "file"):
        raise BackboneError(f"images.weights: source {settings.source} does not go with {len(file)} files")
    if settings.source == "file":
        pretrained = from_file(settings.backbone, file[0])
    elif settings.source == "hub":
        pretrained = from_hub(settings.backbone, cache=weights.parent / "hub")
    else:
        pretrained = from_package(settings.backbone)
    data_config = require_fit(settings.backbone, pretrained.tensors, where=f"weights from the {settings.source}")
    write_tensors(weights, pretrained.tensors)
    facts = {
        "backbone": settings.backbone,
        "source": settings.source,
        "sha256": sha256(weights),
        "timm": timm.__version__,
        "data_config": data_config,
    }
    write_json(description, {**facts, **pretrained.origin})
