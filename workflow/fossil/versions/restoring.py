"""Restoring of the version that Git has checked out: every file as published, or none."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dvc.exceptions import DvcException
from dvc.output import Output
from dvc.repo import Repo

from fossil.runtime.files import sha256
from fossil.versions.record import CONFIGURATION, VERSION, VersionError, first_ten, pointer_of, read_version
from fossil.versions.tools import git, open_dvc, require_no_other_run, snakemake


def restore() -> tuple[dict[str, Any], int]:
    """Fetch objects that DVC's cache lacks, check every hash, and check out the files.

    Returns
    -------
    tuple
        The version's record, and how many files it has.

    Raises
    ------
    VersionError
        If no version is checked out, if a file is missing or damaged, if another run works here, or if DVC's cache has
        no copy of a file that would be replaced. Until all of that is checked, no result changes.
    """
    with open_dvc() as repo:
        require_no_other_run()
        version = read_version()
        if version is None:
            raise VersionError(
                f"{VERSION} is missing: this commit has no published results. "
                f"git log -- {VERSION} lists commits that have some"
            )
        outs = _tracked(repo, version)
        files = _fetched(repo, outs)
        _checkout(repo, _pointers(version))
        if different := [path for path, md5 in files.items() if _md5(path) != md5]:
            raise VersionError(f"not as published: {first_ten(different)}. Delete them and restore again")
    return version, len(files)


def mark_up_to_date() -> None:
    """Let Snakemake record the restored files as made by the code and configuration that are checked out."""
    snakemake("publish", "--touch", "--forceall", configuration=CONFIGURATION)


def changed_code(version: Mapping[str, Any]) -> list[str]:
    """List files of the working copy that differ from the code that made a version, as far as Git knows that code.

    Raises
    ------
    VersionError
        If the commit is not in this clone.
    """
    names = git("diff", "--name-only", version["commit"], "--", ".", ":(exclude)results", ":(exclude)data")
    return sorted({*names.splitlines(), *version["uncommitted"]})


def _pointers(version: Mapping[str, Any]) -> list[str]:
    return [str(pointer_of(Path(path))) for path in version["files"]]


def _tracked(repo: Repo, version: Mapping[str, Any]) -> list[Output]:
    """Load the pointers of a version, all of which must be of this version, as must the configuration."""
    outs = [out for pointer in _pointers(version) for stage in repo.stage.collect(pointer) for out in stage.outs]
    pairs = zip(outs, version["files"].items(), strict=True)
    different = [pointer_of(Path(path)) for out, (path, told) in pairs if out.hash_info.value != told["md5"]]
    if not CONFIGURATION.exists() or sha256(CONFIGURATION) != version["configuration"]:
        different.append(CONFIGURATION)
    if different:
        raise VersionError(
            f"{first_ten(different)}: not of the version of {VERSION}. git checkout both, or publish again"
        )
    return outs


def _fetched(repo: Repo, outs: Sequence[Output]) -> dict[Path, str]:
    """Fetch every object into the cache and check it; return the MD5 of every file."""
    if any(_faults(outs)):
        refusal = ""
        try:
            repo.fetch(targets=[out.stage.addressing for out in outs])
        except DvcException as error:
            refusal = f" DVC: {error}."
        missing, damaged = _faults(outs)
        if damaged:
            raise VersionError(
                f"damaged in the remote, by the hash: {first_ten(damaged)}. Nothing was restored. Delete their objects "
                "there and dvc push from a copy that has the files"
            )
        if missing:
            raise VersionError(
                f"neither in DVC's cache nor in a remote, as a whole: {first_ten(missing)}. Nothing was restored."
                f"{refusal} dvc remote add --default --local NAME PLACE names a remote; dvc push from a copy that has "
                "the files fills it"
            )
    return {path: md5 for out in outs for path, md5 in _objects(out) if not md5.endswith(".dir")}


def _checkout(repo: Repo, pointers: list[str]) -> None:
    """Check out files; DVC changes nothing where its cache has no copy of a file to be replaced."""
    try:
        repo.checkout(targets=pointers)
    except DvcException as error:
        unsaved = sorted(os.path.relpath(line) for line in str(error).splitlines() if line.startswith(repo.root_dir))
        if not unsaved:
            raise
        raise VersionError(
            f"never published, and would be lost: {first_ten(unsaved)}. Nothing was restored. Publish what is here and "
            "commit it, or move these files away"
        ) from None


def _faults(outs: Sequence[Output]) -> tuple[list[Path], list[Path]]:
    """Hash every object in the cache; return the files whose objects are missing and those whose objects were damaged.

    Damaged objects are removed: DVC takes an object's name for its hash, and would not fetch it again.
    """
    objects = [(path, md5, _place(out, md5)) for out in outs for path, md5 in _objects(out)]
    missing = [path for path, _, place in objects if not place.is_file()]
    damaged = [
        (path, place) for path, md5, place in objects if place.is_file() and _md5(place) != md5.removesuffix(".dir")
    ]
    for _, place in damaged:
        place.unlink(missing_ok=True)  # files of equal content share an object
    return missing, [path for path, _ in damaged]


def _objects(out: Output) -> Iterator[tuple[Path, str]]:
    """Yield a tracked file or folder with its MD5, and a folder's files where the cache has its listing."""
    path, md5 = Path(out.fs_path).relative_to(Path.cwd()), out.hash_info.value
    yield path, md5
    if out.hash_info.isdir:
        with suppress(OSError, ValueError):  # a listing that is missing or damaged is a fault of its own
            for entry in json.loads(_place(out, md5).read_text(encoding="utf-8")):
                yield path / entry["relpath"], entry["md5"]


def _place(out: Output, md5: str) -> Path:
    return Path(out.cache.oid_to_path(md5))


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
