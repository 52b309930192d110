"""A service of known capacity: k workers each sleep for s per request, so it serves at most k/s requests per second.

Workers are threads that take requests in the order of arrival; one more thread accepts any number of connections and reads them.
Standard library only. It uses almost no CPU: only the sleeping limits it.
"""

from __future__ import annotations

import argparse
import json
import selectors
import socket
import threading
import time
from contextlib import suppress
from queue import SimpleQueue
from typing import NamedTuple

HEAD_MOST_BYTES = 65_536


class Request(NamedTuple):
    """One GET, waiting for its reply."""

    connection: socket.socket
    last: bool
    """Whether the client wants the connection to be closed after it."""


Waiting = SimpleQueue[Request]


def main() -> None:
    options = _options()
    waiting: Waiting = SimpleQueue()
    for _ in range(options.workers):
        threading.Thread(target=work, args=(waiting, options.sleep_ms / 1000), daemon=True).start()
    serve(options.port, waiting)


def work(waiting: Waiting, sleep_s: float) -> None:
    """One worker: takes the oldest request, sleeps, replies, and so on. It also sleeps for clients that have closed their
    connection."""
    while True:
        request = waiting.get()
        time.sleep(sleep_s)
        _reply(request, {"slept_ms": sleep_s * 1000})


def serve(port: int, waiting: Waiting) -> None:
    """Accept and read on 127.0.0.1:port until a signal ends the process."""
    listener = socket.create_server(("127.0.0.1", port), backlog=1024)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    heads: dict[socket.socket, bytes] = {}
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(connection, selectors.EVENT_READ)
                heads[connection] = b""
            elif not _read(key.fileobj, heads, waiting):
                selector.unregister(key.fileobj)
                heads.pop(key.fileobj)
                key.fileobj.close()


def _read(connection: socket.socket, heads: dict[socket.socket, bytes], waiting: Waiting) -> bool:
    """Read from a connection; a complete request is queued or answered. False if the client has closed it, or its headers are too
    long."""
    try:
        data = connection.recv(HEAD_MOST_BYTES)
    except OSError:
        return False
    heads[connection] += data
    while b"\r\n\r\n" in heads[connection]:  # several requests at once are pipelined
        head, _, heads[connection] = heads[connection].partition(b"\r\n\r\n")
        _answer(connection, head + b"\r\n", waiting)
    return bool(data) and len(heads[connection]) <= HEAD_MOST_BYTES


def _answer(connection: socket.socket, head: bytes, waiting: Waiting) -> None:
    request = Request(connection, b" HTTP/1.0\r\n" in head or b"\r\nconnection: close\r\n" in head.lower())
    if head.startswith(b"GET /work "):
        waiting.put(request)
    elif head.startswith((b"GET /health ", b"GET /metrics ")):
        _reply(request, {"waiting": waiting.qsize()})
    else:
        _reply(request, {"endpoints": ["/work", "/health", "/metrics"]}, "404 Not Found")


def _reply(request: Request, body: dict[str, object], status: str = "200 OK") -> None:
    text = json.dumps(body)
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
    with suppress(OSError):  # the client has closed the connection
        request.connection.sendall((head + text).encode())
        if request.last:
            request.connection.shutdown(socket.SHUT_WR)  # `serve` closes it when the client has closed its side


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--sleep-ms", type=float, default=100.0, help="how long a worker sleeps for each request")
    return parser.parse_args()


if __name__ == "__main__":
    main()
