"""Download MSLD v2.0 from Kaggle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from fossil.config.strict import Strict
from fossil.data.downloads.msld_v2_source import download_msld_v2


class Settings(Strict):
    """The content's hash where it is known."""

    sha256: str | None = Field(pattern=r"^[0-9a-f]{64}$")


def run(settings: Settings, *, downloads: Path, images: Path) -> dict[str, Any]:
    """Write the images, and return their hash and number and the data set's version on Kaggle.

    ``downloads`` keeps the partial archive, so that a failed or killed download resumes, and the hash of the first
    download, which later ones must have.
    """
    return download_msld_v2(downloads=downloads, images=images, expected=settings.sha256)
