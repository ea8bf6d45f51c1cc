"""Downloads of PAD-UFES-20 from Mendeley Data: four files, or the archive of all of them.

Pacheco et al. (2020), Data in Brief 32, 106221, https://doi.org/10.17632/zr7vgbcyr2.1, CC BY 4.0.
"""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath
from typing import Any

from fossil.data.downloads.archives import unpack
from fossil.data.downloads.download import Download, DownloadError, fetch

PAGE = "https://doi.org/10.17632/zr7vgbcyr2.1"
PUBLISHER = "https://data.mendeley.com"
FILES = {
    "metadata.csv": (316209, "14d145235cedb022548257acb0d84dcd949e2c916f65d2baa7c38ed5339e9527"),
    "imgs_part_1.zip": (1245184680, "0ab44f60938bf57445e12f518a8878954cc734e6b0aec6d01194e2d26b4b2dca"),
    "imgs_part_2.zip": (1126646990, "e2d9a3cbd58e823f5ae33163c48643e7d1b54ae3f9e145f01f8e9f16a363a60b"),
    "imgs_part_3.zip": (1220565093, "ecc4ef10143a43e1d01cb736773148607a78b530417eb76f2c38ad24bf5d0d2c"),
}
"""Bytes and SHA-256 of the published files."""

KEYS = {
    "metadata.csv": "fa850265-57da-48f0-ba3e-998b3e44b1f6",
    "imgs_part_1.zip": "1cc2f71f-20a2-412d-b746-a9b9bc20c966",
    "imgs_part_2.zip": "559a60ed-5504-475d-996c-6a8bc253b5e7",
    "imgs_part_3.zip": "34dcdf8e-e5f1-4b35-aa0b-5135051ff852",
}
"""The files' keys in the publisher's addresses."""

WHOLE = "zr7vgbcyr2-1.zip"
"""The archive of all files. Its hash is not known; those of the files in it are."""


def download_pad_ufes_20(*, downloads: Path, metadata: Path, images: Path, mirror: str | None = None) -> dict[str, Any]:
    """Download, verify and unpack the data set, and return the files' hashes and the number of images.

    ``downloads`` keeps archives, among them those placed by hand, until all images are in ``images``. The address
    ``mirror`` replaces the publisher's scheme and host.
    """
    if images.exists():
        raise DownloadError(f"{images} exists already; remove it to download PAD-UFES-20 again")
    _fetch_files((mirror or PUBLISHER).rstrip("/"), downloads)
    staging, parts = downloads / "images", [name for name in FILES if name.endswith(".zip")]
    count = sum(unpack(downloads / name, staging / Path(name).stem, place=_image_place) for name in parts)
    for source, target in ((staging, images), (downloads / "metadata.csv", metadata)):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(source, target)
    for name in (*parts, WHOLE):
        (downloads / name).unlink(missing_ok=True)
    return {"sha256": {name: digest for name, (_, digest) in FILES.items()}, "images": count}


def _fetch_files(host: str, downloads: Path) -> None:
    """Download every missing file, from its own address or from the archive of all."""
    address = f"{host}/public-files/datasets/zr7vgbcyr2/files"
    files = {
        downloads / name: Download(name, f"{address}/{KEYS[name]}/file_downloaded", PAGE, size, digest)
        for name, (size, digest) in FILES.items()
    }
    # Files placed by hand come first, so that a wrong one is an error before anything is downloaded.
    for path in filter(Path.exists, files):
        fetch(files[path], path)
    failures, whole = [], downloads / WHOLE
    for path, file in files.items():
        try:
            if not path.exists() and not whole.exists():
                fetch(file, path)
        except DownloadError as error:
            failures.append(str(error))
    missing = {path.name for path in files if not path.exists()}
    if not missing:
        return
    try:
        fetch(Download(WHOLE, f"{host}/public-api/zip/zr7vgbcyr2/download/1", PAGE), whole)
    except DownloadError as error:
        raise DownloadError("\n".join([*failures, str(error)])) from error
    folder = downloads / "whole"
    unpack(whole, folder, place=lambda member: PurePosixPath(member.name) if member.name in missing else None)
    for path in list(folder.iterdir()):
        path.replace(downloads / path.name)
    folder.rmdir()
    for name in missing:
        fetch(files[downloads / name], downloads / name)


def _image_place(member: PurePosixPath) -> PurePosixPath | None:
    """Return the place of an image without the archive's folders; None for hidden and other files."""
    is_hidden = any(part.startswith(".") or part == "__MACOSX" for part in member.parts)
    return None if is_hidden or member.suffix.lower() != ".png" else PurePosixPath(member.name)
