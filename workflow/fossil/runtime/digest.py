"""A digest of exactly the code that a command imports, so that an edit reruns what uses it and nothing else."""

from __future__ import annotations

import csv
import hashlib
from functools import cache
from pathlib import Path

import grimp

from fossil.runtime.files import visible_files

_PACKAGE = "fossil"
_ROOT = Path(__file__).parents[1]

_IMAGE_SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})


@cache
def code_digest(*modules: str) -> str:
    """Digest the source of some modules and of all modules of this package that they import, directly or not.

    A process finds it once, as many jobs as there may be of a command: the source is taken to stay as it is meanwhile.
    """
    digest = hashlib.sha256()
    for module in sorted(imported_modules(*modules)):
        digest.update(f"{module} {_source_digest(module)}\n".encode())
    return digest.hexdigest()[:16]


def imported_modules(*modules: str) -> set[str]:
    """Return the modules that count: the named ones, what they import, and the packages that contain them.

    A module that imports a package itself, such as a registry, counts all modules of that package: it may import them
    by name.
    """
    graph = _graph()
    counted: set[str] = set()
    new = set(modules)
    while new:
        counted |= new
        imported = {upstream for module in new for upstream in graph.find_modules_directly_imported_by(module)}
        new = (imported | {child for module in imported for child in graph.find_descendants(module)}) - counted
    packages = {".".join(parts[:end]) for parts in (m.split(".") for m in counted) for end in range(1, len(parts))}
    return counted | packages


def listing_digest(folder: Path) -> str:
    """Digest the relative names and sizes of the images below a folder; times and other files do not count."""
    images = sorted(
        (path.relative_to(folder).as_posix(), path.stat().st_size)
        for path in visible_files(folder)
        if path.suffix.lower() in _IMAGE_SUFFIXES
    )
    return hashlib.sha256(repr(images).encode()).hexdigest()[:16]


def table_digest(table: Path, column: str) -> str:
    """Digest the names and sizes of the images that a column of a CSV file names, relative to its folder or absolute.

    A file that is not there, a column that is not and what is no CSV file count as well: reading them is an error that
    another command reports.
    """
    try:
        with table.open(encoding="utf-8-sig", newline="") as file:
            names = [(row.get(column) or "").strip() for row in csv.DictReader(file)]
    except (UnicodeDecodeError, csv.Error) as error:
        names = [repr(error)]
    paths = [table.parent / name for name in names]
    sizes = [path.stat().st_size if path.is_file() else None for path in paths]
    return hashlib.sha256(repr(list(zip(names, sizes, strict=True))).encode()).hexdigest()[:16]


@cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph(_PACKAGE, cache_dir=None, exclude_type_checking_imports=True)


@cache
def _source_digest(module: str) -> str:
    place = _ROOT.joinpath(*module.split(".")[1:])
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return hashlib.sha256(path.read_bytes()).hexdigest()
