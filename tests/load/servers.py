"""A small HTTP server that misbehaves as the path of a request says. It runs in native threads of the test's process."""

from __future__ import annotations

import contextlib
import functools
import json
import socket
import ssl
import struct
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

import brotli
from kit.servers import conversations

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
TIMEOUT_S = 30.0

_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
BROKEN_OFF = {
    "/half": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
    "/half-chunk": _CHUNKED + b"64\r\nonly this",
    "/half-chunks": _CHUNKED + b"5\r\nfirst\r\n",
    "/half-headers": b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n",
    "/half-header": b"HTTP/1.1 200 OK\r\nContent-Le",
    "/garbage": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "/garbage-gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 8\r\n\r\nno gzip!",
    "/garbage-chunk": _CHUNKED + b"not a length\r\nfirst\r\n0\r\n\r\n",
    "/closed-later": OK,
}
"""By path: what is sent before the connection is closed. Only `/closed-later` is a whole reply."""

CUT_OFF = ("/reset", "/silence", "/hang", "/endless")
"""Paths whose connection is closed without a whole reply."""

BOMB_BYTES = 300_000_000


@functools.cache
def _bomb(encoding: str) -> bytes:
    """300 MB of zeros, in some 300 KB of gzip or less."""
    if encoding == "br":
        packed: bytes = brotli.compress(bytes(BOMB_BYTES), quality=1)
        return packed
    pack = zlib.compressobj(1, wbits=31 if encoding == "gzip" else 15)
    return b"".join(pack.compress(bytes(1_000_000)) for _ in range(BOMB_BYTES // 1_000_000)) + pack.flush()


class Server:
    """Answers on loopback until closed; counts connections and requests."""

    def __init__(self, url: str, tls: ssl.SSLContext | None) -> None:
        self.url, self.tls = url, tls
        self.connections = 0
        self.requests: Counter[str] = Counter()
        """By path."""
        self._ended = threading.Event()
        self._open: set[socket.socket] = set()

    def close(self) -> None:
        self._ended.set()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def converse(self, accepted: socket.socket) -> None:
        self.connections += 1
        self._open.add(accepted)
        secured = self.tls and functools.partial(self.tls.wrap_socket, accepted, server_side=True)
        with contextlib.suppress(OSError), secured() if secured else contextlib.nullcontext(accepted) as connection:
            head = b""
            while chunk := connection.recv(65536):
                head += chunk
                if head.startswith(b"\x16\x03"):  # TLS to a plain port: servers reply 400 in plain text
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                    break
                if b"\r\n\r\n" in head and not self._answer(connection, head.decode("latin-1")):
                    break
                head = b""
        self._open.discard(accepted)

    def _answer(self, connection: socket.socket, head: str) -> bool:
        """Whether the connection stays open."""
        target = urlsplit(head.split(" ", 2)[1])
        path = target.path
        self.requests[path] += 1
        if path == "/every-other-reset" and self.requests[path] % 2 == 0:
            path = "/reset"
        if path in CUT_OFF:
            self._cut_off(connection, path)
            return False
        if path == "/huge-head":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Huge: " + b"a" * 10_000_000 + b"\r\n\r\nok")
        if path in BROKEN_OFF:
            connection.sendall(BROKEN_OFF[path])
            return False
        if path == "/connections":
            counts = (f"X-Connections: {self.connections}", f"X-Requests: {json.dumps(self.requests)}", "Connection: close")
            connection.sendall(_reply_head(200, *counts))
            return False
        if path == "/exhausted":
            _send_a_body_late(connection)
            return True
        if (reply := _reply_to(target)) is not None:
            connection.sendall(reply)
            return True
        closing = "connection: close" in head.lower()
        connection.sendall(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") if closing else OK)
        return not closing

    def _cut_off(self, connection: socket.socket, path: str) -> None:
        """What happens to a connection before it is closed without a whole reply."""
        match path:
            case "/reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            case "/hang":
                self._ended.wait(TIMEOUT_S)
            case "/endless":
                connection.sendall(_CHUNKED)
                while not self._ended.is_set():
                    connection.sendall(b"10000\r\n" + bytes(65_536) + b"\r\n")


def _reply_head(status: int, *headers: str, body_bytes: int = 0) -> bytes:
    lines = (f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *headers, f"Content-Length: {body_bytes}", "", "")
    return "\r\n".join(lines).encode()


def _reply_to(target: SplitResult) -> bytes | None:
    """The reply of a path other than an ordinary one, after which the connection stays open."""
    match target.path:
        case "/redirect":
            return _reply_head(302, f"Location: {unquote(parse_qs(target.query)['to'][0])}")
        case "/bomb":
            encoding = target.query or "gzip"
            body = _bomb(encoding)
            return _reply_head(200, f"Content-Encoding: {encoding}", body_bytes=len(body)) + body
        case "/sticky":  # stays open even if the request asks to close it
            return OK
        case path if path.strip("/").isdigit():
            return _reply_head(int(path.strip("/")), body_bytes=2) + b"no"
    return None


def _send_a_body_late(connection: socket.socket) -> None:
    body = b'{"error": "upstream pool exhausted", "session_token": "abc.def"}'
    connection.sendall(_reply_head(503, "Set-Cookie: sid=s3cret", body_bytes=len(body)))
    time.sleep(0.05)
    connection.sendall(body)


@contextlib.contextmanager
def server(tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """A server until the end of the `with` block."""
    with conversations(lambda connection: running.converse(connection)) as port:
        running = Server(f"http{'s' if tls else ''}://127.0.0.1:{port}", tls)
        try:
            yield running
        finally:
            running.close()


def established(url: str) -> int:
    """Connections of IPv4 to the server of this URL that its side of the kernel has as established."""
    port, found = urlsplit(url).port, Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]
    return sum(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "01" for line in found)


def closed_port() -> int:
    """A port of loopback on which no process listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def full_backlog() -> Iterator[str]:
    """The URL of a listener that accepts nothing and whose queue is full: the kernel drops further connections."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, contextlib.ExitStack() as waiting:
        for _ in range(4):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def self_signed() -> ssl.SSLContext:
    """TLS with a self-signed certificate, valid for a hundred years."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).with_name("self-signed.pem"))
    return context
