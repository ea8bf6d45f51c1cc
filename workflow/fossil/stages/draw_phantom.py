"""Draw the phantom data set."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fossil.config import PhantomDataset, Strict
from fossil.data.phantom import draw_phantom
from fossil.files import sha256


class Settings(Strict):
    """What is to be drawn."""

    phantom: PhantomDataset


def run(settings: Settings, *, metadata: Path, images: Path) -> dict[str, str]:
    """Write the images (PNG) and their table (CSV); the record has the hash of all images."""
    draw_phantom(settings.phantom, metadata=metadata, images=images)
    digests = [sha256(path) for path in sorted(images.iterdir())]
    return {"images_sha256": hashlib.sha256("".join(digests).encode()).hexdigest()}
