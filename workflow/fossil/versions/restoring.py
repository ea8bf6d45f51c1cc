"""Bring the files of a version back, each with the content that was published, or none of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fossil.runtime.files import sha256
from fossil.versions.at_work import require_no_snakemake
from fossil.versions.commands import VersionError, cache_folder, dvc, shown
from fossil.versions.history import hashes_in_commits
from fossil.versions.job_records import (
    Records,
    incomplete_until_done,
    newest_time,
    records_of_lines,
    write_job_records,
)
from fossil.versions.pointers import (
    CONFIGURATION,
    JOBS,
    VERSION,
    Fault,
    Pointer,
    cache_object,
    find_faults,
    hash_files,
    holds_object,
    listed_files,
    pointer_of,
    read_pointer,
    read_version,
)


def restore() -> tuple[dict[str, Any], int]:
    """Fetch what the cache lacks, check every hash, put the files in place, and tell Snakemake how they were made.

    Links into the cache, which another setting of DVC made, become files of their own: jobs cannot write links anew.
    All files get one time, that of the last of them, so that none is newer than what was made of it, and what Git
    checked out is newer than all and thus compared by content.

    Returns
    -------
    tuple
        The version's record, and how many files it has.

    Raises
    ------
    VersionError
        If there is no version here, a file is not to be had or differs, results here are in no version of a commit, or
        something else is at work here. Before that is known, nothing here is changed.
    """
    require_no_snakemake()
    cache = cache_folder()
    version = _read_version()
    pointers = [read_pointer(pointer_of(Path(path))) for path in version["files"]]
    _require_same(version, pointers)
    _fetch(pointers, cache)
    files = {path: md5 for pointer in pointers for path, md5 in listed_files(pointer, cache).items()}
    records = _records(pointers, cache)
    _require_saved(files, pointers, cache)
    with incomplete_until_done(records):
        linked = any(path.is_symlink() or (path.exists() and path.stat().st_nlink > 1) for path in files)
        how = ["--force", *(["--relink"] if linked else [])]
        dvc("checkout", *how, *(str(pointer_of(pointer.path)) for pointer in pointers))
        _require_equal(files, pointers)
        write_job_records(records)
        time = newest_time(records)
        for path in files:
            os.utime(path, (time, time))
    return version, len(files)


def _read_version() -> dict[str, Any]:
    version = read_version()
    if version is None:
        raise VersionError(
            f"{VERSION} is not here: this commit has no published results. git log -- {VERSION} lists those that have"
        )
    return version


def _require_same(version: dict[str, Any], pointers: Sequence[Pointer]) -> None:
    """All that Git keeps is of one version, which it is not where a publisher was killed or Git merged two."""
    told = version["files"]
    differing = [pointer_of(one.path) for one in pointers if one.described() != told[str(one.path)]]
    if not CONFIGURATION.exists() or sha256(CONFIGURATION) != version["configuration"]:
        differing.append(CONFIGURATION)
    if differing:
        raise VersionError(f"{shown(differing)}: not of the version of {VERSION}. git checkout both, or publish again")


def _fetch(pointers: Sequence[Pointer], cache: Path) -> None:
    """Have every object in the cache, with the content that its name says."""
    faults = find_faults(pointers, cache)
    if not faults:
        return
    _discard(faults)
    refusal = ""
    try:
        dvc("fetch", *(str(pointer_of(pointer.path)) for pointer in pointers))
    except VersionError as error:
        refusal = f" {error}"
    faults = find_faults(pointers, cache)
    _discard(faults)
    damaged = [fault for fault in faults if fault.damaged]
    if damaged:
        raise VersionError(
            f"damaged in the remote, by the hash: {shown(fault.path for fault in damaged)}. Nothing was restored. "
            f"Delete {shown(fault.place.relative_to(cache) for fault in damaged)} there, and dvc push from a copy of it"
        )
    if faults:
        raise VersionError(
            f"neither in DVC's cache nor in a remote: {shown(_lacking(faults, cache))}. Nothing was restored. "
            "dvc remote add --default --local NAME PLACE names a remote; dvc push from a copy that has the files fills "
            f"it.{refusal}"
        )


def _lacking(faults: Iterable[Fault], cache: Path) -> Iterator[Path]:
    """Name the files; those of a folder whose listing is not in the cache where DVC can read it in the remote."""
    for fault in faults:
        inner = _listed_by_remote(fault.path) if fault.place.suffix == ".dir" else {}
        yield from [path for path, md5 in inner.items() if not cache_object(cache, md5).exists()] or [fault.path]


def _listed_by_remote(folder: Path) -> dict[Path, str]:
    try:
        lines = dvc("ls", ".", str(folder), "-R", "--show-hash", "--dvc-only").splitlines()
    except VersionError:
        return {}
    return {folder / name: md5 for md5, name in (line.split(maxsplit=1) for line in lines)}


def _discard(faults: Iterable[Fault]) -> None:
    """Remove damaged objects from the cache: DVC would take them for what their name says, and fetch them no more."""
    for fault in faults:
        if fault.damaged:
            fault.place.unlink(missing_ok=True)  # files of equal content have one object


def _records(pointers: Sequence[Pointer], cache: Path) -> Records:
    (jobs,) = [pointer for pointer in pointers if pointer.path == JOBS]
    return records_of_lines(cache_object(cache, jobs.md5).read_text(encoding="utf-8"))


def _require_saved(files: Mapping[Path, str], pointers: Sequence[Pointer], cache: Path) -> None:
    """Each file that would be overwritten or removed is of a version in a commit, or, as JOBS, no more than a copy."""
    replaced = {path: md5 for path, md5 in hash_files(pointers).items() if path != JOBS and files.get(path) != md5}
    known = hashes_in_commits(cache) if replaced else set()
    unsaved = [path for path, md5 in replaced.items() if md5 not in known or not holds_object(cache, md5)]
    if unsaved:
        raise VersionError(
            f"in no version of any commit, and would be lost: {shown(unsaved)}. Nothing was restored. Publish what is "
            "here and commit it, or move these files away"
        )


def _require_equal(files: Mapping[Path, str], pointers: Sequence[Pointer]) -> None:
    here = hash_files(pointers)
    differing = sorted(path for path in files.keys() | here.keys() if files.get(path) != here.get(path))
    if differing:
        raise VersionError(f"not as published, though DVC put it there: {shown(differing)}. Restore again")
