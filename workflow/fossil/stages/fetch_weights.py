"""Put a backbone's pretrained weights into one local file."""

from __future__ import annotations

from pathlib import Path

from fossil.config import Strict
from fossil.files import sha256, write_json, write_tensors
from fossil.training.backbone import package_weights


class Settings(Strict):
    """Which backbone."""

    backbone: str


def run(settings: Settings, *, weights: Path, description: Path) -> None:
    """Write the tensors and their hash."""
    write_tensors(weights, package_weights(settings.backbone))
    write_json(description, {"backbone": settings.backbone, "source": "package", "sha256": sha256(weights)})
