"""Downloads of a file: resumed after a cut, verified, and never incomplete under the final name.

Range requests follow RFC 9110, section 14. pooch, which does most of this, does not resume.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError
from urllib3.util import Retry

from fossil.runtime.files import sha256
from fossil.runtime.logs import byte_progress, logger

TIMEOUT = 60.0  # seconds to wait for a connection, and for the next bytes
FIRST_WAIT = 1.0  # seconds between requests, doubled after each failure
TRIES = 6  # a server is given up after so many requests in a row that bring no further byte
_BUSY = {408, 425, 429, 500, 502, 503, 504}
# Some hosts refuse the default name of a Python library. A compressed answer would have no ranges of the file's bytes.
_HEADERS = {"User-Agent": "fossil", "Accept-Encoding": "identity"}


class DownloadError(RuntimeError):
    """The file is not available, or another one is in its place. The message says what to do."""


class DiskFullError(OSError):
    """The disk has too little room. The message names the folder and what to do."""


class SourceError(Exception):
    """A server does not give the file."""


class WrongBytesError(SourceError):
    """The bytes are not those of the file."""


@dataclass(frozen=True)
class Download:
    """A published file, and the web page for a download by hand.

    Without a hash, the URL must name one version of the file: pieces from several days are joined.
    """

    name: str
    url: str
    page: str
    size: int | None = None
    sha256: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def fetch(file: Download, path: Path) -> str:
    """Download a file to ``path``, or verify an existing file, and return its SHA-256.

    The bytes of a cut or killed download stay in ``path`` with the suffix ``.partial``; the next call resumes it.

    Raises
    ------
    DownloadError
        The server does not give the file, or another one is at ``path``. The message says what to do by hand.
    DiskFullError
        The disk has less room than the file needs.
    """
    facts = f" ({file.size} bytes, sha256 {file.sha256})" if file.sha256 else ""
    by_hand = f"download {file.name}{facts} from {file.page}, put it at {path.absolute()} and run again"
    if path.exists():
        try:
            return _verify(file, path)
        except WrongBytesError as error:
            message = f"{path}: this is not {file.name} as published: {error}. Remove it, or {by_hand}"
            raise DownloadError(message) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    try:
        digest = _complete(file, partial)
    except SourceError as error:
        kept = f"; {_size(partial)} bytes are kept: run again to resume" if _size(partial) else ""
        raise DownloadError(f"No {file.name} from {file.url}: {error}{kept}. By hand: {by_hand}.") from error
    partial.replace(path)
    logger.info("%s: downloaded from %s, sha256 %s", file.name, file.url, digest)
    return digest


@contextmanager
def answer(url: str, headers: Mapping[str, str]) -> Iterator[requests.Response]:
    """Yield a server's answer to a GET request, after retries; raise SourceError where there is none."""
    retries = Retry(TRIES - 1, backoff_factor=FIRST_WAIT, status_forcelist=_BUSY, raise_on_status=False)
    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(max_retries=retries))
        try:
            response = session.get(url, headers={**_HEADERS, **headers}, stream=True, timeout=TIMEOUT)
        except requests.RequestException as error:
            raise SourceError(str(error)) from error
        with response:
            if response.status_code not in {200, 206, 416}:
                raise SourceError(f"{response.status_code} {response.reason}")
            yield response


def require_space(folder: Path, needed: int, *, purpose: str) -> None:
    """Raise DiskFullError unless the disk of a folder has ``needed`` bytes free."""
    if (free := shutil.disk_usage(folder).free) < needed:
        raise DiskFullError(f"{purpose} needs {needed} bytes in {folder}, which has {free}; make room, then run again")


def _complete(file: Download, partial: Path) -> str:
    """Download the bytes that are missing, all of them once more if they are wrong, and return the hash."""
    best, vain, is_second = _size(partial), 0, False
    while True:
        try:
            _receive(file, partial)
            return _verify(file, partial)
        except WrongBytesError as error:
            partial.unlink(missing_ok=True)
            if is_second:
                raise WrongBytesError(f"wrong bytes, twice: {error}") from error
            logger.warning("%s: wrong bytes from %s: %s; once more", file.name, file.url, error)
            best, is_second = 0, True
        except (requests.RequestException, HTTPError) as error:
            vain = 0 if _size(partial) > best else vain + 1
            best = max(best, _size(partial))
            if vain == TRIES:
                raise SourceError(f"{error} ({vain} tries in a row)") from error
            logger.warning("%s: %s after %d bytes", file.name, error, _size(partial))
            time.sleep(FIRST_WAIT * 2**vain)


def _verify(file: Download, path: Path) -> str:
    """Return the SHA-256 of the file at ``path``; raise WrongBytesError unless size and hash are right."""
    if file.size not in {None, path.stat().st_size}:
        raise WrongBytesError(f"it has {path.stat().st_size} bytes, expected {file.size}")
    digest = sha256(path)
    if file.sha256 not in {None, digest}:
        raise WrongBytesError(f"its sha256 is {digest}, expected {file.sha256}")
    return digest


def _receive(file: Download, partial: Path) -> None:
    """Append the bytes of one connection."""
    have = _size(partial)
    if have and have == file.size:
        return
    headers = {"Range": f"bytes={have}-"} if have else {}
    with answer(file.url, {**file.headers, **headers}) as response, byte_progress(file.name) as show:
        start, total = _content(response, have)
        if file.size is not None and total not in {None, file.size}:
            kind = response.headers.get("Content-Type")
            raise WrongBytesError(f"it has {total} bytes ({kind}), expected {file.size}")
        end = total if file.size is None else file.size
        if end is not None:
            require_space(partial.parent, end - start, purpose=f"{file.name}: the download")
        with partial.open("ab" if start else "wb") as output:
            # A full read would wait for a whole block, however slowly it comes; read1 returns what has arrived.
            while block := response.raw.read1(1 << 18, decode_content=False):
                output.write(block)
                output.flush()
                show(output.tell(), end)
                if end is not None and output.tell() > end:
                    raise WrongBytesError(f"it has more than {end} bytes")
        if end is not None and _size(partial) < end:
            raise requests.ConnectionError(f"it ended after {_size(partial)} of {end} bytes")


def _content(response: requests.Response, have: int) -> tuple[int, int | None]:
    """Return the answer's first byte and the size of the whole file, None where it is unknown."""
    if response.status_code == requests.codes.ok:
        length = response.headers.get("Content-Length", "")
        return 0, int(length) if length.isdigit() else None
    given = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
    if given is None or int(given[1]) != have:
        raise WrongBytesError(f"it has no bytes from {have} on: {response.status_code} {response.reason}")
    return have, None if given[2] == "*" else int(given[2])


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
