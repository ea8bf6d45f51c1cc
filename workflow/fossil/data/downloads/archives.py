"""Unpack zip archives from elsewhere: whole and as they say they are, or not at all."""

from __future__ import annotations

import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath

from fossil.data.downloads.disk import full_disk_explained, require_space
from fossil.runtime.logs import progress

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
# What zipfile raises on damaged archives, found by changing each byte of one.
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError)


class ArchiveError(ValueError):
    """The archive is broken or has members that do not belong there; the message names the archive and the member."""


def require_zip(archive: Path) -> None:
    """Raise ArchiveError unless a file has a zip archive's table of contents, which a truncated one lacks."""
    with _opened(archive):
        pass


def unpack(
    archive: Path, folder: Path, *, place: Callable[[PurePosixPath], PurePosixPath | None] = lambda member: member
) -> int:
    """Unpack a zip archive into a new folder, which appears when all of it is there.

    Parameters
    ----------
    archive : Path
        The archive.
    folder : Path
        Must not be there, or be empty.
    place : callable
        Takes a member's path in the archive and gives its path in the folder, or None to leave it out. As it is unless
        given.

    Returns
    -------
    int
        Files unpacked.

    Raises
    ------
    ArchiveError
        The folder is there; the archive is truncated; a member's checksum is wrong; or a member, wanted or not, is
        encrypted, a link, compressed in a rare way, leads out of the folder or ends where another one does.
    DiskFullError
        The members' sizes are more than the disk has free, or it fills up while unpacking.
    """
    if folder.exists() and any(folder.iterdir()):
        raise ArchiveError(f"{folder} is there already; remove it to have {archive.name} unpacked")
    temporary = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        with _opened(archive) as content:
            members = _places(archive, content, place)
            needed = sum(member.file_size for member in members.values())
            require_space(folder, needed, purpose=f"{archive}: unpacking it")
            temporary.mkdir(parents=True)
            with full_disk_explained(lambda: f"{archive} needs {needed} bytes in {folder.parent}; make room there"):
                items = progress(members.items(), description=f"Unpacking {archive.name}", total=len(members))
                for path, member in items:
                    _extract(content, member, temporary / path)
        temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return len(members)


@contextmanager
def _opened(archive: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(archive) as content:
            _require_start(content)
            yield content
    except ArchiveError:
        raise
    except _BROKEN as error:
        what = str(error) or type(error).__name__
        raise ArchiveError(f"{archive}: not a whole zip archive: {what}. Remove it and download it again") from error


def _require_start(content: zipfile.ZipFile) -> None:
    """Refuse the table of contents of an archive within a truncated one, which zipfile takes for that of the whole."""
    if min((member.header_offset for member in content.infolist()), default=None) != 0:
        raise zipfile.BadZipFile("its table of contents does not begin with the file's first byte")


def _places(
    archive: Path, content: zipfile.ZipFile, place: Callable[[PurePosixPath], PurePosixPath | None]
) -> dict[PurePosixPath, zipfile.ZipInfo]:
    """Say which member goes where, after a look at all of them."""
    members: dict[PurePosixPath, zipfile.ZipInfo] = {}
    taken: dict[str, str] = {}
    for member in content.infolist():
        problem = _problem(member)
        if problem:
            raise ArchiveError(f"{archive}: member {member.filename!r} {problem}; do not trust this archive")
        path = None if member.is_dir() else place(PurePosixPath(member.filename))
        if path is None:
            continue
        # Some file systems take names that differ in case for the same.
        other = taken.setdefault(str(path).casefold(), member.filename)
        if path in members or other != member.filename:
            raise ArchiveError(f"{archive}: members {other!r} and {member.filename!r} would both be {path}")
        members[path] = member
    nested = next((path for path in members if any(str(parent).casefold() in taken for parent in path.parents)), None)
    if nested is not None:
        raise ArchiveError(f"{archive}: {nested} lies in a folder that is also a file")
    return members


def _problem(member: zipfile.ZipInfo) -> str | None:
    path, windows = PurePosixPath(member.filename), PureWindowsPath(member.filename)
    kind, method = stat.S_IFMT(member.external_attr >> 16), member.compress_type
    problems = {
        "has no name": not member.filename or not (path.parts or member.is_dir()),
        "has an absolute path or a backslash": path.is_absolute() or windows.anchor or "\\" in member.filename,
        "leads out of the folder": ".." in path.parts,
        "is a link or a device": kind not in {0, stat.S_IFREG, stat.S_IFDIR},
        "is encrypted": member.flag_bits & _ENCRYPTED,
        f"is compressed by method {method}, neither stored nor deflated": method not in _METHODS,
    }
    return next((problem for problem, found in problems.items() if found), None)


def _extract(content: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> None:
    """Write one member; zipfile compares its checksum at the end and never gives more bytes than it declares."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with content.open(member) as source, path.open("xb") as file:
        shutil.copyfileobj(source, file, 1 << 20)
        written = file.tell()
    if written != member.file_size:
        raise zipfile.BadZipFile(f"{member.filename} has {written} bytes and declares {member.file_size}")
