"""The record that Git keeps of a version, and the files and folders that DVC tracks for it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fossil.runtime.files import read_json

TRACKED = (Path("data/raw"), Path("data/raw/weights"), Path("data/processed"), Path("results"))
"""Folders whose files and folders DVC tracks, each next to its pointer."""

IN_GIT = Path("results/version")
"""Folder of what Git itself keeps of a version."""

VERSION = IN_GIT / "version.json"
CONFIGURATION = IN_GIT / "configuration.json"

_NAMED = 10


class VersionError(RuntimeError):
    """A version cannot be published or restored; the message names the file or setting and what to do."""


def read_version() -> dict[str, Any] | None:
    """Read the record of the version that is checked out, or return None if no version is.

    Raises
    ------
    VersionError
        If the file is no JSON, as in the middle of a merge.
    """
    if not VERSION.exists():
        return None
    try:
        record: dict[str, Any] = read_json(VERSION)
    except json.JSONDecodeError:
        raise VersionError(f"{VERSION} is no JSON: git checkout the version that you want, then try again") from None
    return record


def unit_of(path: Path) -> Path | None:
    """Return the file or folder that DVC tracks a result with, or None for what Git keeps.

    Raises
    ------
    VersionError
        If no tracked folder holds the result.
    """
    if path.is_relative_to(IN_GIT):
        return None
    homes = [home for home in TRACKED if home in path.parents]
    if not homes:
        raise VersionError(f"{path} is a result, but in none of {', '.join(map(str, TRACKED))}")
    home = max(homes, key=lambda folder: len(folder.parts))
    return home / path.relative_to(home).parts[0]


def pointer_of(path: Path) -> Path:
    """Return the file that stands in Git for a tracked file or folder."""
    return path.with_name(f"{path.name}.dvc")


def first_ten(names: Iterable[object]) -> str:
    """Join the first ten of some names, each once, and count the others."""
    unique = [str(name) for name in dict.fromkeys(names)]
    return ", ".join(unique[:_NAMED]) + (f" and {len(unique) - _NAMED} more" if len(unique) > _NAMED else "")
