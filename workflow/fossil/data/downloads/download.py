"""Downloads of a file from several sources: resumed after a cut, verified, and never incomplete under the final name.

Range requests follow RFC 9110, sections 13 and 14. pooch, which does most of this, does not resume.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

import requests
from filelock import FileLock
from urllib3.exceptions import HTTPError

from fossil.runtime.files import read_json, sha256, write_json
from fossil.runtime.logs import byte_progress, logger

Result = TypeVar("Result")

TIMEOUT = 60.0
"""Seconds to wait for a connection, and for the next bytes."""

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before the second request, doubled before each further one."""

TRIES = 6
"""A source is given up after so many requests in a row that bring no further byte."""

# Some hosts refuse the default name of a Python library. A compressed answer would have no ranges of the file's bytes.
_HEADERS = {"User-Agent": "fossil", "Accept-Encoding": "identity"}
_CONNECTION_ERRORS = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError, HTTPError)


class DownloadError(RuntimeError):
    """The file is not available, or another one is in its place. The message says what to do."""


class DiskFullError(OSError):
    """The disk has too little room. The message names the folder and what to do."""


class SourceError(Exception):
    """A source does not give the file, and asking again does not help; ``status`` is that of its answer."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class CutError(SourceError):
    """The connection broke or stalled, or the server was busy: asking again may help."""


class WrongBytesError(SourceError):
    """The bytes are not those of the file."""


@dataclass(frozen=True)
class RemoteFile:
    """A published file: its sources in the order of preference, and the web page for a download by hand."""

    name: str
    urls: tuple[str, ...]
    page: str
    size: int | None = None
    sha256: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Fetched(NamedTuple):
    """The source of a file (a URL or "already there"), and its SHA-256."""

    source: str
    sha256: str


def fetch(file: RemoteFile, path: Path) -> Fetched:
    """Download a file to ``path``, or verify an existing file.

    The bytes of a cut or killed download stay in ``path`` with the suffix ``.partial``; the next call resumes it. A
    second process that wants the same file waits for the first. A source that sends wrong bytes is asked twice.

    Raises
    ------
    DownloadError
        No source gave the file, or another one is at ``path``. The message lists every answer and says what to do.
    DiskFullError
        The disk has less room than the file needs.
    """
    partial = path.with_name(f"{path.name}.partial")
    facts = f" ({file.size} bytes, sha256 {file.sha256})" if file.sha256 else ""
    by_hand = f"download {file.name}{facts} from {file.page}, put it at {path.absolute()} and run again"
    answers = []
    with locked(path):
        if path.exists():
            try:
                return Fetched("already there", verify(file, path))
            except WrongBytesError as error:
                message = f"{path}: this is not {file.name} as published: {error}. Remove it, or {by_hand}"
                raise DownloadError(message) from error
        for url in file.urls:
            try:
                digest = _fetch_from(file, url, partial)
            except SourceError as error:
                logger.warning("%s: %s gave up: %s", file.name, url, error)
                answers.append(f"{url}: {error}")
                continue
            partial.replace(path)
            _discard(partial)
            logger.info("%s: downloaded from %s, sha256 %s", file.name, url, digest)
            return Fetched(url, digest)
    raise DownloadError("\n".join([f"No source gave {file.name}.", *answers, f"By hand: {by_hand}."]))


def verify(file: RemoteFile, path: Path) -> str:
    """Return the SHA-256 of the file at ``path``; raise WrongBytesError unless size and hash are right."""
    if file.size not in {None, path.stat().st_size}:
        raise WrongBytesError(f"it has {path.stat().st_size} bytes, expected {file.size}")
    digest = sha256(path)
    if file.sha256 not in {None, digest}:
        raise WrongBytesError(f"its sha256 is {digest}, expected {file.sha256}")
    return digest


def ask(url: str, read: Callable[[requests.Response], Result], *, headers: Mapping[str, str]) -> Result:
    """Return what ``read`` takes from a server's answer, with retries; raise SourceError where none comes."""

    def once() -> Result:
        with _answer(url, headers) as response:
            return read(response)

    return _persist(once, url, size=lambda: 0)


def locked(path: Path) -> FileLock:
    """Return a lock that keeps other processes from writing the same file; a killed process releases it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path.with_name(f".{path.name}.lock"))


def require_space(folder: Path, needed: int, *, purpose: str) -> None:
    """Raise DiskFullError unless the disk of a folder, which may not exist yet, has ``needed`` bytes free."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise DiskFullError(f"{purpose} needs {needed} bytes in {folder}, which has {free}; make room, then run again")


def _fetch_from(file: RemoteFile, url: str, partial: Path) -> str:
    """Download from one source, once more where its bytes are wrong, and return the hash."""
    for is_last in (False, True):
        try:
            _persist(lambda: _receive(file, url, partial), url, size=lambda: _size(partial))
            return verify(file, partial)
        except WrongBytesError as error:
            _discard(partial)
            if is_last:
                raise WrongBytesError(f"wrong bytes, twice: {error}") from error
            logger.warning("%s: wrong bytes from %s: %s; once more", file.name, url, error)
    raise AssertionError


def _persist(action: Callable[[], Result], what: str, *, size: Callable[[], int]) -> Result:
    """Repeat an action while it raises CutError, until ``TRIES`` calls in a row do not let ``size`` grow."""
    best, vain = size(), 0
    while True:
        try:
            return action()
        except CutError as error:
            vain = 0 if size() > best else vain + 1
            best = max(best, size())
            if vain == TRIES:
                kept = f"{size()} bytes are kept: run again to resume"
                raise CutError(f"{error} (given up after {vain} tries in a row; {kept})") from error
            wait = min(FIRST_WAIT * 2 ** max(vain - 1, 0), LONGEST_WAIT)
            logger.warning("%s: %s; next request in %.0f s", what, error, wait)
            time.sleep(wait)


def _receive(file: RemoteFile, url: str, partial: Path) -> None:
    """Append the bytes of one connection."""
    version = _version_of(partial, url)
    # Without a hash, only the server's version of the file shows that the pieces belong together.
    have = _size(partial) if file.sha256 or version else 0
    if have and have == file.size:
        return
    headers = {"Range": f"bytes={have}-"} if have else {}
    if have and version:
        headers["If-Range"] = version
    with _answer(url, {**file.headers, **headers}) as response, byte_progress(file.name) as show:
        start, total = _content(response, have)
        if not start:
            _discard(partial)
        elif version != (_version(response) or version):
            raise WrongBytesError("it has changed since the first request")
        if file.size is not None and total not in {None, file.size}:
            kind = response.headers.get("Content-Type")
            raise WrongBytesError(f"it has {total} bytes ({kind}), expected {file.size}")
        end = total if file.size is None else file.size
        if end is not None:
            require_space(partial.parent, end - start, purpose=f"{file.name}: the download")
        write_json(_note(partial), {"url": url, "version": _version(response) or version})
        with partial.open("ab") as output:
            # A full read would wait for a whole block, however slowly it comes; read1 returns what has arrived.
            while block := response.raw.read1(1 << 18, decode_content=False):
                output.write(block)
                output.flush()
                show(output.tell(), end)
                if end is not None and output.tell() > end:
                    raise WrongBytesError(f"it has more than {end} bytes")
        if end is not None and _size(partial) < end:
            raise CutError(f"it ended after {_size(partial)} of {end} bytes")


@contextmanager
def _answer(url: str, headers: Mapping[str, str]) -> Iterator[requests.Response]:
    """Yield the answer to a GET request; raise CutError where asking again may help, else SourceError."""
    try:
        with requests.get(url, headers={**_HEADERS, **headers}, stream=True, timeout=TIMEOUT) as response:
            status = response.status_code
            if status in {408, 425, 429} or status >= 500:
                raise CutError(f"{status} {response.reason}", status=status)
            if status not in {200, 206, 416}:
                raise SourceError(f"{status} {response.reason}", status=status)
            yield response
    except _CONNECTION_ERRORS as error:
        raise CutError(str(error)) from error
    except requests.RequestException as error:
        raise SourceError(str(error)) from error


def _content(response: requests.Response, have: int) -> tuple[int, int | None]:
    """Return the answer's first byte and the size of the whole file, None where it is unknown."""
    if response.status_code == requests.codes.ok:
        length = response.headers.get("Content-Length", "")
        return 0, int(length) if length.isdigit() and "Transfer-Encoding" not in response.headers else None
    given = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
    if given is None or int(given[1]) != have:
        raise WrongBytesError(f"it has no bytes from {have} on: {response.status_code} {response.reason}")
    return have, None if given[2] == "*" else int(given[2])


def _version(response: requests.Response) -> str | None:
    """Return a strong ETag or the date of the last change, which If-Range may hold (RFC 9110, section 13.1.5)."""
    etag = response.headers.get("ETag", "")
    return etag if etag.startswith('"') else response.headers.get("Last-Modified")


def _version_of(partial: Path, url: str) -> str | None:
    """Return the version of the file whose first bytes are in ``partial``, None where another URL sent them."""
    try:
        note = read_json(_note(partial))
        return note["version"] if note["url"] == url else None
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _note(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}.json")


def _discard(partial: Path) -> None:
    partial.unlink(missing_ok=True)
    _note(partial).unlink(missing_ok=True)
