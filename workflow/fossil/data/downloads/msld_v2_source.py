"""MSLD v2.0 from Kaggle, held to one version and one content: no checksum of it is published."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fossil.data.downloads.kaggle import KaggleDataset, KaggleError, kaggle_dataset
from fossil.runtime.files import read_json, sha256, visible_files, write_json
from fossil.runtime.logs import logger, progress

HANDLE = "joydippaul/mpox-skin-lesion-dataset-version-20-msld-v20"
"""The data set's name on Kaggle."""

PAGE = f"https://www.kaggle.com/datasets/{HANDLE}"
"""Web page from which a person can download it."""

_TITLE = "MSLD v2.0"
_BY_HAND = (
    f"By hand: download the archive in a browser from {PAGE}, unpack it, and name the folder in datasets.msld_v2.root."
)


class SourceError(RuntimeError):
    """The data set cannot be had, or is another than before; the message says what to do."""


@dataclass(frozen=True)
class Content:
    """What a folder holds: one hash over the names and bytes of its files, in hex, and their number."""

    sha256: str
    files: int


def download_msld_v2(
    *, downloads: Path, images: Path, expected: str | None, pause: float = 1.0, seconds: float = 30.0
) -> dict[str, Any]:
    """Download the data set into a folder that appears when all of it is there.

    Parameters
    ----------
    downloads : Path
        Working folder that outlives a failed or killed run. It holds kagglehub's cache, which keeps the unpacked files,
        and msld_v2.json: version, hash and number of files of the first download. Later runs ask for that version and
        must find that content.
    images : Path
        Folder to write: the archive's files, as links to those in the cache where the disk has links.
    expected : str or None
        Hash that the content must have (:func:`measure_content`); it takes the place of the recorded one.
    pause, seconds : float
        Waiting; see :func:`fossil.data.downloads.kaggle.kaggle_dataset`.

    Returns
    -------
    dict
        dataset, dataset_version, content_sha256 and files.

    Raises
    ------
    SourceError
        Kaggle does not give it, or its content is another. The message says how to place the files by hand.
    DiskFullError
        No room, before or while downloading.
    """
    record = downloads / "msld_v2.json"
    known = read_json(record) if record.exists() else None
    if known is not None and expected is not None and known["sha256"] != expected:
        known = None
    where = "datasets.msld_v2.sha256"
    if known is not None and expected is None:
        expected, where = known["sha256"], f"{record} (the first download)"
    downloads.mkdir(parents=True, exist_ok=True)
    try:
        with kaggle_dataset(HANDLE, title=_TITLE, cache=downloads, pause=pause, seconds=seconds) as dataset:
            version = known["version"] if known is not None else dataset.find_version()
            folder, content = _obtain(dataset, version, expected)
    except KaggleError as error:
        raise SourceError(f"{error} {_BY_HAND}") from error
    if content.sha256 != expected and expected is not None:
        raise SourceError(
            f"{HANDLE}, version {version}: the content has sha256 {content.sha256}, expected {expected} by {where}. "
            "Kaggle gives other files than were expected, such as those of a newer version. To accept them, delete "
            f"{record} and set datasets.msld_v2.sha256 to the new hash or to null"
        )
    _place(folder, images)
    write_json(record, {"dataset": HANDLE, "version": version, **asdict(content)})
    return {"dataset": HANDLE, "dataset_version": version, "content_sha256": content.sha256, "files": content.files}


def measure_content(folder: Path) -> Content:
    """Hash a folder: SHA-256 over ``name NUL hash newline`` of its visible files, names relative and sorted."""
    paths = {path.relative_to(folder).as_posix(): path for path in visible_files(folder)}
    digest = hashlib.sha256()
    for name in progress(sorted(paths), description=f"Hashing {_TITLE}", total=len(paths)):
        digest.update(f"{name}\0{sha256(paths[name])}\n".encode())
    return Content(digest.hexdigest(), len(paths))


def _obtain(dataset: KaggleDataset, version: int, expected: str | None) -> tuple[Path, Content]:
    """Give the files and their hash; those of an earlier download that have changed since are downloaded anew."""
    was_there = dataset.unpacked(version).exists()
    folder = dataset.download(version)
    content = measure_content(folder)
    if was_there and expected is not None and content.sha256 != expected:
        logger.warning("%s: not the files that are expected; downloading them anew", folder)
        folder = dataset.download(version, anew=True)
        content = measure_content(folder)
    if content.files == 0:
        raise SourceError(f"The archive of {HANDLE}, version {version}, holds no file. {_BY_HAND}")
    return folder, content


def _place(folder: Path, images: Path) -> None:
    temporary = images.with_name(f".{images.name}.partial")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        shutil.copytree(folder, temporary, copy_function=_link_or_copy)
        if images.exists():
            shutil.rmtree(images)
        temporary.replace(images)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
