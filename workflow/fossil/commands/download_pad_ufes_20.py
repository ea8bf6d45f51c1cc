"""Download PAD-UFES-20 and unpack its images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from fossil.config.strict import Strict
from fossil.data.downloads.pad_ufes_20_source import download_pad_ufes_20


class Settings(Strict):
    """The mirror's scheme and host, such as ``https://mirror.example.org``, instead of the publisher's."""

    mirror: str | None = Field(None, pattern=r"^https?://[^/\s]+(/\S*)?$")


def run(settings: Settings, *, downloads: Path, metadata: Path, images: Path) -> dict[str, Any]:
    """Write the table and the images, and return each file's hash and the number of images.

    ``downloads`` keeps archives and partial files until everything is in place, so that a failed or killed download
    resumes. Archives placed there by hand are used.
    """
    return download_pad_ufes_20(downloads=downloads, metadata=metadata, images=images, mirror=settings.mirror)
