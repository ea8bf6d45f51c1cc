"""A file on a server that a test downloads."""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace
from pathlib import Path

import pytest

from fossil.data.downloads.download import DownloadError, RemoteFile, fetch
from fossil.data.downloads.http_answers import Patience
from tests.unit.downloads.file_server import FileServer

# Asks again at once, and takes no server for silent that a busy machine keeps waiting.
QUICK = Patience(
    connect_seconds=60,
    read_seconds=60,
    slowest=2000,
    stall_seconds=60,
    tries=3,
    enough=1_000_000,
    first_wait=0.001,
    longest_wait=0.004,
    longest_retry_after=5,
)
# For servers that are silent or slow.
HASTY = replace(QUICK, read_seconds=2, stall_seconds=0.2)
CONTENT = random.Random(1).randbytes(300_000)
OTHER = random.Random(2).randbytes(300_000)
DIGEST = hashlib.sha256(CONTENT).hexdigest()
PAGE = "https://doi.org/10.1234/data"


def wanted(server: FileServer, *paths: str, known: bool = True) -> RemoteFile:
    urls = tuple(map(server.url, paths or ("/file",)))
    size, digest = (len(CONTENT), DIGEST) if known else (None, None)
    return RemoteFile("file.bin", urls, PAGE, size=size, sha256=digest)


def complaint(file: RemoteFile, path: Path, patience: Patience = QUICK) -> str:
    with pytest.raises(DownloadError) as caught:
        fetch(file, path, patience=patience)
    return str(caught.value)


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
