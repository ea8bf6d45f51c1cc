"""A real HTTP server on this machine that answers each request for a path as its script says, and keeps a log."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Answer:
    """How one request is answered.

    ``status``: any other than 200 sends the content as it is. ``ranges``: whether Range is honoured. ``cut_after``:
    end the connection after so many bytes of the body, with an error for the other side where ``reset``.
    ``hold_after``: send so many bytes, then wait for the test's end. ``length`` and ``content_range``: headers to claim
    instead of the true ones. ``chunked``: no Content-Length.
    """

    content: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    ranges: bool = True
    cut_after: int | None = None
    reset: bool = False
    hold_after: int | None = None
    length: int | None = None
    content_range: str | None = None
    chunked: bool = False


@dataclass
class Asked:
    """A request, the status of its answer and the bytes of the body that were sent."""

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
        self.scripts: dict[str, list[Answer]] = {}
        self.log: list[Asked] = []
        self.closing = threading.Event()
        self.lock = threading.Lock()
        self.serve(scripts)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"files": self}))
        self.server.daemon_threads = True
        self.server.block_on_close = False

    def serve(self, scripts: Mapping[str, Sequence[Answer] | Answer]) -> None:
        """Add scripts, in the place of earlier ones of the same path."""
        self.scripts |= {path: [s] if isinstance(s, Answer) else list(s) for path, s in scripts.items()}

    def url(self, path: str = "") -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}{path}"

    def ranges(self, path: str | None = None) -> list[str | None]:
        return [asked.range for asked in self.log if path in {None, asked.path}]

    def __enter__(self) -> FileServer:
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    files: FileServer

    def do_GET(self) -> None:
        asked = Asked(self.path, {key.lower(): value for key, value in self.headers.items()})
        with self.files.lock:
            script = self.files.scripts.get(self.path, [Answer(b"not here", status=404)])
            answer = script.pop(0) if len(script) > 1 else script[0]
            self.files.log.append(asked)
        self.close_connection = True
        with suppress(BrokenPipeError, ConnectionResetError):
            self.answer(answer, asked)

    def log_request(self, *arguments: object) -> None:
        pass

    def answer(self, answer: Answer, asked: Asked) -> None:
        asked.status, start = _range(answer, asked)
        whole, body = len(answer.content), b"" if asked.status == 416 else answer.content[start:]
        headers = {**answer.headers, "Connection": "close"}
        if asked.status == 206:
            headers["Content-Range"] = answer.content_range or f"bytes {start}-{whole - 1}/{whole}"
        if answer.chunked:
            headers["Transfer-Encoding"] = "chunked"
        else:
            headers["Content-Length"] = str(len(body) if answer.length is None else answer.length)
        self.send_response(asked.status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        self.send_body(answer, body, asked)
        if answer.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def send_body(self, answer: Answer, body: bytes, asked: Asked) -> None:
        stop = len(body) if answer.cut_after is None else answer.cut_after
        while asked.sent < stop:
            if asked.sent == answer.hold_after:
                self.files.closing.wait()
                return
            places = [answer.hold_after, asked.sent + (1000 if answer.chunked else 1 << 16), stop]
            piece = body[asked.sent : min(place for place in places if place is not None and place > asked.sent)]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if answer.chunked else piece)
            asked.sent += len(piece)
        if answer.chunked and answer.cut_after is None:
            self.wfile.write(b"0\r\n\r\n")


def _range(answer: Answer, asked: Asked) -> tuple[int, int]:
    if answer.status != 200 or not answer.ranges or asked.range is None:
        return answer.status, 0
    start = int(asked.range.removeprefix("bytes=").split("-")[0])
    return (206, start) if start < len(answer.content) else (416, 0)
