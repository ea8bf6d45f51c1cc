"""Put a backbone's pretrained weights into one local file."""

from __future__ import annotations

from pathlib import Path

from safetensors.torch import save_file

from fossil.config import Strict
from fossil.files import atomic_path, sha256, write_json
from fossil.training.backbone import package_weights


class Settings(Strict):
    """Which backbone."""

    backbone: str


def run(settings: Settings, *, weights: Path, description: Path) -> None:
    """Write the tensors and their hash."""
    with atomic_path(weights) as temporary:
        save_file(package_weights(settings.backbone), temporary)
    write_json(description, {"backbone": settings.backbone, "source": "package", "sha256": sha256(weights)})
