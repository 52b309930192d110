"""A server that replies to each request with its method, path, headers and body as JSON. In threads of the test's process."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import unquote

from kit.servers import conversations

EXTRA = {
    "/set-cookie": b"Set-Cookie: seat=7; Path=/\r\nSet-Cookie: row=b; Path=/\r\n",
    "/moved": b"Location: /landed\r\n",
    "/twice": b"Location: /moved\r\n",
    "/round": b"Location: /round\r\n",
}
"""Headers by path."""

SLOW_S = 0.1
"""Time to reply to `/slow`."""

LINES = [f"line {number}" for number in range(10)]
"""Of `/lines`, and of `/held`, which sends the last one once `/release` is requested."""

_OK = b"HTTP/1.1 200 OK\r\n"


class _Echo:
    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._released = threading.Event()

    def converse(self, connection: socket.socket) -> None:
        number = next(self._numbers)
        while (head := _head(connection)) and self._answer(connection, head.decode("latin-1").split("\r\n"), number):
            pass

    def _answer(self, connection: socket.socket, lines: list[str], number: int) -> bool:
        """Whether the connection stays open."""
        method, path, _ = lines[0].split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}
        if path == "/refuse-early":
            connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return False
        if path == "/trickle":
            connection.sendall(_OK + b"Content-Length: 100000\r\n\r\n")
            while True:  # until the client closes the connection
                connection.sendall(b"x")
                time.sleep(0.05)
        if path == "/slow":
            time.sleep(SLOW_S)
        body = _body(connection, int(headers.get("content-length", 0)))
        if path == "/release":
            self._released.set()
        if path in ("/lines", "/held"):
            self._send_lines(connection, held=path == "/held")
            return True
        request = {"method": method, "path": path, "headers": headers, "body": body[:400].decode("latin-1"), "bytes": len(body)}
        reply = _reply_to(path, method, headers, request | {"connection": number})
        connection.sendall(reply.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if method == "HEAD" else reply)
        return True

    def _send_lines(self, connection: socket.socket, *, held: bool) -> None:
        connection.sendall(_OK + b"Transfer-Encoding: chunked\r\n\r\n")
        for line in LINES:
            if held and line == LINES[-1]:
                self._released.wait(30)
                self._released.clear()
            connection.sendall(b"%x\r\n%b\n\r\n" % (len(line) + 1, line.encode()))
        connection.sendall(b"0\r\n\r\n")


def _reply_to(path: str, method: str, headers: dict[str, str], request: dict[str, object]) -> bytes:
    """The reply of most paths: the request as JSON, unless the path says otherwise."""
    status, extra, body = b"200 OK", EXTRA.get(path, b""), json.dumps(request).encode()
    if path == "/auth-needed" and headers.get("authorization") != "Basic bG9jdXN0Om1lbmFjZQ==":
        status = b"401 Unauthorized"
    elif path.startswith("/status/"):
        status, body = path.rpartition("/")[2].encode() + b" As Asked", b"" if path.endswith("204") else b"as asked"
    elif path.startswith("/typed/"):
        extra, body = b"Content-Type: %b\r\n" % unquote(path.removeprefix("/typed/")).encode(), b"stuff"
    elif path == "/field":
        body = unquote(str(request["body"]).partition("=")[2].replace("+", " ")).encode()
    elif path == "/method":
        body = method.encode()
    elif path == "/no-length":
        return _OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nparts\r\n0\r\n\r\n"
    if b"Location" in extra:
        status = b"302 Found"
    return b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n%b" % (status, extra, len(body), body)


@contextlib.contextmanager
def echo() -> Iterator[str]:
    """The URL of such a server, until the end of the `with` block."""
    with conversations(_Echo().converse) as port:
        yield f"http://127.0.0.1:{port}"


def _head(connection: socket.socket) -> bytes:
    read = b""
    while not read.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte:
            return b""
        read += byte
    return read


def _body(connection: socket.socket, length: int) -> bytes:
    read = bytearray()
    while len(read) < length:
        read += connection.recv(65_536)
    return bytes(read)
