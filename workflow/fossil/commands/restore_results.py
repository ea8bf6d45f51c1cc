"""Restore the results of the version that Git has checked out, so that Snakemake plans nothing for them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from dvc.exceptions import DownloadError
from dvc.output import Output

from fossil.config.strict import Strict
from fossil.runtime.files import read_json
from fossil.runtime.logs import say
from fossil.versions import CONFIGURATION, VERSION, VersionError, first_ten, git, open_dvc, snakemake


class Settings(Strict):
    """No settings."""


def run(settings: Settings) -> None:
    """Fetch what DVC's cache lacks, check every hash, put the files in place, and mark them as up to date.

    Raises
    ------
    VersionError
        If no version is checked out, if a file is missing or damaged, if another run works here, or if DVC's cache has
        no copy of a file that would be replaced. Until all of that is checked, no result changes.
    """
    if not VERSION.exists():
        raise VersionError(f"this commit has no published results; git log -- {VERSION} lists commits that have some")
    version = read_json(VERSION)
    pointers = [f"{path}.dvc" for path in version["files"]]
    with open_dvc() as repo:
        outs = [out for pointer in pointers for stage in repo.stage.collect(pointer) for out in stage.outs]
        if _faults(outs):
            with suppress(DownloadError):  # names no file
                repo.fetch(targets=pointers)
            if faults := _faults(outs):
                raise VersionError(
                    f"missing or damaged, in DVC's cache and in its remote: {first_ten(faults)}. Nothing was restored. "
                    "dvc remote add --default --local NAME PLACE names a remote. Delete its damaged objects, then dvc "
                    "push from a copy that has the files"
                )
        repo.checkout(targets=pointers)
    snakemake("--touch", "--forceall", configuration=CONFIGURATION)
    say(f"Restored the version of commit {version['commit'][:12]}, every hash checked.")
    if version["warning"]:
        say(version["warning"])
    if changed := _changed_code(version):
        say(f"These differ from what made the version, and Snakemake no longer notices: {first_ten(changed)}.")
    say(f"Nothing is planned now: snakemake -n --configfile {CONFIGURATION}")


def _faults(outs: Iterable[Output]) -> list[Path]:
    """List files whose objects the cache lacks or has with another hash; remove the latter, to be fetched again."""
    faults = []
    for out in outs:
        for path, md5 in _objects(out):
            place = Path(out.cache.oid_to_path(md5))
            if not place.is_file() or _md5(place) != md5.removesuffix(".dir"):
                place.unlink(missing_ok=True)
                faults.append(path)
    return faults


def _objects(out: Output) -> Iterator[tuple[Path, str]]:
    """Yield a tracked file or folder with its MD5, and a folder's files where the cache has its listing."""
    path, md5 = Path(out.fs_path).relative_to(Path.cwd()), out.hash_info.value
    yield path, md5
    if out.hash_info.isdir:
        with suppress(FileNotFoundError):  # a missing listing is a fault of its own
            for entry in json.loads(Path(out.cache.oid_to_path(md5)).read_text(encoding="utf-8")):
                yield path / entry["relpath"], entry["md5"]


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _changed_code(version: dict[str, Any]) -> list[str]:
    try:
        names = git("diff", "--name-only", version["commit"], "--", ".", ":!results", ":!data").splitlines()
    except VersionError as error:  # a clone without that commit
        names = [str(error)]
    return sorted({*names, *version["uncommitted"]})
