"""A small made-up PAD-UFES-20, on a server and by hand."""

from __future__ import annotations

import hashlib
import io
import random
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fossil.data.downloads.archives import require_zip
from fossil.data.downloads.download import DownloadError, RemoteFile
from fossil.data.downloads.http_answers import Patience
from fossil.data.downloads.pad_ufes_20_source import Source, download_pad_ufes_20
from tests.unit.downloads.file_server import Answer, FileServer

QUICK = Patience(connect_seconds=60, read_seconds=60, tries=2, first_wait=0.001, longest_wait=0.002)
HOST = "https://publisher.example"
PAGE = "https://doi.org/10.1234/made-up"
IMAGES = {f"imgs_part_{part}": [f"PAT_{part}_{n}.png" for n in range(4)] for part in (1, 2, 3)}
NAMES = [name for names in IMAGES.values() for name in names]
PICTURES = {name: random.Random(name).randbytes(2000) for name in NAMES}
Members = Mapping[str, bytes]


def zipped(members: Members) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as content:
        for name, data in members.items():
            content.writestr(name, data)
    return buffer.getvalue()


def published(part_members: Callable[[str, str], str] = lambda part, name: f"{part}/{name}") -> dict[str, bytes]:
    """The four files; what a member is called is up to the test."""
    files = {"metadata.csv": b"patient_id,img_id\n" + b"".join(f"PAT_1,{n}\n".encode() for n in NAMES)}
    for part, names in IMAGES.items():
        members = {part_members(part, name): PICTURES[name] for name in names}
        files[f"{part}.zip"] = zipped({f"{part}/": b"", **members, f"__MACOSX/{part}/._{names[0]}": b"mac"})
    return files


def nested(files: Members) -> bytes:
    """The archive of all, with the publisher's folders."""
    return zipped({f"A skin lesion dataset/{'images/' * name.endswith('.zip')}{name}": files[name] for name in files})


FILES = published()
WHOLE = "zr7vgbcyr2-1.zip"


def source_of(files: Members) -> Source:
    def remote(name: str) -> RemoteFile:
        digest = hashlib.sha256(files[name]).hexdigest()
        return RemoteFile(name, (f"{HOST}/files/{name}",), PAGE, size=len(files[name]), sha256=digest)

    whole = RemoteFile(WHOLE, (f"{HOST}/whole",), PAGE, check=require_zip)
    return Source(remote("metadata.csv"), tuple(remote(f"{part}.zip") for part in IMAGES), whole)


class Place:
    """The folders of one download."""

    def __init__(self, root: Path) -> None:
        self.downloads = root / "downloads"
        self.metadata = root / "pad" / "metadata.csv"
        self.images = root / "pad" / "images"

    def put(self, name: str, data: bytes) -> None:
        self.downloads.mkdir(exist_ok=True)
        (self.downloads / name).write_bytes(data)

    def download(self, server: FileServer, source: Source | None = None) -> dict[str, Any]:
        return download_pad_ufes_20(
            source or source_of(FILES),
            downloads=self.downloads,
            metadata=self.metadata,
            images=self.images,
            mirror=server.address,
            patience=QUICK,
        )

    def complaint(self, server: FileServer, source: Source | None = None) -> str:
        with pytest.raises(DownloadError) as caught:
            self.download(server, source)
        assert not self.metadata.exists()
        assert not self.images.exists()
        return str(caught.value)

    def left(self) -> list[str]:
        return sorted(path.name for path in self.downloads.iterdir() if not path.name.startswith("."))

    def pictures(self) -> dict[str, bytes]:
        return {p.relative_to(self.images).as_posix(): p.read_bytes() for p in self.images.rglob("*") if p.is_file()}


EXPECTED = {f"{part}/{name}": PICTURES[name] for part, names in IMAGES.items() for name in names}


def all_files(files: Members = FILES) -> FileServer:
    return FileServer({f"/files/{name}": Answer(data) for name, data in files.items()} | {"/whole": Answer(status=404)})
