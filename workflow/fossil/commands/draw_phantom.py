"""Draw the phantom data set."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from fossil.config.datasets import PhantomDataset
from fossil.config.strict import Strict
from fossil.data.phantom import IDEAL_AUC, draw_phantom
from fossil.runtime.files import sha256


class Settings(Strict):
    """The phantom's keys of the configuration."""

    phantom: PhantomDataset


def run(settings: Settings, *, metadata: Path, images: Path, threads: int) -> dict[str, Any]:
    """Write the images (PNG) and their table (CSV).

    The record has the hash of all images, and the AUC that an observer who knew each lesion's severity would have.
    """
    draw_phantom(settings.phantom, metadata=metadata, images=images, threads=threads)
    digests = [sha256(path) for path in sorted(images.iterdir())]
    return {"images_sha256": hashlib.sha256("".join(digests).encode()).hexdigest(), "ideal_auc": IDEAL_AUC}
