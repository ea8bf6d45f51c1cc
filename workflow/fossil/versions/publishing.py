"""Publishing of a finished run's results: files into DVC's cache, pointers and a record for Git."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from fossil.runtime.files import sha256, write_json
from fossil.versions.record import (
    CONFIGURATION,
    IN_GIT,
    TRACKED,
    VERSION,
    VersionError,
    first_ten,
    pointer_of,
    read_version,
    unit_of,
)
from fossil.versions.tools import git, open_dvc, require_no_other_run, snakemake

_ABOUT_PUBLISHING = ("commit", "published")
"""Keys of the record that say when it was written, and nothing about the results."""


def publish(
    configuration: dict[str, Any],
    description: dict[str, Any],
    *,
    own: list[str],
    withheld: list[str],
    allow_uncommitted: bool,
    lock: Path,
) -> list[Path]:
    """Store the files of a finished run and write its record; return the changed files that Git shall keep.

    Parameters
    ----------
    configuration : dict
        All keys, resolved.
    description : dict
        What the record tells readers about the run.
    own : list of str
        Files and folders of the user's that the run read, which are never stored.
    withheld : list of str
        Folders that hold copies of the user's images and stay here.
    allow_uncommitted : bool
        Whether code that is in no commit may have made the results.
    lock : Path
        Versions of all packages.

    Raises
    ------
    VersionError
        If a file of the run is missing or has no record, if its code is in no commit, if another run works here, or if
        Git or DVC fails.
    """
    with open_dvc() as repo:
        require_no_other_run()
        places = _own_places(own)
        made = [path for path in _made_files(configuration) if not _lies_in(path, places)]
        units = sorted({unit for path in made if (unit := unit_of(path)) and str(unit) not in withheld})
        known = read_version() or {"files": {}}
        former = [path for path in map(Path, known["files"]) if not _overlaps(path, places)]
        written = [*map(pointer_of, units), VERSION, CONFIGURATION]
        stale = [pointer for path in former if (pointer := pointer_of(path)).exists() and pointer not in written]
        uncommitted = _uncommitted([*written, *map(pointer_of, former)], allowed=allow_uncommitted)
        before = {path: path.read_bytes() for path in written if path.exists()}
        with repo.scm_context(quiet=True):  # without its advice on what to commit
            outs = [out for stage in repo.add(list(map(str, units))) for out in stage.outs]
        require_no_other_run()  # DVC may have stored its files half-written
        for pointer in stale:
            pointer.unlink()
        write_json(CONFIGURATION, configuration)
        record = {
            "commit": git("rev-parse", "HEAD").strip(),
            "uncommitted": uncommitted,
            "published": datetime.now(UTC).isoformat(timespec="seconds"),
            "packages": {str(lock): sha256(lock)},
            "configuration": sha256(CONFIGURATION),
            "files": {str(unit): _described(out) for unit, out in zip(units, outs, strict=True)},
            "own": own,
            "withheld": sorted({str(unit_of(path)) for path in made} & {*withheld}),
            "not_of_this_run": _of_other_runs(units, made),
            **description,
        }
        if _about_results(known) != _about_results(record):
            write_json(VERSION, record)
    return sorted([*stale, *(path for path in written if path.read_bytes() != before.get(path))])


def _made_files(configuration: dict[str, Any]) -> list[Path]:
    """List every file that the study makes, each of which must exist and have Snakemake's record."""
    with NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps(configuration))
        file.flush()
        lines = snakemake("publish", "--detailed-summary", configuration=Path(file.name)).splitlines()
    header = next(place for place, line in enumerate(lines) if line.startswith("output_file\t"))
    names = lines[header].split("\t")
    rows = [dict(zip(names, line.split("\t"), strict=False)) for line in lines[header + 1 :]]
    missing = [row["output_file"] for row in rows if not Path(row["output_file"]).exists()]
    if missing:
        raise VersionError(
            f"missing: {first_ten(missing)}. Snakemake makes them where they are its targets: snakemake --cores 1 FILE"
        )
    unrecorded = [row["output_file"] for row in rows if row["input-file(s)"] == "-"]
    if unrecorded:
        raise VersionError(
            f"Snakemake has no record of the job that made: {first_ten(unrecorded)}. The files were copied here, or "
            "another version of Snakemake made them: delete them and run snakemake again"
        )
    return [Path(row["output_file"]) for row in rows]


def _own_places(own: Sequence[str]) -> list[Path]:
    """Resolve the user's places; one that holds a whole tracked folder excludes nothing."""
    places = [Path(place).resolve() for place in own]
    return [place for place in places if not any(home.resolve().is_relative_to(place) for home in TRACKED)]


def _lies_in(path: Path, places: Iterable[Path]) -> bool:
    return any(path.resolve().is_relative_to(place) for place in places)


def _overlaps(path: Path, places: Sequence[Path]) -> bool:
    return _lies_in(path, places) or any(place.is_relative_to(path.resolve()) for place in places)


def _uncommitted(ours: Sequence[Path], *, allowed: bool) -> list[str]:
    """List uncommitted files, without those that publishing itself writes or removes."""
    lines = git("status", "--porcelain", "--untracked-files=all", "--no-renames", "-z").split("\0")
    paths = [Path(line[3:]) for line in lines if line]
    changed = sorted(str(path) for path in paths if path not in ours and not path.is_relative_to(IN_GIT))
    if changed and not allowed:
        raise VersionError(
            f"in no commit: {first_ten(changed)}. A version names the commit of its code and configuration: commit "
            "them, or say --config 'publish={allow_uncommitted: true}', which the version's record then tells"
        )
    return changed


def _described(out: Any) -> dict[str, Any]:
    return {"md5": out.hash_info.value, "size": out.meta.size, "files": out.meta.nfiles or 1}


def _of_other_runs(units: Sequence[Path], made: Sequence[Path]) -> list[str]:
    """List files of the stored folders that no job of this run made, such as those of another configuration."""
    files = {path for unit in units for path in unit.rglob("*") if path.is_file()}
    folders = {path for path in made if path.is_dir()}
    return sorted(str(path) for path in files.difference(made) if folders.isdisjoint(path.parents))


def _about_results(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in _ABOUT_PUBLISHING}
