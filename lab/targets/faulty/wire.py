"""HTTP on raw sockets, one thread per connection, so that a reply can go wrong at any byte. Only the standard library; no
faults."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from itertools import count
from typing import NamedTuple

HEAD_MOST_BYTES = 65_536


class Request(NamedTuple):
    connection: socket.socket
    method: str
    path: str
    number: int
    """Number among all requests that a fault may affect, from 1."""
    nth: int
    """Number on its connection, from 1."""
    connection_number: int
    """From 1."""
    idle_s: float
    """Seconds for which its connection had been idle."""
    last: bool
    """The client asked for the connection to be closed after it."""


Answer = Callable[[Request], bool]
"""Answers a request; False when the connection is to be closed."""

Metrics = Callable[[], dict[str, float]]

_requests, _connections = count(1), count(1)


def listen(port: int, backlog: int) -> socket.socket:
    return socket.create_server(("127.0.0.1", port), backlog=backlog)


def accept_for_ever(listener: socket.socket, answer: Answer, metrics: Metrics = dict) -> None:
    """Serves each connection in a thread of its own. Without free descriptors it tries again, as most servers do."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            time.sleep(0.1)
            continue
        try:
            threading.Thread(target=serve_connection, args=(connection, answer, metrics), daemon=True).start()
        except RuntimeError as error:
            print(error, file=sys.stderr, flush=True)
            connection.close()


def serve_connection(connection: socket.socket, answer: Answer, metrics: Metrics = dict) -> None:
    """All requests of one connection, one after another; it is closed at the end. /health and /metrics never fail."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    number, nth, since_s = next(_connections), 0, time.monotonic()
    with connection, suppress(OSError):
        while head := _head(connection):
            method, path = head.split(" ", 2)[:2]
            last = "\r\nconnection: close" in head.lower()
            nth += 1
            is_health_check = path.startswith(("/health", "/metrics"))
            idle_s = time.monotonic() - since_s
            request = Request(connection, method, path, 0 if is_health_check else next(_requests), nth, number, idle_s, last)
            keep = reply(request, json.dumps(metrics())) if is_health_check else answer(request)
            if not keep:
                return
            since_s = time.monotonic()


def reply(request: Request, body: str = "ok", status: int = 200, headers: str = "", close: bool = False) -> bool:
    """A whole reply. False when the connection is to be closed."""
    closing = close or request.last
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        f"Content-Length: {len(body)}",
        headers,
        "Connection: close" if closing else "",
    ]
    request.connection.sendall(("\r\n".join(filter(None, lines)) + "\r\n\r\n" + body).encode())
    return not closing


def _head(connection: socket.socket) -> str:
    """Request line and headers, the body read and dropped; empty at the end of the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = connection.recv(HEAD_MOST_BYTES)
        if not chunk or len(data) > HEAD_MOST_BYTES:
            return ""
        data += chunk
        if not data[:1].isalpha():
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return ""
    head, _, body = data.partition(b"\r\n\r\n")
    text = head.decode("latin-1")
    lengths = [line for line in text.lower().split("\r\n") if line.startswith("content-length:")]
    missing = int(lengths[0].partition(":")[2]) - len(body) if lengths else 0
    while missing > 0 and (chunk := connection.recv(missing)):
        missing -= len(chunk)
    return text
