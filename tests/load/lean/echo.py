"""A server that replies to each request with its method, path, headers and body as JSON. In threads of the test's process."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator

EXTRA = {
    "/set-cookie": b"Set-Cookie: seat=7; Path=/\r\nSet-Cookie: row=b; Path=/\r\n",
    "/moved": b"Location: /landed\r\n",
    "/round": b"Location: /round\r\n",
}
"""Headers by path."""

SLOW_S = 0.1
"""Time to reply to `/slow`."""


@contextlib.contextmanager
def echo() -> Iterator[str]:
    """The URL of such a server, until the end of the `with` block."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        threading.Thread(target=_accept, args=(listener,), daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_converse, args=(connection,), daemon=True).start()


def _converse(connection: socket.socket) -> None:
    with connection, contextlib.suppress(OSError):
        while (head := _head(connection)) and _answer(connection, head.decode("latin-1").split("\r\n")):
            pass


def _answer(connection: socket.socket, lines: list[str]) -> bool:
    """Whether the connection stays open."""
    method, path, _ = lines[0].split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}
    if path == "/refuse-early":
        connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        return False
    if path == "/trickle":
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while True:  # until the client closes the connection
            connection.sendall(b"x")
            time.sleep(0.05)
    if path == "/slow":
        time.sleep(SLOW_S)
    body = _body(connection, int(headers.get("content-length", 0)))
    request = {"method": method, "path": path, "headers": headers, "body": body[:100].decode("latin-1"), "bytes": len(body)}
    reply, extra = json.dumps(request).encode(), EXTRA.get(path, b"")
    status = b"302 Found" if b"Location" in extra else b"200 OK"
    head = b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n" % (status, extra, len(reply))
    connection.sendall(head if method == "HEAD" else head + reply)
    return True


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
