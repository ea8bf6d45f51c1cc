"""Draw the phantom data set."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from fossil.config import PhantomDataset, Strict
from fossil.data.phantom import IDEAL_AUC, draw_phantom
from fossil.files import sha256


class Settings(Strict):
    """What is to be drawn."""

    phantom: PhantomDataset


def run(settings: Settings, *, metadata: Path, images: Path) -> dict[str, Any]:
    """Write the images (PNG) and their table (CSV).

    The record has the hash of all images, and the AUC that an observer who knew each lesion's severity would have.
    """
    draw_phantom(settings.phantom, metadata=metadata, images=images, threads=_usable_cores())
    digests = [sha256(path) for path in sorted(images.iterdir())]
    return {"images_sha256": hashlib.sha256("".join(digests).encode()).hexdigest(), "ideal_auc": IDEAL_AUC}


def _usable_cores() -> int:
    """Count the cores that this process may use, which a cluster's scheduler may limit; on macOS, all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
