"""Snakemake's records of the jobs that made each file: code, settings and inputs, by which it knows what is up to date.

A file without a record passes for up to date, whatever made it. So a version keeps the records of its files, and brings
them back with these. Snakemake 9 keeps one JSON file for each output, named by the Base64 of its path, in pieces where
that is too long for a file's name.
"""

from __future__ import annotations

import binascii
import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fossil.versions.commands import VersionError

_HOME = Path(".snakemake")
_RECORDS = _HOME / "metadata"
_INCOMPLETE = _HOME / "incomplete"
_LOCKS = _HOME / "locks"

Records = dict[str, dict[str, Any]]


def read_job_records() -> Records:
    """Read Snakemake's records, by the path of the file that a job made.

    Raises
    ------
    VersionError
        If one cannot be read, which happens where Snakemake was killed as it wrote.
    """
    found = {}
    for place, output in _marked(_RECORDS).items():
        try:
            found[output] = json.loads(place.read_text(encoding="utf-8"))
        except json.JSONDecodeError:
            raise VersionError(
                f"Snakemake's record of {output} is damaged: delete {output} and run snakemake again"
            ) from None
    return found


def needed_files(records: Records, targets: Iterable[str]) -> tuple[set[str], set[str]]:
    """Follow records from targets back to the sources.

    Returns
    -------
    tuple of set
        Every file that the jobs on the way made, and every file that they read and that has no record.
    """
    siblings = defaultdict(set)  # a command names all files that its job made
    for output, record in records.items():
        siblings[record.get("shellcmd") or output].add(output)
    made: set[str] = set()
    sources: set[str] = set()
    left = list(targets)
    while left:
        path = left.pop()
        if path in made or path in sources:
            continue
        if path not in records:
            sources.add(path)
            continue
        made |= siblings[records[path].get("shellcmd") or path]
        made.add(path)
        left += records[path].get("input") or []
    return made, sources


def records_as_lines(records: Mapping[str, Any]) -> str:
    """Write records as JSON Lines, sorted, so that equal records give equal bytes."""
    return "".join(json.dumps([output, records[output]], sort_keys=True) + "\n" for output in sorted(records))


def records_of_lines(text: str) -> Records:
    """Read records from JSON Lines."""
    return dict(json.loads(line) for line in text.splitlines())


def write_job_records(records: Records) -> None:
    """Give Snakemake the records of files."""
    for output, record in records.items():
        _place(_RECORDS, output).write_text(json.dumps(record), encoding="utf-8")


@contextmanager
def incomplete_until_done(outputs: Iterable[str]) -> Iterator[None]:
    """Mark files as Snakemake does while a job makes them: it then refuses them. After an error the marks stay."""
    places = [_place(_INCOMPLETE, output) for output in outputs]
    for place in places:
        place.write_text(json.dumps({"external_jobid": None}), encoding="utf-8")
    yield
    for place in places:
        place.unlink()


def incomplete_files() -> set[str]:
    """Files that jobs make at this moment, and those that were cut off as a job made them."""
    return set(_marked(_INCOMPLETE).values())


def snakemakes_locks() -> list[Path]:
    """Locks of Snakemake's own: of runs that make files here, or were killed as they did."""
    return sorted(_LOCKS.glob("*.lock"))


def newest_time(records: Records) -> float:
    """When the last of the files was made, in seconds."""
    return max(record["endtime"] for record in records.values())


def _marked(folder: Path) -> dict[Path, str]:
    """Files of a folder of Snakemake's, and the outputs that their names stand for."""
    found = {}
    for place in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = "".join(part.removeprefix("@") for part in place.relative_to(folder).parts)
        with suppress(binascii.Error, UnicodeDecodeError):  # what has another kind of name is not Snakemake's
            found[place] = urlsafe_b64decode(name).decode()
    return found


def _place(folder: Path, output: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    longest = os.pathconf(folder, "PC_NAME_MAX") - 1
    name = urlsafe_b64encode(output.encode()).decode()
    pieces = [name[start : start + longest] for start in range(0, len(name), longest)]
    place = folder.joinpath(*(f"@{piece}" for piece in pieces[:-1]), pieces[-1])
    place.parent.mkdir(parents=True, exist_ok=True)
    return place
