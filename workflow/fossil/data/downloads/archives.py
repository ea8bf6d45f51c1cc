"""Safe unpacking of downloaded zip archives: completely, or not at all."""

from __future__ import annotations

import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from fossil.data.downloads.download import require_space
from fossil.runtime.logs import progress

# What zipfile raises on damaged archives, found by changing each byte of one.
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError)


class ArchiveError(ValueError):
    """The archive is broken or has unsafe members. The message names the archive and the member."""


def unpack(
    archive: Path, folder: Path, *, place: Callable[[PurePosixPath], PurePosixPath | None] = lambda member: member
) -> int:
    """Unpack an archive into a new folder, which appears when it is complete, and return the number of files.

    ``place`` maps a member's path in the archive to its path in the folder, or to None to leave it out.

    Raises
    ------
    ArchiveError
        The folder exists, the archive is broken, a member is a link or leads out of the folder, or two share a path.
    DiskFullError
        The members' declared sizes exceed the free space.
    """
    if folder.exists():
        raise ArchiveError(f"{folder} exists already; remove it to have {archive.name} unpacked")
    temporary = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        with zipfile.ZipFile(archive) as content:
            members = _choose(archive, content, place)
            needed = sum(member.file_size for member, _ in members)
            require_space(folder, needed, purpose=f"{archive}: unpacking it")
            temporary.mkdir(parents=True)
            for member, path in progress(members, description=f"Unpacking {archive.name}", total=len(members)):
                _extract(content, member, temporary / path)
        temporary.replace(folder)
    except (FileExistsError, NotADirectoryError) as error:
        raise ArchiveError(f"{archive}: two members share the path {error.filename}; do not trust it") from error
    except _BROKEN as error:
        if isinstance(error, ArchiveError):
            raise
        what = str(error) or type(error).__name__
        raise ArchiveError(f"{archive}: not a whole zip archive: {what}. Remove it and download it again") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return len(members)


def _choose(
    archive: Path, content: zipfile.ZipFile, place: Callable[[PurePosixPath], PurePosixPath | None]
) -> list[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """Return the files to unpack with their places, after a check of every member."""
    members = content.infolist()
    # zipfile takes the contents of an archive within a truncated one for those of the whole.
    if min((member.header_offset for member in members), default=None) != 0:
        raise zipfile.BadZipFile("its first member is not at its first byte")
    for member in members:
        is_plain = stat.S_IFMT(member.external_attr >> 16) in {0, stat.S_IFREG, stat.S_IFDIR}
        path = PurePosixPath(member.filename)
        if not is_plain or path.is_absolute() or ".." in path.parts or set("\\:") & set(member.filename):
            raise ArchiveError(
                f"{archive}: member {member.filename!r} is a link or leads out; do not trust this archive"
            )
    paths = [(member, place(PurePosixPath(member.filename))) for member in members if not member.is_dir()]
    return [(member, path) for member, path in paths if path is not None]


def _extract(content: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> None:
    """Write one member; zipfile compares its checksum and stops at the declared size, so no bomb can expand."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with content.open(member) as source, path.open("xb") as file:
        shutil.copyfileobj(source, file, 1 << 20)
        if file.tell() != member.file_size:
            raise zipfile.BadZipFile(f"{member.filename} has {file.tell()} bytes and declares {member.file_size}")
