"""Downloads of PAD-UFES-20 from Mendeley Data: four files, or the archive of all of them.

Pacheco et al. (2020), Data in Brief 32, 106221, https://doi.org/10.17632/zr7vgbcyr2.1, CC BY 4.0.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from fossil.data.downloads.archives import unpack
from fossil.data.downloads.download import (
    DownloadError,
    Fetched,
    RemoteFile,
    WrongBytesError,
    fetch,
    locked,
    verify,
)
from fossil.runtime.files import atomic_path
from fossil.runtime.logs import logger

PAGE = "https://doi.org/10.17632/zr7vgbcyr2.1"
PUBLISHER = "https://data.mendeley.com"
FILES = {
    "metadata.csv": (316209, "14d145235cedb022548257acb0d84dcd949e2c916f65d2baa7c38ed5339e9527"),
    "imgs_part_1.zip": (1245184680, "0ab44f60938bf57445e12f518a8878954cc734e6b0aec6d01194e2d26b4b2dca"),
    "imgs_part_2.zip": (1126646990, "e2d9a3cbd58e823f5ae33163c48643e7d1b54ae3f9e145f01f8e9f16a363a60b"),
    "imgs_part_3.zip": (1220565093, "ecc4ef10143a43e1d01cb736773148607a78b530417eb76f2c38ad24bf5d0d2c"),
}
"""Bytes and SHA-256 of the published files."""

WHOLE = "zr7vgbcyr2-1.zip"
"""The archive of all files. Its hash is not known; those of the files in it are."""

_KEYS = {
    "metadata.csv": "fa850265-57da-48f0-ba3e-998b3e44b1f6",
    "imgs_part_1.zip": "1cc2f71f-20a2-412d-b746-a9b9bc20c966",
    "imgs_part_2.zip": "559a60ed-5504-475d-996c-6a8bc253b5e7",
    "imgs_part_3.zip": "34dcdf8e-e5f1-4b35-aa0b-5135051ff852",
}


def download_pad_ufes_20(*, downloads: Path, metadata: Path, images: Path, mirror: str | None = None) -> dict[str, Any]:
    """Download, verify and unpack the data set, and return sources, hashes and the number of images.

    ``downloads`` keeps archives, among them those placed by hand, until all images are in ``images``. The address
    ``mirror`` replaces the publisher's scheme and host.

    Raises
    ------
    DownloadError
        A file is not available, or one in ``downloads`` differs.
    ArchiveError
        An archive is broken.
    DiskFullError
        The disk has too little room.
    """
    host = (mirror or PUBLISHER).rstrip("/")
    with locked(downloads / "all"):
        if images.exists() and any(images.iterdir()):
            raise DownloadError(f"{images} exists already; remove it to download PAD-UFES-20 again")
        fetched = _fetch_files(host, downloads)
        count = _place_files(downloads, metadata, images)
        for name in (*FILES, WHOLE):
            (downloads / name).unlink(missing_ok=True)
    logger.info("%d images are in %s; the archives in %s were removed", count, images, downloads)
    sources, hashes = ({name: fetched[name][part] for name in FILES} for part in (0, 1))
    return {"sources": sources, "sha256": hashes, "images": count}


def _fetch_files(host: str, downloads: Path) -> dict[str, Fetched]:
    """Download every missing file, from its own source or from the archive of all."""
    files = []
    for name, (size, digest) in FILES.items():
        url = f"{host}/public-files/datasets/zr7vgbcyr2/files/{_KEYS[name]}/file_downloaded"
        files.append(RemoteFile(name, (url,), PAGE, size=size, sha256=digest))
    whole = RemoteFile(WHOLE, (f"{host}/public-api/zip/zr7vgbcyr2/download/1",), PAGE)
    fetched: dict[str, Fetched] = {}
    answers = []
    # Files placed by hand come first, so that a wrong one is an error before anything is downloaded.
    for file in sorted(files, key=lambda file: not (downloads / file.name).exists()):
        path = downloads / file.name
        is_placed = path.exists()
        try:
            if is_placed or not (downloads / WHOLE).exists():
                fetched[file.name] = fetch(file, path)
        except DownloadError as error:
            if is_placed:
                raise
            answers.append(str(error))
    if missing := [file for file in files if file.name not in fetched]:
        try:
            fetch(whole, downloads / WHOLE)
        except DownloadError as error:
            raise DownloadError("\n".join([*answers, str(error)])) from error
        fetched |= _take_from_whole(missing, downloads)
    return fetched


def _take_from_whole(files: Sequence[RemoteFile], downloads: Path) -> dict[str, Fetched]:
    """Extract files from the archive of all, at any depth."""
    folder, names = downloads / ".whole", {file.name for file in files}
    try:
        unpack(
            downloads / WHOLE,
            folder,
            place=lambda member: PurePosixPath(member.name) if member.name in names else None,
        )
        taken = {file.name: Fetched(f"{file.name} in {WHOLE}", verify(file, folder / file.name)) for file in files}
        for name in names:
            (folder / name).replace(downloads / name)
    except (WrongBytesError, FileNotFoundError) as error:
        raise DownloadError(f"{downloads / WHOLE} lacks a file as published: {error}; remove it to retry") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return taken


def _place_files(downloads: Path, metadata: Path, images: Path) -> int:
    """Unpack the images, move them and the table into place, and return the number of images."""
    staging, count = images.with_name(f".{images.name}.partial"), 0
    shutil.rmtree(staging, ignore_errors=True)
    try:
        for part in sorted(set(FILES) - {metadata.name}):
            count += unpack(downloads / part, staging / Path(part).stem, place=_image_place)
        with atomic_path(metadata) as temporary:
            shutil.copyfile(downloads / "metadata.csv", temporary)
        staging.replace(images)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return count


def _image_place(member: PurePosixPath) -> PurePosixPath | None:
    """Return the place of an image without the archive's folders; None for hidden and other files."""
    is_hidden = any(part.startswith(".") or part == "__MACOSX" for part in member.parts)
    return None if is_hidden or member.suffix.lower() != ".png" else PurePosixPath(member.name)
