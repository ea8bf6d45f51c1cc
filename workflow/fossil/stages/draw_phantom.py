"""Draw the phantom data set."""

from __future__ import annotations

from pathlib import Path

from fossil.config import PhantomDataset, Strict
from fossil.data.phantom import draw_phantom


class Settings(Strict):
    """What is to be drawn."""

    phantom: PhantomDataset


def run(settings: Settings, *, metadata: Path, images: Path) -> dict[str, int]:
    """Write the images (PNG) and their table (CSV); the record counts rows and missing images."""
    draw_phantom(settings.phantom, metadata=metadata, images=images)
    return {"rows": settings.phantom.images, "missing_images": 0}
