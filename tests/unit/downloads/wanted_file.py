"""A file on a server that a test downloads, archives, and what is in a folder afterwards."""

from __future__ import annotations

import hashlib
import io
import random
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from fossil.data.downloads.download import Download, DownloadError, fetch
from tests.unit.downloads.file_server import FileServer

CONTENT = random.Random(1).randbytes(300_000)
OTHER = random.Random(2).randbytes(300_000)
DIGEST = hashlib.sha256(CONTENT).hexdigest()
PAGE = "https://doi.org/10.1234/data"


def wanted(server: FileServer, *, known: bool = True) -> Download:
    size, digest = (len(CONTENT), DIGEST) if known else (None, None)
    return Download("file.bin", server.url("/file"), PAGE, size=size, sha256=digest)


def complaint(file: Download, path: Path) -> str:
    with pytest.raises(DownloadError) as caught:
        fetch(file, path)
    return str(caught.value)


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", method) as content:
        for name, data in files.items():
            content.writestr(name, data)
    return archive.getvalue()
