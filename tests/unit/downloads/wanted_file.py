"""A file on a server that a test downloads."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest

from fossil.data.downloads.download import DownloadError, RemoteFile, fetch
from tests.unit.downloads.file_server import FileServer

CONTENT = random.Random(1).randbytes(300_000)
OTHER = random.Random(2).randbytes(300_000)
DIGEST = hashlib.sha256(CONTENT).hexdigest()
PAGE = "https://doi.org/10.1234/data"


def wanted(server: FileServer, *paths: str, known: bool = True) -> RemoteFile:
    size, digest = (len(CONTENT), DIGEST) if known else (None, None)
    return RemoteFile("file.bin", tuple(map(server.url, paths or ("/file",))), PAGE, size=size, sha256=digest)


def complaint(file: RemoteFile, path: Path) -> str:
    with pytest.raises(DownloadError) as caught:
        fetch(file, path)
    return str(caught.value)


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
