"""Safe unpacking of downloaded zip archives: completely, or not at all."""

from __future__ import annotations

import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from fossil.data.downloads.download import require_space
from fossil.runtime.logs import progress

Place = Callable[[PurePosixPath], PurePosixPath | None]

# What zipfile raises on damaged archives, seen by changing each byte of one; the last two on members of one path.
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError),
    *(FileExistsError, NotADirectoryError),
)


class ArchiveError(Exception):
    """The archive is broken or has unsafe members. The message names the archive and says what is wrong."""


def unpack(archive: Path, folder: Path, *, place: Place = lambda member: member) -> int:
    """Unpack an archive into a folder of its own, after removing the folder, and return the number of files.

    ``place`` maps a member's path in the archive to its path in the folder, or to None to leave it out. A link becomes
    a file that holds its target's name.

    Raises
    ------
    ArchiveError
        The archive is broken or empty, a member leads out of the folder, or two share a path. No file is left.
    DiskFullError
        The members' declared sizes exceed the free space.
    """
    shutil.rmtree(folder, ignore_errors=True)
    try:
        with zipfile.ZipFile(archive) as content:
            files = _check(content, place)
            folder.mkdir(parents=True)
            require_space(folder, sum(member.file_size for member, _ in files), purpose=f"{archive}: unpacking it")
            for member, path in progress(files, description=f"Unpacking {archive.name}", total=len(files)):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                # zipfile compares checksums, and reads no more bytes than a member declares.
                with content.open(member) as source, (folder / path).open("xb") as output:
                    shutil.copyfileobj(source, output, 1 << 20)
    except _BROKEN as error:
        shutil.rmtree(folder, ignore_errors=True)
        what = str(error) or type(error).__name__
        raise ArchiveError(f"{archive}: not a whole, safe zip archive: {what}. Remove it to download again") from error
    return len(files)


def _check(content: zipfile.ZipFile, place: Place) -> list[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """Return the files to unpack and their places, after a check of every member."""
    # zipfile takes the contents of an archive within a truncated one for those of the whole.
    if min((member.header_offset for member in content.infolist()), default=None) != 0:
        raise zipfile.BadZipFile("its first member is not at its first byte")
    for path in map(PurePosixPath, content.namelist()):
        if path.is_absolute() or ".." in path.parts:
            raise zipfile.BadZipFile(f"member {str(path)!r} leads out of the folder")
    places = [(member, place(PurePosixPath(member.filename))) for member in content.infolist() if not member.is_dir()]
    return [(member, path) for member, path in places if path is not None]
