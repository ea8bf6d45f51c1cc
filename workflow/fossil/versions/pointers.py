"""The small files that Git keeps in place of results, and the objects in DVC's cache that they point to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fossil.runtime.files import read_json
from fossil.versions.commands import VersionError

POINTED = (Path("data/raw"), Path("data/raw/weights"), Path("data/processed"), Path("results"))
"""Folders whose files and folders are tracked, each beside its pointer."""

IN_GIT = Path("results/version")
"""Folder of what Git itself keeps of a version."""

VERSION = IN_GIT / "version.json"
CONFIGURATION = IN_GIT / "configuration.json"

JOBS = Path("results/jobs.jsonl")
"""Snakemake's records of a version's files, tracked like these."""


@dataclass(frozen=True)
class Pointer:
    """A tracked file or folder, as its pointer tells it.

    Attributes
    ----------
    md5 : str
        Of a file's content, or of a folder's listing, and then with the suffix ``.dir``.
    """

    path: Path
    md5: str
    size: int
    files: int

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.md5.endswith(".dir")

    def described(self) -> dict[str, Any]:
        """Its digest, bytes and number of files."""
        return {"md5": self.md5, "size": self.size, "files": self.files}


@dataclass(frozen=True)
class Fault:
    """A tracked file whose object is not in the cache, or has another content than its name says."""

    path: Path
    place: Path
    damaged: bool


def pointer_of(path: Path) -> Path:
    """File that stands in Git for a tracked file or folder."""
    return path.with_name(f"{path.name}.dvc")


def read_version() -> dict[str, Any] | None:
    """Read the record of the version that is here; None where there is none.

    Raises
    ------
    VersionError
        Where it is not as it was written, as in the middle of a merge.
    """
    if not VERSION.exists():
        return None
    try:
        return read_json(VERSION)
    except json.JSONDecodeError:
        raise VersionError(f"{VERSION} is no record: git checkout the one that you want, then try again") from None


def unit_of(path: Path) -> Path | None:
    """File or folder that a result is tracked with; None for what Git keeps.

    Raises
    ------
    VersionError
        If it is in no folder whose files are tracked.
    """
    if path.is_relative_to(IN_GIT):
        return None
    homes = [home for home in POINTED if home in path.parents]
    if not homes:
        raise VersionError(f"{path} is a result, but in none of {', '.join(map(str, POINTED))}")
    home = max(homes, key=lambda folder: len(folder.parts))
    return home / path.relative_to(home).parts[0]


def read_pointer(file: Path) -> Pointer:
    """Read a pointer.

    Raises
    ------
    VersionError
        If it does not hold the one tracked file or folder that it is named for.
    """
    try:
        (out,) = yaml.safe_load(file.read_text(encoding="utf-8"))["outs"]
        read = Pointer(file.parent / out["path"], out["md5"], out["size"], out.get("nfiles", 1))
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        raise VersionError(f"{file} is no pointer of DVC to one file or folder ({error!r}): git checkout it") from None
    if pointer_of(read.path) != file:
        raise VersionError(f"{file} points to {read.path}, and not to what it is named for: git checkout it")
    return read


def cache_object(cache: Path, md5: str) -> Path:
    """File of the cache that holds the content with this digest."""
    return cache / "files" / "md5" / md5[:2] / md5[2:]


def holds_object(cache: Path, md5: str) -> bool:
    """Tell whether the cache has the file or the folder's listing with this digest, undamaged."""
    return _fault(Path(), md5, cache) is None


def listed_files(pointer: Pointer, cache: Path) -> dict[Path, str]:
    """Find the files of a tracked file or folder, with the MD5 of each; the listing must be in the cache."""
    if not pointer.is_folder:
        return {pointer.path: pointer.md5}
    entries = json.loads(cache_object(cache, pointer.md5).read_text(encoding="utf-8"))
    return {pointer.path / entry["relpath"]: entry["md5"] for entry in entries}


def find_faults(pointers: Iterable[Pointer], cache: Path) -> list[Fault]:
    """Hash every object of tracked files in the cache, and list those that are not there or differ."""
    return [fault for pointer in pointers for fault in _faults_of(pointer, cache)]


def hash_files(pointers: Iterable[Pointer]) -> dict[Path, str]:
    """Hash the files that lie where tracked ones belong, whatever they hold."""
    return {path: _md5(path) for pointer in pointers for path in sorted(_files_at(pointer.path))}


def _faults_of(pointer: Pointer, cache: Path) -> Iterator[Fault]:
    if pointer.is_folder:
        fault = _fault(pointer.path, pointer.md5, cache)
        if fault is not None:  # a listing that cannot be trusted names no files
            yield fault
            return
    for path, md5 in listed_files(pointer, cache).items():
        fault = _fault(path, md5, cache)
        if fault is not None:
            yield fault


def _fault(path: Path, md5: str, cache: Path) -> Fault | None:
    place = cache_object(cache, md5)
    if not place.is_file():
        return Fault(path, place, damaged=False)
    return None if _md5(place) == md5.removesuffix(".dir") else Fault(path, place, damaged=True)


def _files_at(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    yield from (inner for inner in path.rglob("*") if inner.is_file())


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
