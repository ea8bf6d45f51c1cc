"""What a server's answer to a request for a file means: go on, ask again, or ask elsewhere.

Ranges and their conditions are those of RFC 9110, sections 13 and 14.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import requests
from urllib3.exceptions import HTTPError, ProtocolError

CUT = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError, HTTPError)
"""What requests and urllib3 raise where a connection fails."""


class CutError(Exception):
    """The connection broke, stalled or timed out, or the server was busy: asking again may help."""

    def __init__(self, message: str, *, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


class RefusedError(Exception):
    """The source does not give the file: asking again does not help."""


class WrongError(Exception):
    """The bytes are not those of the file."""


@dataclass(frozen=True)
class Patience:
    """How long a download waits, and how often it asks again.

    Attributes
    ----------
    connect_seconds, read_seconds : float
        Time-outs of connecting, and of waiting for the next bytes.
    slowest, stall_seconds : float
        A connection that brings less than ``slowest`` bytes/s over ``stall_seconds`` counts as cut.
    tries : int
        A source is given up after so many tries in a row that together bring less than ``enough`` new bytes.
    enough : int
        Bytes.
    first_wait, longest_wait : float
        Seconds before the second try, doubled before each further one; a random part of ``first_wait`` is added.
    longest_retry_after : float
        Seconds that a server may ask to wait; one that asks for more is given up.
    """

    connect_seconds: float = 20.0
    read_seconds: float = 60.0
    slowest: float = 1000.0
    stall_seconds: float = 60.0
    tries: int = 6
    enough: int = 1_000_000
    first_wait: float = 1.0
    longest_wait: float = 60.0
    longest_retry_after: float = 600.0


def require_success(response: requests.Response, have: int, patience: Patience) -> None:
    """Raise unless the answer brings the file, or its rest after ``have`` bytes.

    Raises
    ------
    CutError
        The server is busy or broken; knows how long it asks to wait.
    RefusedError
        Any other answer, or the request to wait longer than ``patience`` allows.
    WrongError
        The file is not longer than ``have``.
    """
    status = response.status_code
    answer = f"{status} {response.reason}"
    if status in {408, 429} or status >= 500:
        wait = _retry_after(response)
        if wait > patience.longest_retry_after:
            raise RefusedError(f"{answer}, with the request to wait {wait:.0f} s")
        raise CutError(answer, wait=wait)
    if status == requests.codes.requested_range_not_satisfiable and have:
        raise WrongError(f"{answer}: it has no more than {have} bytes")
    if status not in {200, 206}:
        raise RefusedError(answer)
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise RefusedError(f"{answer}, but compressed, which it was asked not to be")


def version(response: requests.Response) -> str | None:
    """Read a strong ETag or the date of the last change: what If-Range may hold (RFC 9110, section 13.1.5)."""
    etag = response.headers.get("ETag", "")
    return etag if etag.startswith('"') else response.headers.get("Last-Modified")


def content_range(response: requests.Response) -> tuple[int | None, int | None]:
    """Read which byte an answer begins with, and how many the whole file has."""
    given = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
    if given is None:
        return None, None
    return int(given[1]), None if given[2] == "*" else int(given[2])


def length(response: requests.Response) -> int | None:
    """Read how many bytes the answer announces."""
    value = response.headers.get("Content-Length", "")
    return int(value) if value.isdigit() and "Transfer-Encoding" not in response.headers else None


def reason(error: Exception) -> str:
    """Say why a connection failed, without the library's account of its own retries, of which there are none."""
    cause = error.args[0] if error.args else error
    cause = getattr(cause, "reason", None) or cause
    return str(cause.args[0] if isinstance(cause, ProtocolError) else cause)


def _retry_after(response: requests.Response) -> float:
    value = response.headers.get("Retry-After", "0")
    if value.isdigit():
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0
