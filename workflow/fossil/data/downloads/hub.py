"""Files from the Hugging Face hub, pinned to the commit of their first download and to the hash that the hub gives.

The settings of huggingface_hub hold: HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE and, without a connection, HF_HUB_CACHE.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from fossil.data.downloads.download import DownloadError, RemoteFile, SourceError, ask, fetch
from fossil.runtime.files import read_json, sha256, write_json
from fossil.runtime.logs import logger


@dataclass(frozen=True)
class HubFile:
    """A file from the hub, its commit and its SHA-256, which the hub itself gave where ``verified``."""

    path: Path
    revision: str
    sha256: str
    verified: bool


def fetch_hub_file(repository: str, names: tuple[str, ...], *, cache: Path) -> HubFile:
    """Download the first of some files that a repository has: its newest version, and that same version later.

    Raises
    ------
    DownloadError
        The hub has none of them, refuses, or cannot be reached, and the common cache has none either.
    """
    from huggingface_hub import constants, get_token, try_to_load_from_cache

    headers = {"Authorization": f"Bearer {token}"} if (token := get_token()) else {}
    address, folder = f"{constants.ENDPOINT}/{repository}/resolve", cache / repository.replace("/", "--")
    page = f"https://huggingface.co/{repository}/tree/main"
    record = folder / "first-download.json"
    try:
        if record.exists():
            known = read_json(record)
        elif constants.HF_HUB_OFFLINE:
            raise SourceError("HF_HUB_OFFLINE is set")
        else:
            known = _look_up(f"{address}/main", names, headers)
    except SourceError as error:
        for name in names:
            if isinstance(cached := try_to_load_from_cache(repository, name), str):
                logger.warning("%s: %s; using %s", repository, error, cached)
                # In this cache, the name of a file's folder is its commit.
                return HubFile(Path(cached), Path(cached).parent.name, sha256(Path(cached)), verified=False)
        raise DownloadError(
            f"The hub does not give {repository}: {error}. Where its page asks for consent, give it there and put your "
            f"token into HF_TOKEN. By hand: download {names[0]} from {page} and set images.weights to its path"
        ) from error
    name, revision = known["name"], known["revision"]
    path = folder / revision / name
    url = f"{address}/{revision}/{name}"
    file = RemoteFile(name, (url,), page, size=known["size"], sha256=known["sha256"], headers=headers)
    digest = fetch(file, path).sha256
    write_json(record, {**known, "sha256": digest})
    return HubFile(path, revision, digest, known["verified"])


def _look_up(address: str, names: tuple[str, ...], headers: Mapping[str, str]) -> dict[str, Any]:
    """Look up commit, size and hash of the first file that exists."""
    for name in names:
        try:
            return ask(f"{address}/{name}", _read, headers={**headers, "Range": "bytes=0-0"}) | {"name": name}
        except SourceError as error:
            if error.status != requests.codes.not_found or name == names[-1]:
                raise
    raise AssertionError


def _read(response: requests.Response) -> dict[str, Any]:
    """Read the hub's description of a file, which it sends with the redirection to its storage."""
    given: Mapping[str, str] = next(
        (answer.headers for answer in (*response.history, response) if "X-Repo-Commit" in answer.headers), {}
    )
    if not given:
        raise SourceError(f"what answers at {response.url} is not the hub, for it names no commit")
    # The ETag of a large file is its SHA-256.
    digest = given.get("X-Linked-Etag", "").strip('"')
    is_hash = re.fullmatch("[0-9a-f]{64}", digest) is not None
    size = given.get("X-Linked-Size")
    return {
        "revision": given["X-Repo-Commit"],
        "size": int(size) if size else None,
        "sha256": digest if is_hash else None,
        "verified": is_hash,
    }
