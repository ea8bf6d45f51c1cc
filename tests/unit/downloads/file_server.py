"""A real HTTP server on this machine that answers each request for a path as its script says, and keeps a log."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType


@dataclass(frozen=True)
class Answer:
    """How one request is answered.

    Attributes
    ----------
    content : bytes
        The whole file.
    status : int
        Any other than 200 sends the content as it is.
    etag : str, optional
        Sent as it is, with parts of the file only where ``etag_with_parts``; If-Range is honoured.
    headers : mapping
        Further headers; If-Range is honoured for Last-Modified too.
    ranges : bool
        Honour Range.
    cut_after : int, optional
        End the connection after so many bytes of the body.
    reset : bool
        End it so that the other side gets an error, not an end.
    length : int, optional
        Content-Length to claim instead of the true one.
    chunked, until_close : bool
        Send chunks without a Content-Length; send neither, the end of the connection being the end of the body.
    drip : float, optional
        Send ten bytes, wait so many seconds, and so on, from byte ``drip_from`` of the body.
    hold_after : int, optional
        Send so many bytes, then nothing more until the test sets ``release``.
    content_range : str, optional
        Content-Range to claim instead of the true one.
    """

    content: bytes = b""
    status: int = 200
    etag: str | None = None
    etag_with_parts: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    ranges: bool = True
    cut_after: int | None = None
    reset: bool = False
    length: int | None = None
    chunked: bool = False
    until_close: bool = False
    drip: float | None = None
    drip_from: int = 0
    hold_after: int | None = None
    content_range: str | None = None


@dataclass
class Asked:
    """A request, the status it got and the bytes of the body that were sent."""

    path: str
    headers: dict[str, str]
    status: int = 0
    sent: int = 0

    @property
    def range(self) -> str | None:
        return self.headers.get("range")


class FileServer:
    """Serves scripts by path; the last answer of a script repeats. A path without a script is 404."""

    def __init__(self, scripts: Mapping[str, Sequence[Answer] | Answer]) -> None:
        self.scripts = {path: [s] if isinstance(s, Answer) else list(s) for path, s in scripts.items()}
        self.log: list[Asked] = []
        self.closing = threading.Event()
        self.release = threading.Event()
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True
        self.server.block_on_close = False

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def url(self, path: str) -> str:
        return f"{self.address}{path}"

    def asked(self, path: str) -> list[Asked]:
        return [asked for asked in self.log if asked.path == path]

    def __enter__(self) -> FileServer:
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self.release.set()
        self.server.shutdown()
        self.server.server_close()


def _handler(files: FileServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = Asked(self.path, {key.lower(): value for key, value in self.headers.items()})
            with files.lock:
                script = files.scripts.get(self.path, [Answer(b"not here", status=404)])
                answer = script.pop(0) if len(script) > 1 else script[0]
                files.log.append(asked)
            self.close_connection = True
            with suppress(BrokenPipeError, ConnectionResetError):
                _answer(self, answer, asked, files)

        def log_request(self, *arguments: object) -> None:
            pass

    return Handler


def _answer(handler: BaseHTTPRequestHandler, answer: Answer, asked: Asked, files: FileServer) -> None:
    asked.status, start = _range(answer, asked)
    body = b"" if asked.status == 416 else answer.content[start:]
    handler.send_response(asked.status)
    if answer.etag and (asked.status != 206 or answer.etag_with_parts):
        handler.send_header("ETag", answer.etag)
    if asked.status == 206:
        whole = len(answer.content)
        handler.send_header("Content-Range", answer.content_range or f"bytes {start}-{whole - 1}/{whole}")
    if answer.chunked:
        handler.send_header("Transfer-Encoding", "chunked")
    elif not answer.until_close:
        handler.send_header("Content-Length", str(len(body) if answer.length is None else answer.length))
    for key, value in answer.headers.items():
        handler.send_header(key, value)
    handler.send_header("Connection", "close")
    handler.end_headers()
    _send(handler, answer, body, asked, files)
    if answer.reset:
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.connection.close()


def _range(answer: Answer, asked: Asked) -> tuple[int, int]:
    wanted = asked.range
    same = asked.headers.get("if-range") in {None, answer.etag, answer.headers.get("Last-Modified")}
    if answer.status != 200 or not answer.ranges or wanted is None or not same:
        return answer.status, 0
    start = int(wanted.removeprefix("bytes=").removesuffix("-"))
    return (206, start) if start < len(answer.content) else (416, 0)


def _send(handler: BaseHTTPRequestHandler, answer: Answer, body: bytes, asked: Asked, files: FileServer) -> None:
    block = 1000 if answer.chunked else 1 << 16
    stop = len(body) if answer.cut_after is None else answer.cut_after
    while asked.sent < stop:
        if asked.sent == answer.hold_after:
            files.release.wait()
            if files.closing.is_set():
                return
        dripping = answer.drip is not None and asked.sent >= answer.drip_from
        places = [answer.hold_after, answer.drip_from, asked.sent + (10 if dripping else block), stop]
        until = min(place for place in places if place is not None and place > asked.sent)
        piece = body[asked.sent : until]
        handler.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if answer.chunked else piece)
        asked.sent += len(piece)
        if dripping and files.closing.wait(answer.drip):
            return
    if answer.chunked and answer.cut_after is None:
        handler.wfile.write(b"0\r\n\r\n")
