"""Servers on this machine that answer as Kaggle and the Hugging Face hub do, and fail as told."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import threading
import zipfile
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Fault:
    """How one answer that would bring a file goes wrong.

    ``status``: this status and an error page instead of the file. ``after``: so many bytes, then the connection closes,
    or falls silent with ``silent``. ``content``: these bytes instead of the file's. ``length``: so many bytes promised.
    ``ignores_range``: the whole file whatever was asked for.
    """

    status: int | None = None
    after: int | None = None
    silent: bool = False
    content: bytes | None = None
    length: int | None = None
    ignores_range: bool = False


@dataclass
class Server:
    """What a server has, what it shall do wrong in its next answers, and what it was asked."""

    faults: deque[Fault] = field(default_factory=deque)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    port: int = 0
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, request: Request) -> None:
        raise NotImplementedError

    def ranges(self) -> list[str | None]:
        """The range of each request for a file's bytes."""
        return [headers.get("range") for method, path, headers in self.asked if method == "GET" and self.is_file(path)]

    def is_file(self, path: str) -> bool:
        raise NotImplementedError


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Serve on a free port until the block ends."""
    handler = type("Handler", (Request,), {"site": server})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        http.daemon_threads = True
        http.block_on_close = False
        server.port = http.server_address[1]
        thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            http.shutdown()
            thread.join()


def proxy_variables(url: str) -> dict[str, str]:
    """Environment that sends every request of a client through a proxy."""
    names = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    return {**dict.fromkeys(names, url), "no_proxy": "", "NO_PROXY": ""}


class Request(BaseHTTPRequestHandler):
    site: Server

    def answer(self) -> None:
        # A client that uses this server as its proxy sends whole URLs.
        self.place = urlsplit(self.path).path
        length = int(self.headers.get("Content-Length", 0))
        self.body = self.rfile.read(length)
        self.site.asked.append((self.command, self.place, {key.lower(): value for key, value in self.headers.items()}))
        self.site.answer(self)

    do_GET = do_HEAD = do_POST = do_CONNECT = answer  # noqa: N815 - names that the base class looks for

    def log_message(self, *arguments: Any) -> None:
        pass

    def send(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_json(self, value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.send(status, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})})

    def send_file(self, content: bytes, headers: Mapping[str, str]) -> None:
        """Send a file or the part that was asked for, or fail as the next fault says."""
        fault = self.site.faults.popleft() if self.site.faults else Fault()
        if fault.status is not None:
            self.send(fault.status, b"<Error>something went wrong</Error>", {"Content-Type": "application/xml"})
            return
        content = content if fault.content is None else fault.content
        start = 0
        asked = self.headers.get("Range")
        if asked and not fault.ignores_range:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                self.send(416, b"<Error>InvalidRange</Error>", {"Content-Range": f"bytes */{len(content)}"})
                return
        rest = content[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        length = fault.length or len(rest)
        for key, value in {"Content-Length": str(length), "Accept-Ranges": "bytes", **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(rest if fault.after is None else rest[: fault.after])
        if fault.silent:
            self.wfile.flush()
            self.site.closing.wait(60)


# --- Kaggle ---------------------------------------------------------------------------------------------------------


@dataclass
class Kaggle(Server):
    """Kaggle's API for one public data set, and the storage that it sends clients on to.

    Clients reach it as their HTTP proxy, with KAGGLE_API_ENVIRONMENT=LOCALHOST: kagglehub knows no other address.
    ``versions`` holds the archive of each version, ``answers`` the status codes of the next answers of the API (200 for
    a good one), ``has_md5`` whether the storage names the archive's MD5.
    """

    handle: str = "owner/data"
    versions: dict[int, bytes] = field(default_factory=dict)
    answers: deque[int] = field(default_factory=deque)
    has_md5: bool = True

    def is_file(self, path: str) -> bool:
        return path.startswith("/storage/")

    def variables(self) -> dict[str, str]:
        """Environment that leads a client here."""
        return {"KAGGLE_API_ENVIRONMENT": "LOCALHOST", **proxy_variables(self.url)}

    def answer(self, request: Request) -> None:
        if self.is_file(request.place):
            content = self.versions[int(Path(request.place).stem)]
            md5 = base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()
            request.send_file(content, {"x-goog-hash": f"crc32c=AAAAAA==,md5={md5}"} if self.has_md5 else {})
            return
        status = self.answers.popleft() if self.answers else 200
        asked = json.loads(request.body)
        version = asked.get("datasetVersionNumber", max(self.versions))
        if f"{asked.get('ownerSlug')}/{asked.get('datasetSlug')}" != self.handle or version not in self.versions:
            status = 404
        if status != 200:
            request.send_json({"code": status, "message": f"Kaggle says {status}"}, status=status)
        elif request.place == "/api/v1/datasets.DatasetApiService/GetDataset":
            request.send_json({"id": 1, "ref": self.handle, "currentVersionNumber": version})
        elif request.place == "/api/v1/datasets.DatasetApiService/DownloadDataset":
            request.send(302, headers={"Location": f"http://storage.test/storage/{version}.zip?signature=x"})
        else:
            request.send_json({"code": 400, "message": request.place}, status=400)


def make_archive(files: Mapping[str, bytes]) -> bytes:
    """Pack files into an archive, stored without compression."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, content in files.items():
            file.writestr(name, content)
    return archive.getvalue()


# --- The Hugging Face hub -------------------------------------------------------------------------------------------


@dataclass
class Hub(Server):
    """The hub's addresses for files: resolve/, which names commit and hash, and the storage where clients are sent.

    ``files`` holds each file's bytes by ``{repository}/{name}``. A repository without any is none, for which the hub
    says 401; ``private`` repositories are answered so too. ``answers`` are the status codes of the next answers of
    resolve/ (200 for a good one), ``has_sha256`` says whether it names the file's SHA-256, ``size`` is what it says of
    every file's size where that is wrong.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    commit: str = "0123456789abcdef0123456789abcdef01234567"
    private: set[str] = field(default_factory=set)
    answers: deque[int] = field(default_factory=deque)
    has_sha256: bool = True
    size: int | None = None

    def is_file(self, path: str) -> bool:
        return path.startswith("/storage/")

    def answer(self, request: Request) -> None:
        if self.is_file(request.place):
            request.send_file(self.files[request.place.removeprefix("/storage/")], {})
            return
        status = self.answers.popleft() if self.answers else 200
        repository, _, place = request.place.removeprefix("/").partition("/resolve/")
        revision, _, name = place.partition("/")
        known = any(key.startswith(f"{repository}/") for key in self.files) and repository not in self.private
        if status != 200:
            request.send(status, b"trouble")
        elif not known:
            request.send_json(
                {"error": "Repository not found"},
                status=401,
                headers={"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"},
            )
        elif revision not in {"main", self.commit} or f"{repository}/{name}" not in self.files:
            headers = {"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"}
            request.send(404, headers={**headers, "X-Repo-Commit": self.commit})
        else:
            content = self.files[f"{repository}/{name}"]
            digest = hashlib.sha256(content).hexdigest()
            request.send(
                302,
                headers={
                    "Location": f"http://localhost:{self.port}/storage/{repository}/{name}",
                    "X-Repo-Commit": self.commit,
                    "X-Linked-Etag": f'"{digest if self.has_sha256 else digest[:40]}"',
                    "X-Linked-Size": str(self.size or len(content)),
                },
            )
