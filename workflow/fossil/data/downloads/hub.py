"""Files from the Hugging Face hub, gone on with where they were cut, and compared with the hash that the hub gives.

huggingface_hub starts anew in a later process, and compares what came with the file's size alone. Here it says where a
file is and what its hash must be, and opens the connections; the rest is done here. Its variables hold, such as
HF_ENDPOINT, HF_HUB_OFFLINE, HF_TOKEN and HF_HUB_DOWNLOAD_TIMEOUT.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from fossil.data.downloads.disk import full_disk_explained, require_space
from fossil.runtime.files import read_json, sha256, write_json
from fossil.runtime.logs import byte_progress, logger

_QUESTIONS = 4
_ATTEMPTS = 8
_LONGEST_WAIT = 30.0
_BUSY = frozenset({408, 425, 429})
_SHA256 = re.compile(r"[0-9a-f]{64}")


class HubError(RuntimeError):
    """The hub does not give a file; the message says what to do."""


class NoFileError(HubError):
    """The hub has the repository, but no such file in it."""


@dataclass(frozen=True)
class HubFile:
    """A file from the hub.

    Attributes
    ----------
    path : Path
        Where it lies.
    revision : str
        The repository's commit.
    sha256 : str
        Hash of its bytes.
    verified : bool
        Whether the hub gave this hash.
    """

    path: Path
    revision: str
    sha256: str
    verified: bool


def fetch_hub_file(
    repository: str, name: str, *, cache: Path, endpoint: str | None = None, pause: float = 1.0
) -> HubFile:
    """Bring a file into a folder: the newest version at first, and later the same one, without asking.

    A version that the cache of huggingface_hub holds (HF_HUB_CACHE) is not downloaded. Without a connection, what that
    cache holds is given.

    Parameters
    ----------
    repository, name : str
        ``owner/name`` on the hub, and the file's name in it.
    cache : Path
        Folder that outlives a failed or killed run, for a later one to go on.
    endpoint : str, optional
        The hub's address; without one, that of HF_ENDPOINT.
    pause : float
        Seconds before the second attempt, doubled before each further one.

    Raises
    ------
    NoFileError
        The repository has no such file.
    HubError
        No connection and no earlier download, a refusal, or bytes with another hash than the hub says. The message says
        what to do by hand.
    DiskFullError
        No room, before or while downloading.
    """
    import httpx2
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

    file = _File(repository, name, cache / repository.replace("/", "--"), endpoint, pause)
    try:
        return file.find_recorded() or file.fetch()
    except EntryNotFoundError as error:
        raise NoFileError(f"{repository} has no file {name}. {file.by_hand}") from error
    except HfHubHTTPError as error:
        raise HubError(f"{_refusal(repository, error)} {file.by_hand}") from error
    except (httpx2.TransportError, ConnectionError) as error:
        earlier = file.find_common()
        if earlier is None:
            message = (
                f"{name} of {repository} did not come from the hub: {error}. What has come is kept: run again to go on"
            )
            raise HubError(f"{message}. {file.by_hand}") from error
        logger.warning("%s: no connection to the hub: %s; taking %s", repository, error, earlier.path)
        return earlier


@dataclass(frozen=True)
class _Remote:
    """What the hub says of a file: its commit, its ETag and its size in bytes."""

    commit: str
    etag: str
    size: int | None

    @property
    def sha256(self) -> str | None:
        """The ETag of a large file is its SHA-256."""
        return self.etag if _SHA256.fullmatch(self.etag) else None


@dataclass(frozen=True)
class _File:
    repository: str
    name: str
    folder: Path
    endpoint: str | None
    pause: float

    @property
    def by_hand(self) -> str:
        page = f"https://huggingface.co/{self.repository}/blob/main/{self.name}"
        return f"By hand: download {page} in a browser and set images.weights: /path/to/{self.name}"

    @property
    def record(self) -> Path:
        return self.folder / f"{self.name}.json"

    def fetch(self) -> HubFile:
        remote = self._ask()
        path = self.folder / remote.etag / self.name
        for place in (path, self._in_common_cache(remote.commit)):
            if place is not None and place.exists():
                digest = sha256(place)
                if remote.sha256 in {None, digest}:
                    return HubFile(place, remote.commit, digest, remote.sha256 is not None)
                logger.warning("%s: sha256 %s, but %s on the hub; downloading it", place, digest, remote.sha256)
        digest = self._download(remote, path)
        file = HubFile(path, remote.commit, digest, remote.sha256 is not None)
        write_json(
            self.record, {"etag": remote.etag, "revision": file.revision, "sha256": digest, "verified": file.verified}
        )
        return file

    def find_recorded(self) -> HubFile | None:
        """Look for an earlier download whose bytes are still the same."""
        if not self.record.exists():
            return None
        known = read_json(self.record)
        path = self.folder / known.pop("etag") / self.name
        return HubFile(path, **known) if path.exists() and sha256(path) == known["sha256"] else None

    def find_common(self) -> HubFile | None:
        """Look in the common cache, without a connection."""
        place = self._in_common_cache("main")
        # There, a commit is the name of the folder that holds its files.
        return place and HubFile(place, place.parent.name, sha256(place), verified=False)

    def _ask(self) -> _Remote:
        from huggingface_hub import get_hf_file_metadata, hf_hub_url

        url = hf_hub_url(self.repository, self.name, endpoint=self.endpoint)
        found = self._retrying(_QUESTIONS)(get_hf_file_metadata, url, endpoint=self.endpoint)
        if not found.commit_hash or not found.etag:
            raise HubError(f"what answers at {url} is not the hub: it names no commit or no hash. {self.by_hand}")
        return _Remote(found.commit_hash, found.etag, found.size)

    def _in_common_cache(self, revision: str) -> Path | None:
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(self.repository, self.name, revision=revision)
        return Path(found) if isinstance(found, str) else None

    def _download(self, remote: _Remote, path: Path) -> str:
        """Bring the file to its end, and once anew where its bytes are wrong; gives its hash."""
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{self.name}.partial")
        advice = f"what has come is kept in {partial}. Make room, then run again: the download goes on"
        with full_disk_explained(lambda: advice), byte_progress(f"{self.repository}, {self.name}") as show:
            for _ in range(2):
                self._retrying(_ATTEMPTS)(self._receive, remote, partial, show)
                digest, size = sha256(partial), partial.stat().st_size
                if remote.sha256 in {None, digest} and remote.size in {None, size}:
                    partial.replace(path)
                    return digest
                logger.warning("%s: %d bytes with sha256 %s, but the hub says %s", partial, size, digest, remote)
                partial.unlink()
        raise HubError(
            f"{self.name} of {self.repository}: twice, what came has {size} bytes and sha256 {digest}, where the hub "
            f"says {remote.size} and {remote.sha256}. {self.by_hand}"
        )

    def _receive(self, remote: _Remote, partial: Path, show: Callable[[int, int | None], None]) -> None:
        """Add what one connection brings."""
        from huggingface_hub import constants, get_session, hf_hub_url
        from huggingface_hub.utils import build_hf_headers, hf_raise_for_status

        have = partial.stat().st_size if partial.exists() else 0
        if remote.size is not None:
            if have >= remote.size:
                return
            require_space(partial.parent, remote.size - have, purpose=f"{self.name} of {self.repository}")
        headers = {**build_hf_headers(), "Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
        url = hf_hub_url(self.repository, self.name, revision=remote.commit, endpoint=self.endpoint)
        with get_session().stream("GET", url, headers=headers, timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT) as response:
            hf_raise_for_status(response)
            with partial.open("ab" if response.status_code == 206 else "wb") as file:
                show(file.tell(), remote.size)
                for block in response.iter_bytes():
                    file.write(block)
                    show(file.tell(), remote.size)

    def _retrying(self, attempts: int) -> Retrying:
        def announce(state: RetryCallState) -> None:
            error, attempt, wait = state.outcome.exception(), state.attempt_number + 1, state.upcoming_sleep
            logger.warning("%s: %s; attempt %d in %.0f s", self.repository, error, attempt, wait)

        return Retrying(
            retry=retry_if_exception(_may_pass),
            stop=stop_after_attempt(attempts),
            wait=wait_exponential(multiplier=self.pause, max=_LONGEST_WAIT),
            before_sleep=announce,
            reraise=True,
        )


def _may_pass(error: BaseException) -> bool:
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    if isinstance(error, HfHubHTTPError):
        status = error.response.status_code
        return status in _BUSY or status >= 500
    return isinstance(error, httpx2.TransportError)


def _refusal(repository: str, error: Any) -> str:
    status = error.response.status_code
    if status in {401, 403, 404}:
        return (
            f"The hub has no {repository}, or does not let you read it (HTTP {status}). Where its page asks for "
            "consent, give it there and put a token of yours into HF_TOKEN."
        )
    return f"The hub does not give {repository}: {error}. What has come is kept: run again to go on."
