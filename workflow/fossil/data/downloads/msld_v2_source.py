"""Downloads of MSLD v2.0 from Kaggle, pinned to one version and content, since no checksum is published."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import requests

from fossil.data.downloads.archives import ArchiveError, unpack
from fossil.data.downloads.download import Download, DownloadError, SourceError, answer, fetch
from fossil.runtime.files import read_json, sha256, visible_files, write_json
from fossil.runtime.logs import progress

HANDLE = "joydippaul/mpox-skin-lesion-dataset-version-20-msld-v20"
PAGE = f"https://www.kaggle.com/datasets/{HANDLE}"
_BY_HAND = f"By hand: download the archive from {PAGE}, unpack it and set datasets.msld_v2.root to the folder"


def download_msld_v2(*, downloads: Path, images: Path, expected: str | None) -> dict[str, Any]:
    """Download and unpack the data set, and return its version, hash and number of files.

    ``downloads`` keeps the archive until it is unpacked, and msld_v2.json: version and hash of the first download,
    which later ones must have. ``expected``, from the configuration, takes the place of that :func:`hash_folder`.
    """
    record = downloads / "msld_v2.json"
    recorded = read_json(record) if record.exists() else {}
    if expected is not None and recorded.get("sha256") != expected:
        recorded = {}
    # The data set is public; a login is used where the machine has one.
    login = {"Authorization": f"Bearer {token}"} if (token := os.environ.get("KAGGLE_API_TOKEN")) else {}
    api = f"{os.environ.get('KAGGLE_API_ENDPOINT', 'https://www.kaggle.com')}/api/v1/datasets"
    try:
        version = recorded.get("version") or _newest_version(api, login)
        archive = downloads / f"msld_v2-{version}.zip"
        url = f"{api}/download/{HANDLE}?datasetVersionNumber={version}"
        fetch(Download(archive.name, url, PAGE, headers=login), archive)
        unpack(archive, unpacked := downloads / "unpacked")
    except (SourceError, DownloadError, ArchiveError) as error:
        if isinstance(error, ArchiveError):
            archive.unlink()
        raise DownloadError(f"Kaggle does not give {HANDLE}: {error} {_BY_HAND}") from error
    digest, count = hash_folder(unpacked)
    wanted = expected or recorded.get("sha256") or digest
    if digest != wanted:
        where = f"{record} (the first download)" if recorded else "datasets.msld_v2.sha256"
        raise DownloadError(
            f"{HANDLE}, version {version}: the content has sha256 {digest}, expected {wanted} by {where}. "
            f"To accept it, delete {record} and set datasets.msld_v2.sha256 to the new hash or to null"
        )
    shutil.rmtree(images, ignore_errors=True)
    images.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(unpacked, images)
    write_json(record, {"dataset": HANDLE, "version": version, "sha256": digest, "files": count})
    archive.unlink()
    return {"dataset": HANDLE, "dataset_version": version, "content_sha256": digest, "files": count}


def hash_folder(folder: Path) -> tuple[str, int]:
    """Return the SHA-256 over ``name NUL hash newline`` of a folder's visible files, names sorted, and their number."""
    paths = {path.relative_to(folder).as_posix(): path for path in visible_files(folder)}
    digest = hashlib.sha256()
    for name in progress(sorted(paths), description="Hashing MSLD v2.0", total=len(paths)):
        digest.update(f"{name}\0{sha256(paths[name])}\n".encode())
    return digest.hexdigest(), len(paths)


def _newest_version(api: str, login: dict[str, str]) -> int:
    try:
        with answer(f"{api}/view/{HANDLE}", login) as response:
            facts = response.json()
        return int(facts.get("currentVersionNumber") or facts["currentVersionNumberNullable"])
    except (requests.RequestException, ValueError, KeyError, AttributeError, TypeError) as error:
        raise SourceError(f"what answers at {api} is not Kaggle, for it names no version.") from error
