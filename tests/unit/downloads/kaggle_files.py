"""MSLD v2.0 as a server in the place of Kaggle has it."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

import pytest

from fossil.data.downloads.msld_v2_source import HANDLE, PAGE, SourceError, download_msld_v2
from tests.unit.downloads.hub_server import make_archive

RANDOM = random.Random(1)
FOLD = "Original Images/Original Images/FOLDS/fold1/Train"
# kagglehub writes whole MiB, so that only an archive of several shows where it goes on.
FILES = {f"{FOLD}/Monkeypox/MKP_{n}_1.jpg": RANDOM.randbytes(700_000) for n in range(4)}
FILES[f"{FOLD}/Healthy/HEALTHY_1_1.jpg"] = RANDOM.randbytes(1000)
OTHER_FILES = {**FILES, f"{FOLD}/Healthy/HEALTHY_1_1.jpg": b"another photograph"}
ARCHIVE = make_archive(FILES)
MIB = 1 << 20


def download(folder: Path, *, expected: str | None = None, seconds: float = 5.0) -> dict[str, Any]:
    places = {"downloads": folder / "downloads", "images": folder / "images"}
    return download_msld_v2(**places, expected=expected, pause=0.001, seconds=seconds)


def complaint(folder: Path, error: type[Exception] = SourceError, **options: Any) -> str:
    with pytest.raises(error) as caught:
        download(folder, **options)
    assert not (folder / "images").exists()
    return str(caught.value)


def require_by_hand(message: str) -> None:
    assert PAGE in message
    assert "datasets.msld_v2.root" in message


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def hash_of(files: dict[str, bytes]) -> str:
    lines = [f"{name}\0{hashlib.sha256(files[name]).hexdigest()}\n" for name in sorted(files)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def archive_on_the_way(folder: Path) -> Path:
    return folder / "downloads" / "datasets" / HANDLE / "3.archive"
