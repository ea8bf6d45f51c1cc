"""Download PAD-UFES-20 from Mendeley Data: four files, or the archive of all of them.

Pacheco et al. (2020), Data in Brief 32, 106221, https://doi.org/10.17632/zr7vgbcyr2.1, CC BY 4.0.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from fossil.data.downloads.archives import require_zip, unpack
from fossil.data.downloads.disk import require_space
from fossil.data.downloads.download import (
    DownloadError,
    Fetched,
    NoSourceError,
    RemoteFile,
    fetch,
    locked,
    present,
    verify,
)
from fossil.data.downloads.http_answers import Patience, WrongError
from fossil.data.downloads.transfer import size_of
from fossil.runtime.files import atomic_path
from fossil.runtime.logs import logger

PAGE = "https://doi.org/10.17632/zr7vgbcyr2.1"
_HOST = "https://data.mendeley.com"


@dataclass(frozen=True)
class Source:
    """What is published: the table, the archives of images, and one archive that holds them all."""

    metadata: RemoteFile
    parts: tuple[RemoteFile, ...]
    whole: RemoteFile

    def files(self) -> tuple[RemoteFile, ...]:
        """Name the files that are wanted."""
        return (self.metadata, *self.parts)


def _published(name: str, size: int, sha256: str, key: str) -> RemoteFile:
    url = f"{_HOST}/public-files/datasets/zr7vgbcyr2/files/{key}/file_downloaded"
    return RemoteFile(name, (url,), PAGE, size=size, sha256=sha256)


PAD_UFES_20 = Source(
    metadata=_published(
        "metadata.csv",
        316209,
        "14d145235cedb022548257acb0d84dcd949e2c916f65d2baa7c38ed5339e9527",
        "fa850265-57da-48f0-ba3e-998b3e44b1f6",
    ),
    parts=(
        _published(
            "imgs_part_1.zip",
            1245184680,
            "0ab44f60938bf57445e12f518a8878954cc734e6b0aec6d01194e2d26b4b2dca",
            "1cc2f71f-20a2-412d-b746-a9b9bc20c966",
        ),
        _published(
            "imgs_part_2.zip",
            1126646990,
            "e2d9a3cbd58e823f5ae33163c48643e7d1b54ae3f9e145f01f8e9f16a363a60b",
            "559a60ed-5504-475d-996c-6a8bc253b5e7",
        ),
        _published(
            "imgs_part_3.zip",
            1220565093,
            "ecc4ef10143a43e1d01cb736773148607a78b530417eb76f2c38ad24bf5d0d2c",
            "34dcdf8e-e5f1-4b35-aa0b-5135051ff852",
        ),
    ),
    whole=RemoteFile("zr7vgbcyr2-1.zip", (f"{_HOST}/public-api/zip/zr7vgbcyr2/download/1",), PAGE, check=require_zip),
)
"""The published files. No hash of the whole archive is known; those of the files in it are."""


def download_pad_ufes_20(
    source: Source,
    *,
    downloads: Path,
    metadata: Path,
    images: Path,
    mirror: str | None = None,
    patience: Patience | None = None,
) -> dict[str, Any]:
    """Download, verify and unpack the data set.

    Parameters
    ----------
    source : Source
        What is published, ``PAD_UFES_20`` unless something else stands in for it.
    downloads : Path
        Folder for archives and partial files, which stay until all images are in place, whatever happens in between.
        Archives that were put there by hand are used.
    metadata : Path
        Where the table goes.
    images : Path
        Folder in which imgs_part_1, imgs_part_2 and imgs_part_3 come to be, when all images are there.
    mirror : str, optional
        Scheme and host, and a path if need be, that take the place of the publisher's.
    patience : Patience, optional
        Time-outs and retries.

    Returns
    -------
    dict
        ``sources`` and ``sha256`` of each file by its name, and the number of ``images``.

    Raises
    ------
    DownloadError
        A file could not be had, one in ``downloads`` is another, or the images are not those of the table.
    ArchiveError
        An archive is broken.
    DiskFullError
        No room.
    """
    with locked(downloads / "all"):
        if images.exists() and any(images.iterdir()):
            raise DownloadError(f"{images} is there already; remove it to have PAD-UFES-20 downloaded anew")
        fetched = _fetch_files(_mirrored(source, mirror), downloads, images, patience)
        count = _place_files(source, downloads, metadata, images)
        for file in (*source.files(), source.whole):
            (downloads / file.name).unlink(missing_ok=True)
        logger.info("%d images are in %s; the archives in %s were removed", count, images, downloads)
    return {
        "sources": {name: file.source for name, file in fetched.items()},
        "sha256": {name: file.sha256 for name, file in fetched.items()},
        "images": count,
    }


def _mirrored(source: Source, mirror: str | None) -> Source:
    if mirror is None:
        return source

    def moved(file: RemoteFile) -> RemoteFile:
        paths = (urlsplit(url)._replace(scheme="", netloc="").geturl() for url in file.urls)
        return replace(file, urls=tuple(f"{mirror.rstrip('/')}{path}" for path in paths))

    return Source(moved(source.metadata), tuple(map(moved, source.parts)), moved(source.whole))


def _fetch_files(source: Source, downloads: Path, images: Path, patience: Patience | None) -> dict[str, Fetched]:
    """Have every file in the folder of downloads: by hand, from its own source, or from the archive of all."""
    found = {file.name: present(file, downloads / file.name) for file in source.files()}
    fetched = {name: file for name, file in found.items() if file is not None}

    def missing() -> list[RemoteFile]:
        return [file for file in source.files() if file.name not in fetched]

    whole = downloads / source.whole.name
    if missing() and whole.exists():
        fetched |= _take_from_whole(whole, missing(), downloads)
    _require_room(source, missing(), downloads, images)
    answers = []
    for file in missing():
        try:
            fetched[file.name] = fetch(file, downloads / file.name, patience=patience)
        except NoSourceError as error:
            answers.append(str(error))
    if missing():
        try:
            fetch(source.whole, whole, patience=patience)
        except NoSourceError as error:
            raise DownloadError("\n".join([*answers, str(error)])) from error
        fetched |= _take_from_whole(whole, missing(), downloads)
    if missing():
        names = ", ".join(file.name for file in missing())
        answers.append(f"{whole} does not hold {names} as published; remove it to have it downloaded anew.")
        raise DownloadError("\n".join(answers))
    return fetched


def _take_from_whole(whole: Path, files: Sequence[RemoteFile], downloads: Path) -> dict[str, Fetched]:
    """Take files from the archive of all, at any depth; one that is not as published is left out with a warning."""
    wanted = {file.name: file for file in files}
    folder = downloads / f".{whole.stem}"
    shutil.rmtree(folder, ignore_errors=True)
    taken = {}
    try:
        unpack(whole, folder, place=lambda member: PurePosixPath(member.name) if member.name in wanted else None)
        for path in sorted(folder.iterdir()):
            try:
                taken[path.name] = Fetched(f"{path.name} in {whole.name}", verify(wanted[path.name], path))
            except WrongError as error:
                logger.warning("%s in %s: %s", path.name, whole, error)
            else:
                path.replace(downloads / path.name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return taken


def _require_room(source: Source, missing: Sequence[RemoteFile], downloads: Path, images: Path) -> None:
    """Ask for the room of what is to come and of the images, which take about as much as their archives."""
    partial = sum(size_of(downloads / f"{file.name}.partial") for file in missing)
    coming = sum(file.size or 0 for file in missing) - partial
    unpacked = sum(file.size or 0 for file in source.parts)
    images.parent.mkdir(parents=True, exist_ok=True)
    if downloads.stat().st_dev == images.parent.stat().st_dev:
        require_space(downloads, coming + unpacked, purpose="PAD-UFES-20, with its archives,")
    else:
        require_space(downloads, coming, purpose="PAD-UFES-20: the archives of images")
        require_space(images.parent, unpacked, purpose="PAD-UFES-20: the images")


def _place_files(source: Source, downloads: Path, metadata: Path, images: Path) -> int:
    """Unpack the images, compare them with the table, and put both in place; counts the images."""
    staging = images.with_name(f".{images.name}.partial")
    shutil.rmtree(staging, ignore_errors=True)
    try:
        for part in source.parts:
            unpack(downloads / part.name, staging / Path(part.name).stem, place=_image_place)
        count = _require_images(downloads / source.metadata.name, staging)
        with atomic_path(metadata) as temporary:
            shutil.copyfile(downloads / source.metadata.name, temporary)
        staging.replace(images)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return count


def _image_place(member: PurePosixPath) -> PurePosixPath | None:
    """Keep images, without the folders that an archive has them in; leave out what a Mac adds."""
    hidden = any(part.startswith(".") or part == "__MACOSX" for part in member.parts)
    return None if hidden or member.suffix.lower() != ".png" else PurePosixPath(member.name)


def _require_images(metadata: Path, images: Path) -> int:
    """Compare the images with the rows of the table; counts them."""
    with metadata.open(encoding="utf-8", newline="") as file:
        rows = [row["img_id"] for row in csv.DictReader(file)]
    names = [path.name for path in images.glob("*/*")]
    if sorted(rows) != sorted(names):
        lacking, further = sorted(set(rows) - set(names)), sorted(set(names) - set(rows))
        raise DownloadError(
            f"The archives hold {len(names)} images, metadata.csv names {len(rows)}; "
            f"without an image: {', '.join(lacking[:5]) or 'none'}; without a row: {', '.join(further[:5]) or 'none'}. "
            f"The files in {metadata.parent} are kept"
        )
    return len(names)
