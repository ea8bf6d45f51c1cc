"""Public data sets from Kaggle, through kagglehub, with what it leaves out of a download.

kagglehub keeps the archive that is on its way in its cache, goes on from there in a later process, compares it with the
server's MD5 where there is one, and unpacks it. It does not ask again after an error, waits for ever for a server that
says nothing, takes an error page for the rest of an archive, and does not look at the disk.
"""

from __future__ import annotations

import os
import tarfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from fossil.data.downloads.disk import full_disk_explained, require_space
from fossil.runtime.logs import byte_progress, logger

_QUESTIONS = 4
_VAIN_ATTEMPTS = 8
_LONGEST_WAIT = 30.0
_SECONDS_BETWEEN_LOOKS = 0.5
_BUSY = frozenset({408, 425, 429})
# What kagglehub and the standard library raise for an archive that is none or has holes.
_BROKEN = (ValueError, zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError)


class KaggleError(RuntimeError):
    """Kaggle does not give the data set; the message says what came instead."""


class PartRefusedError(requests.RequestException):
    """The server answers a request for the rest of the archive with something else."""


@contextmanager
def kaggle_dataset(
    handle: str, *, title: str, cache: Path, pause: float = 1.0, seconds: float = 30.0
) -> Iterator[KaggleDataset]:
    """Give access to a data set while the block runs.

    Parameters
    ----------
    handle : str
        ``owner/name``.
    title : str
        Short name, for the progress.
    cache : Path
        Folder for everything that kagglehub writes. It must outlive a failed run for a later one to go on.
    pause : float
        Seconds before the second attempt, doubled before each further one.
    seconds : float
        How long a silent server is waited for.

    Raises
    ------
    KaggleError
        In the block: Kaggle cannot be reached, refuses, or sends what is no archive.
    DiskFullError
        In the block: no room, before or while downloading.
    """
    dataset = KaggleDataset(handle, title, pause, seconds)
    advice = f"what has come is kept in {cache}. Make room, then run again: the download goes on"
    with _environment(cache), dataset.careful_requests(), full_disk_explained(lambda: advice):
        try:
            yield dataset
        except requests.RequestException as error:
            raise KaggleError(_reason(dataset.asked, error)) from error


class KaggleDataset:
    """A data set on Kaggle; see :func:`kaggle_dataset`."""

    def __init__(self, handle: str, title: str, pause: float, seconds: float) -> None:
        self.handle = handle
        self.title = title
        self.asked = handle
        self._wait = wait_exponential(multiplier=pause, max=_LONGEST_WAIT)
        self._seconds = seconds
        self._archive = Path()
        self._total: int | None = None
        self._answer: requests.Response | None = None

    def find_version(self) -> int:
        """Ask for the number of the newest version."""
        from kagglehub.clients import build_kaggle_client
        from kagglesdk.datasets.types.dataset_api_service import ApiGetDatasetRequest

        request = ApiGetDatasetRequest()
        request.owner_slug, request.dataset_slug = self.handle.split("/")
        with build_kaggle_client() as client:
            ask = self._retrying(stop_after_attempt(_QUESTIONS)).wraps(client.datasets.dataset_api_client.get_dataset)
            try:
                version = ask(request).current_version_number
            except ValueError as error:
                raise KaggleError(
                    f"What answers is not Kaggle but another server, such as a proxy: {error}."
                ) from error
        if not version:
            raise KaggleError(f"Kaggle names no version of {self.handle}.")
        return version

    def unpacked(self, version: int) -> Path:
        """Name the folder where kagglehub unpacks a version."""
        from kagglehub.cache import get_cached_path

        return Path(get_cached_path(self._parsed(version)))

    def download(self, version: int, *, anew: bool = False) -> Path:
        """Give the folder of a version's files; nothing is asked of Kaggle where they are there, unless ``anew``."""
        import kagglehub
        from kagglehub.cache import get_cached_archive_path
        from kagglehub.exceptions import DataCorruptionError

        self.asked = str(self._parsed(version))
        self._archive = Path(get_cached_archive_path(self._parsed(version)))
        broken: Exception | None = None
        with self._shown():
            for _ in range(2):
                retrying = self._retrying(_stop_in_vain(self._size))
                try:
                    return Path(retrying(kagglehub.dataset_download, self.asked, force_download=anew))
                except (*_BROKEN, DataCorruptionError) as error:
                    logger.warning("%s: broken archive: %s", self._archive, error)
                    self._archive.unlink(missing_ok=True)
                    broken = error
        raise KaggleError(f"Kaggle sent a broken archive of {self.asked}, twice: {broken}.") from broken

    def _parsed(self, version: int) -> Any:
        from kagglehub.handle import parse_dataset_handle

        return parse_dataset_handle(f"{self.handle}/versions/{version}")

    def _retrying(self, stop: Callable[[RetryCallState], bool]) -> Retrying:
        def announce(state: RetryCallState) -> None:
            error, attempt, wait = state.outcome.exception(), state.attempt_number + 1, state.upcoming_sleep
            logger.warning("%s: %s; attempt %d in %.0f s", self.asked, error, attempt, wait)

        retry = retry_if_exception(_may_pass)
        return Retrying(retry=retry, stop=stop, wait=self._wait, before_sleep=announce, reraise=True)

    @contextmanager
    def careful_requests(self) -> Iterator[None]:
        """Have every request time out, and look at each answer that brings the archive."""
        send = HTTPAdapter.send

        def send_carefully(adapter: HTTPAdapter, request: Any, **options: Any) -> requests.Response:
            options["timeout"] = options.get("timeout") or self._seconds
            response = send(adapter, request, **options)
            if options.get("stream") and not response.is_redirect:
                self._close_answer()
                self._answer = response
                self._look_at(response, whole="Range" not in request.headers)
            return response

        HTTPAdapter.send = send_carefully
        try:
            yield
        finally:
            HTTPAdapter.send = send
            self._close_answer()

    def _close_answer(self) -> None:
        if self._answer is not None:
            self._answer.close()

    def _look_at(self, response: requests.Response, *, whole: bool) -> None:
        status = response.status_code
        if not whole and status != requests.codes.partial_content:
            if status in {requests.codes.ok, requests.codes.range_not_satisfiable}:
                self._archive.unlink()
            raise PartRefusedError(f"HTTP {status} instead of the rest of the archive", response=response)
        if whole and status == requests.codes.ok and "Content-Length" in response.headers:
            self._total = int(response.headers["Content-Length"])
            # Files that hardly shrink in an archive, such as photographs, need as much again when unpacked.
            needed = 2 * self._total - self._size()
            require_space(self._archive.parent, needed, purpose=f"{self.asked}: the archive, unpacked too,")

    def _size(self) -> int:
        return self._archive.stat().st_size if self._archive.is_file() else 0

    @contextmanager
    def _shown(self) -> Iterator[None]:
        """Show how the archive grows, from a thread: kagglehub has its own way, which ends in the log."""
        over = threading.Event()

        def watch() -> None:
            with byte_progress(self.title) as show:
                while not over.wait(_SECONDS_BETWEEN_LOOKS):
                    if self._total is not None and self._archive.is_file():
                        show(self._size(), self._total)

        # The copied context knows the terminal.
        thread = threading.Thread(target=copy_context().run, args=(watch,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@contextmanager
def _environment(cache: Path) -> Iterator[None]:
    """Have kagglehub write into the cache and nowhere else, on the machines of Kaggle and Colab too."""
    changes = {
        "KAGGLEHUB_CACHE": str(cache.absolute()),
        "KAGGLE_LOGGING_ENABLED": "false",
        "DISABLE_KAGGLE_CACHE": "true",
        "DISABLE_COLAB_CACHE": "true",
        "TQDM_DISABLE": "1",
    }
    before = {key: os.environ.get(key) for key in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


def _reason(handle: str, error: requests.RequestException) -> str:
    status = _status(error)
    if status in {401, 403}:
        from kagglehub.config import get_kaggle_credentials

        login = (
            " to the login of this machine, which may have expired; it needs none" if get_kaggle_credentials() else ""
        )
        return f"Kaggle refuses {handle}{login} (HTTP {status})."
    if status == 404:
        return f"Kaggle has no {handle}, or no longer (HTTP 404)."
    return f"{handle} did not come from Kaggle: {error}. What has come is kept: run again to go on."


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, PartRefusedError) or not isinstance(error, requests.HTTPError):
        return isinstance(error, requests.RequestException)
    status = _status(error)
    return status is None or status in _BUSY or status >= 500


def _status(error: requests.RequestException) -> int | None:
    return None if error.response is None else error.response.status_code


def _stop_in_vain(size: Callable[[], int]) -> Callable[[RetryCallState], bool]:
    """Stop after some attempts in a row that brought nothing."""
    sizes = [size()]

    def stop(_: RetryCallState) -> bool:
        sizes.append(size())
        recent = sizes[-_VAIN_ATTEMPTS - 1 :]
        return len(recent) > _VAIN_ATTEMPTS and max(recent) <= recent[0]

    return stop
