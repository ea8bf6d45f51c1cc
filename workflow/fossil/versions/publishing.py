"""Publish the results of a finished run: into DVC's cache, with pointers and a record for Git to keep."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fossil.runtime.files import sha256, write_json, write_text
from fossil.versions.at_work import require_made, require_no_other_run
from fossil.versions.commands import VersionError, cache_folder, dvc, git, shown
from fossil.versions.job_records import needed_files, read_job_records, records_as_lines
from fossil.versions.pointers import (
    CONFIGURATION,
    IN_GIT,
    JOBS,
    POINTED,
    VERSION,
    Pointer,
    pointer_of,
    read_pointer,
    read_version,
    unit_of,
)

_CHANGES_NOTHING = frozenset({"commit", "published"})
"""What of a record tells when it was written, and nothing of the results."""


@dataclass(frozen=True)
class Publication:
    """What a run says of itself.

    Attributes
    ----------
    configuration : dict
        All keys, resolved.
    description : dict
        What the record tells of the run for a reader.
    own : list of str
        Files and folders of the user's that it read.
    withheld : list of str
        Folders that hold what is made of the user's images, which stay here.
    allow_uncommitted : bool
        Whether code that is in no commit may have made the results.
    """

    configuration: dict[str, Any]
    description: dict[str, Any]
    own: list[str]
    withheld: list[str]
    allow_uncommitted: bool


def publish(run: Publication, *, targets: Iterable[str], lock: Path) -> list[Path]:
    """Store the files of a finished run and write its record; returns the files that changed and Git shall keep.

    Parameters
    ----------
    targets : iterable of str
        What the run was to make.
    lock : Path
        Versions of all packages.

    Raises
    ------
    VersionError
        If something of the run is not there, has no record, or was made by code that is in no commit, if something else
        is at work here, or if Git or DVC fails.
    """
    cache_folder()
    require_no_other_run()
    records = read_job_records()
    made, sources = needed_files(records, targets)
    _require_complete(made, sources, run.own)
    own = _own_places(run.own)
    units, withheld = _units({path for path in made if not _is_within(Path(path), own)}, run.withheld)
    require_made(units)
    written = [*map(pointer_of, [*units, JOBS]), VERSION, CONFIGURATION]
    listed = _listed(own)
    uncommitted = _uncommitted(run.allow_uncommitted, ours={*written, *listed})
    before = {path: path.read_bytes() for path in written if path.exists()}
    kept = {path: record for path, record in records.items() if _is_kept(Path(path), units)}
    write_text(JOBS, records_as_lines(kept))
    pointers = _add([*units, JOBS])
    require_no_other_run()  # whose files DVC may have stored half-made
    stale = [file for file in listed if file.exists() and file not in written]
    for file in stale:
        file.unlink()
    write_json(CONFIGURATION, run.configuration)
    _write_version(
        {
            "commit": git("rev-parse", "HEAD").strip(),
            "uncommitted": uncommitted,
            "published": datetime.now(UTC).isoformat(timespec="seconds"),
            "packages": {str(lock): sha256(lock)},
            "configuration": sha256(CONFIGURATION),
            "files": {str(pointer.path): pointer.described() for pointer in pointers},
            "withheld": [str(path) for path in withheld],
            "not_of_this_run": _others(units, made),
            **run.description,
        }
    )
    return sorted([*stale, *(path for path in written if path.read_bytes() != before.get(path))])


def _own_places(own: Sequence[str]) -> list[Path]:
    """Where the user's files lie; a place that holds all of data says nothing."""
    places = [Path(place).resolve() for place in own]
    return [place for place in places if not any(home.resolve().is_relative_to(place) for home in POINTED)]


def _is_within(path: Path, places: Sequence[Path]) -> bool:
    return any(path.resolve().is_relative_to(place) for place in places)


def _listed(own: Sequence[Path]) -> list[Path]:
    """Pointers of the version whose record is here, but for those that may be the user's own by now."""
    listed = [Path(path) for path in (read_version() or {"files": {}})["files"]]
    return [
        pointer_of(path)
        for path in listed
        if not _is_within(path, own) and not any(place.is_relative_to(path.resolve()) for place in own)
    ]


def _uncommitted(allowed: bool, *, ours: Collection[Path]) -> list[str]:
    """Files of the working copy that are in no commit, those left out that publishing itself writes or removes."""
    lines = git("status", "--porcelain", "--untracked-files=all", "--no-renames", "-z").split("\0")
    paths = [Path(line[3:]) for line in lines if line]
    changed = sorted(str(path) for path in paths if path not in ours and not path.is_relative_to(IN_GIT))
    if changed and not allowed:
        raise VersionError(
            f"in no commit: {shown(changed)}. A version names the commit whose code and configuration made it: commit "
            "them, or say --config 'publish={allow_uncommitted: true}', which the version's record then tells"
        )
    return changed


def _require_complete(made: set[str], sources: set[str], own: Sequence[str]) -> None:
    """Every file that the results rest on is here, and what the pipeline makes has a record of the job that made it."""
    missing = sorted(path for path in made | sources if not Path(path).exists())
    if missing:
        raise VersionError(f"not here: {shown(missing)}. Run snakemake to make them")
    ours = sorted(path for path in sources if _is_made(Path(path), own))
    if ours:
        raise VersionError(
            f"Snakemake has no record of how these came to be: {shown(ours)}. They were copied here, or made by "
            "another version of it: delete them and run snakemake again"
        )


def _is_made(path: Path, own: Sequence[str]) -> bool:
    made = path.is_relative_to("results") or path.is_relative_to("data")
    return made and not any(path.is_relative_to(place) for place in own)


def _units(made: set[str], withheld: Sequence[str]) -> tuple[list[Path], list[Path]]:
    """Files and folders to store, and those that are not."""
    found = {unit_of(Path(path)) for path in made} - {None}
    kept_back = sorted(path for path in found if str(path) in withheld)
    return sorted(found - set(kept_back)), kept_back


def _is_kept(path: Path, units: Sequence[Path]) -> bool:
    return path.exists() and any(path.is_relative_to(unit) for unit in (*units, IN_GIT))


def _add(units: Sequence[Path]) -> list[Pointer]:
    dvc("add", *map(str, units))
    silent = [str(unit) for unit in units if not pointer_of(unit).exists()]
    if silent:
        raise VersionError(f"dvc add wrote no pointer for {shown(silent)}: is it in Git? git rm --cached it")
    return [read_pointer(pointer_of(unit)) for unit in units]


def _others(units: Sequence[Path], made: set[str]) -> list[str]:
    """Files of the stored folders that no job of this run made, such as those of another configuration."""
    folders = {Path(path) for path in made if Path(path).is_dir()}
    there = {path for unit in units for path in unit.rglob("*") if path.is_file()}
    return sorted(str(path) for path in there if str(path) not in made and folders.isdisjoint(path.parents))


def _write_version(record: Mapping[str, Any]) -> None:
    """Write the record, unless the one that is here tells the same of the same results."""
    known = read_version()
    if known is None or _lasting(known) != _lasting(record):
        write_json(VERSION, record)


def _lasting(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in _CHANGES_NOTHING}
