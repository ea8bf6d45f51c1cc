"""Bytes from one URL into a partial file: cut connections are gone on with, and pieces of different files never joined.

Beside the partial file lies a small JSON file that says where its bytes came from. Both outlive the process, so that
another one goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import requests
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from fossil.data.downloads.disk import full_disk_explained, require_space
from fossil.data.downloads.http_answers import (
    CUT,
    CutError,
    Patience,
    RefusedError,
    WrongError,
    content_range,
    length,
    reason,
    require_success,
    version,
)
from fossil.runtime.files import read_json, write_json
from fossil.runtime.logs import byte_progress, logger

_BLOCK = 1 << 18
# Some hosts refuse the default name of a Python library. Compressed answers would have no ranges of the file's bytes.
_HEADERS = {"User-Agent": "fossil", "Accept-Encoding": "identity"}


@dataclass(frozen=True)
class Origin:
    """Where a partial file's bytes came from: the URL, its version (a strong ETag or a date) and the whole size."""

    url: str
    version: str | None
    total: int | None


def transfer(url: str, partial: Path, *, name: str, size: int | None, has_hash: bool, patience: Patience) -> None:
    """Bring a file to its end in ``partial``.

    Parameters
    ----------
    url : str
        The source.
    partial : Path
        What is there already is gone on with where that is safe.
    name : str
        For progress and messages.
    size : int, optional
        Bytes of the whole file.
    has_hash : bool
        The caller compares the file's hash. Only then is a partial file gone on with that another URL began, or
        whose source gives no version of the file.
    patience : Patience
        Time-outs and retries.

    Raises
    ------
    CutError
        As many vain tries as ``patience`` allows; what came is kept.
    RefusedError
        An answer that no further try would change; what came is kept.
    WrongError
        More bytes or fewer than ``size``; the caller discards them.
    DiskFullError
        No room; what came is kept.
    """
    first, longest = patience.first_wait, patience.longest_wait
    backoff = wait_exponential(multiplier=first, max=longest) + wait_random(0, first)

    def announce(state: RetryCallState) -> None:
        attempt, wait = state.attempt_number + 1, state.upcoming_sleep
        logger.warning("%s: %s; try %d of %d in %.0f s", name, _error(state), attempt, patience.tries, wait)

    retrying = Retrying(
        retry=retry_if_exception_type(CutError),
        stop=stop_after_attempt(patience.tries),
        wait=lambda state: max(backoff(state), _error(state).wait),
        before_sleep=announce,
        reraise=True,
    )
    with byte_progress(name) as show:
        job = _Transfer(url, partial, name, size, has_hash, patience, show, best=size_of(partial))
        # A connection that brought enough before it was cut begins a new count of tries.
        while not retrying(job.connect):
            pass


def discard(partial: Path) -> None:
    """Remove a partial file and the note of where it came from."""
    partial.unlink(missing_ok=True)
    _note(partial).unlink(missing_ok=True)


def size_of(path: Path) -> int:
    """Count a file's bytes; none where it is not there."""
    return path.stat().st_size if path.exists() else 0


@dataclass
class _Transfer:
    url: str
    partial: Path
    name: str
    size: int | None
    has_hash: bool
    patience: Patience
    show: Callable[[int, int | None], None]
    best: int

    def connect(self) -> bool:
        """Receive what one connection brings; says whether that was the rest, and raises CutError after a vain one."""
        try:
            self._receive()
        except CutError as error:
            have = size_of(self.partial)
            if have < self.best + self.patience.enough:
                raise
            self.best = have
            logger.warning("%s: %s; going on", self.name, error)
            return False
        return True

    def _receive(self) -> None:
        origin = _read_origin(self.partial)
        have = self._usable(origin)
        if have and have == self._end(origin):
            return
        try:
            with (
                full_disk_explained(self._advice),
                requests.get(
                    self.url,
                    headers=self._headers(have, origin),
                    stream=True,
                    timeout=(self.patience.connect_seconds, self.patience.read_seconds),
                ) as response,
            ):
                origin = self._agree(response, have, origin)
                self._write(response, origin)
        except CUT as error:
            raise CutError(f"{reason(error)} (have {self._amount()})") from error
        except requests.RequestException as error:
            raise RefusedError(str(error)) from error

    def _usable(self, origin: Origin | None) -> int:
        """Count the bytes to go on from: none where nothing would tell that pieces of two files were joined."""
        have = size_of(self.partial)
        same = origin is not None and origin.url == self.url and origin.version is not None
        if not (self.has_hash or same) or (self.size is not None and have > self.size):
            return 0
        return have

    def _end(self, origin: Origin | None) -> int | None:
        return self.size if self.size is not None or origin is None else origin.total

    def _headers(self, have: int, origin: Origin | None) -> dict[str, str]:
        headers = dict(_HEADERS)
        if have:
            headers["Range"] = f"bytes={have}-"
            if origin and origin.url == self.url and origin.version:
                headers["If-Range"] = origin.version
        return headers

    def _amount(self) -> str:
        have, end = size_of(self.partial), self._end(_read_origin(self.partial))
        return f"{have} bytes" if end is None else f"{have} of {end} bytes"

    def _advice(self) -> str:
        return f"{self._amount()} are kept in {self.partial}. Make room there, then run again: the download goes on"

    def _agree(self, response: requests.Response, have: int, origin: Origin | None) -> Origin:
        """Read the answer's head, and let the partial file go where the answer does not go on from it."""
        require_success(response, have, self.patience)
        new = Origin(self.url, version(response), length(response))
        if response.status_code == requests.codes.partial_content:
            start, total = content_range(response)
            before = origin.version if origin and origin.url == self.url else None
            if start != have or _differ(total, self._end(origin)) or _differ(new.version, before):
                discard(self.partial)
                raise CutError(f"the file has changed, or the server sent other bytes than those from {have} on")
            new = Origin(self.url, new.version or before, self._end(origin) if total is None else total)
        elif have:
            logger.warning("%s: the server does not go on from byte %d; starting anew", self.name, have)
        if response.status_code == requests.codes.ok or not have:
            discard(self.partial)
        end = self._end(new)
        if _differ(new.total, end):
            raise WrongError(f"it has {new.total} bytes ({response.headers.get('Content-Type')}), expected {end}")
        if end is not None:
            require_space(self.partial.parent, end - size_of(self.partial), purpose=f"{self.name}: the download")
        write_json(_note(self.partial), asdict(new))
        return new

    def _write(self, response: requests.Response, origin: Origin) -> None:
        have, end = size_of(self.partial), self._end(origin)
        logger.info("%s: %s from byte %d of %s", self.name, self.url, have, end)
        pace = _Pace(self.patience)
        with self.partial.open("ab") as file:
            self.show(have, end)
            # A full read would wait for a whole block, however slowly it comes; read1 gives what is there.
            while block := response.raw.read1(_BLOCK, decode_content=False):
                have += len(block)
                if end is not None and have > end:
                    raise WrongError(f"it has more than {end} bytes")
                file.write(block)
                file.flush()
                self.show(have, end)
                pace.add(len(block))
        if end is not None and have < end:
            raise CutError(f"it ended after {have} of {end} bytes")


class _Pace:
    """Notices a connection that brings a byte now and then, which no time-out ends."""

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self.start = time.monotonic()
        self.received = 0

    def add(self, count: int) -> None:
        self.received += count
        seconds = time.monotonic() - self.start
        if seconds < self.patience.stall_seconds:
            return
        if self.received < self.patience.slowest * seconds:
            raise CutError(f"it stalled: {self.received} bytes in {seconds:.0f} s")
        self.start, self.received = time.monotonic(), 0


def _differ(first: object, second: object) -> bool:
    """Both are known and they differ."""
    return first is not None and second is not None and first != second


def _error(state: RetryCallState) -> CutError:
    error = state.outcome.exception() if state.outcome else None
    if not isinstance(error, CutError):
        raise TypeError(f"a try is repeated after a CutError only, found {error!r}")
    return error


def _note(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}.json")


def _read_origin(partial: Path) -> Origin | None:
    try:
        return Origin(**read_json(_note(partial)))
    except (FileNotFoundError, ValueError, TypeError):
        return None
