"""Files from the Hugging Face hub, pinned to the commit of their first download and to the hash that the hub gives.

The settings of huggingface_hub hold: HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE and, without a connection, HF_HUB_CACHE.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fossil.data.downloads.download import Download, DownloadError, SourceError, answer, fetch
from fossil.runtime.files import read_json, sha256, write_json
from fossil.runtime.logs import logger


@dataclass(frozen=True)
class HubFile:
    """A file from the hub, its commit and its SHA-256, which the hub itself gave where ``verified``."""

    path: Path
    revision: str
    sha256: str
    verified: bool


def fetch_hub_file(repository: str, name: str, *, cache: Path) -> HubFile:
    """Download a file from a repository: its newest version, and that same version later.

    Without an answer from the hub, the common cache's version is used.
    """
    from huggingface_hub import constants, get_token, try_to_load_from_cache

    headers = {"Authorization": f"Bearer {token}"} if (token := get_token()) else {}
    address, folder = f"{constants.ENDPOINT}/{repository}/resolve", cache / repository.replace("/", "--")
    page = f"https://huggingface.co/{repository}/tree/main"
    record = folder / "first-download.json"
    try:
        if not record.exists() and constants.HF_HUB_OFFLINE:
            raise SourceError("HF_HUB_OFFLINE is set")
        pinned = read_json(record) if record.exists() else _look_up(f"{address}/main/{name}", headers)
    except SourceError as error:
        if isinstance(cached := try_to_load_from_cache(repository, name), str):
            logger.warning("%s: %s; using %s", repository, error, cached)
            # In this cache, the name of a file's folder is its commit.
            return HubFile(Path(cached), Path(cached).parent.name, sha256(Path(cached)), verified=False)
        raise DownloadError(
            f"The hub does not give {repository}: {error}. Where its page asks for consent, give it there and put your "
            f"token into HF_TOKEN. By hand: download {name} from {page} and set images.weights to its path"
        ) from error
    revision = pinned["revision"]
    path, url = folder / revision / name, f"{address}/{revision}/{name}"
    digest = fetch(Download(name, url, page, size=pinned["size"], sha256=pinned["sha256"], headers=headers), path)
    write_json(record, {**pinned, "sha256": digest})
    return HubFile(path, revision, digest, pinned["verified"])


def _look_up(url: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return commit, size and hash of a file, which the hub sends with the redirection to its storage."""
    with answer(url, {**headers, "Range": "bytes=0-0"}) as response:
        for step in (*response.history, response):
            if revision := step.headers.get("X-Repo-Commit"):
                # The ETag of a large file is its SHA-256.
                digest = re.fullmatch('"([0-9a-f]{64})"', step.headers.get("X-Linked-Etag", ""))
                size, known = step.headers.get("X-Linked-Size"), digest[1] if digest else None
                return {
                    "revision": revision,
                    "size": int(size) if size else None,
                    "sha256": known,
                    "verified": bool(known),
                }
    raise SourceError(f"what answers at {response.url} is not the hub, for it names no commit")
