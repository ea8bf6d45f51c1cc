"""Fetch one file from several sources: verified, resumed after a cut, and never in part under its final name.

pooch, which does most of this, starts a download anew after every cut and has one source a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from fossil.data.downloads.disk import require_space
from fossil.data.downloads.http_answers import CutError, Patience, RefusedError, WrongError
from fossil.data.downloads.transfer import discard, size_of, transfer
from fossil.runtime.files import sha256
from fossil.runtime.logs import logger


class DownloadError(RuntimeError):
    """A file could not be had, or one that is there is another; the message says what to do."""


class NoSourceError(DownloadError):
    """No source gave the file; the message lists what each of them answered, and how to place the file by hand."""


@dataclass(frozen=True)
class RemoteFile:
    """A file that others publish.

    Attributes
    ----------
    name : str
        Its name.
    urls : tuple of str
        Sources, in the order in which they are asked.
    page : str
        Web page from which a person can download it.
    size : int, optional
        Bytes.
    sha256 : str, optional
        Hash of its bytes, in hex.
    check : callable, optional
        Takes the downloaded file's path and raises ValueError where the content cannot be right.
    """

    name: str
    urls: tuple[str, ...]
    page: str
    size: int | None = None
    sha256: str | None = None
    check: Callable[[Path], None] | None = None

    def by_hand(self, path: Path) -> str:
        """Say how to place the file at ``path`` by hand."""
        facts = [
            *([f"{self.size} bytes"] if self.size is not None else []),
            *([f"sha256 {self.sha256}"] if self.sha256 else []),
        ]
        known = f" ({', '.join(facts)})" if facts else ""
        return f"download {self.name}{known} from {self.page}, put it at {path.absolute()} and run again"


@dataclass(frozen=True)
class Fetched:
    """Where a file came from (a URL, or "already there") and its sha256."""

    source: str
    sha256: str


def fetch(file: RemoteFile, path: Path, *, patience: Patience | None = None) -> Fetched:
    """Bring a file to ``path``.

    A download that was cut or killed is gone on with from ``path`` with the suffix ``.partial``. A second process that
    wants the same file waits for the first.

    Parameters
    ----------
    file : RemoteFile
        What is wanted.
    path : Path
        Where it goes. What is there already is verified and never replaced.
    patience : Patience, optional
        Time-outs and retries.

    Raises
    ------
    NoSourceError
        No source gave it. A source that sends wrong bytes is asked once anew, then the next one is asked.
    DownloadError
        A file is at ``path`` that is not this one.
    DiskFullError
        No room, before or while downloading.
    """
    partial = path.with_name(f"{path.name}.partial")
    with locked(path):
        there = present(file, path)
        if there is not None:
            return there
        if file.size is not None:
            require_space(path.parent, file.size - size_of(partial), purpose=f"{file.name}: the download")
        answers = []
        for url in file.urls:
            try:
                digest = _ask(file, url, partial, patience or Patience())
            except (CutError, RefusedError, WrongError) as error:
                logger.warning("%s: %s gave up: %s", file.name, url, error)
                answers.append(f"{url}: {error}")
                continue
            partial.replace(path)
            discard(partial)
            logger.info("%s: downloaded from %s, sha256 %s", file.name, url, digest)
            return Fetched(url, digest)
        raise NoSourceError("\n".join([f"No source gave {file.name}.", *answers, f"By hand: {file.by_hand(path)}."]))


def present(file: RemoteFile, path: Path) -> Fetched | None:
    """Verify what is at ``path``; None where nothing is.

    Raises
    ------
    DownloadError
        What is there is not the file.
    """
    if not path.exists():
        return None
    try:
        return Fetched("already there", verify(file, path))
    except WrongError as error:
        raise DownloadError(
            f"{path}: this is not {file.name} as published: {error}. It is left as it is. Remove it to have it "
            f"downloaded; or {file.by_hand(path)}"
        ) from error


def verify(file: RemoteFile, path: Path) -> str:
    """Hash what is at ``path``.

    Raises
    ------
    WrongError
        It is not the file; says by what it differs.
    """
    if file.size is not None and size_of(path) != file.size:
        raise WrongError(f"it has {size_of(path)} bytes, expected {file.size}")
    digest = sha256(path)
    if file.sha256 is not None and digest != file.sha256:
        raise WrongError(f"its sha256 is {digest}, expected {file.sha256}")
    if file.check is not None:
        try:
            file.check(path)
        except ValueError as error:
            raise WrongError(str(error)) from error
    return digest


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes from making the same file; they wait. A killed process leaves no lock held."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path.with_name(f".{path.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        logger.info("%s: another process is making it; waiting until that ends", path)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _ask(file: RemoteFile, url: str, partial: Path, patience: Patience) -> str:
    """Ask one source, and once anew where its bytes are wrong; gives the hash."""
    try:
        return _ask_once(file, url, partial, patience)
    except WrongError as error:
        logger.warning("%s: wrong bytes from %s: %s; once anew", file.name, url, error)
    try:
        return _ask_once(file, url, partial, patience)
    except WrongError as error:
        raise WrongError(f"wrong bytes, twice: {error}") from error


def _ask_once(file: RemoteFile, url: str, partial: Path, patience: Patience) -> str:
    has_hash = file.sha256 is not None
    try:
        transfer(url, partial, name=file.name, size=file.size, has_hash=has_hash, patience=patience)
        return verify(file, partial)
    except WrongError:
        discard(partial)
        raise
    except CutError as error:
        raise CutError(f"{error} (given up after {patience.tries} tries in a row)") from error
