"""HTTP for native threads of a process that gevent may have patched: one GET at a time, bounded in time and in bytes.

gevent replaces `socket` for the whole process. A native thread that used it would get an event loop of its own, and the load's
hooks would take its connection for a user's. httpcore accepts a network backend; this one has C-level sockets, which gevent never
patches. Not for load. Import it only where a request follows, since httpcore takes time to import.
"""

from __future__ import annotations

import _socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import NamedTuple
from urllib.parse import quote

import httpcore

_CLOSES_WITHIN_S = 0.05
"""Seconds for the server to close first: the side that closes first keeps the port in TIME_WAIT, which should not be the
generator.
"""

_CHUNK_BYTES = 65536
_OF_URLS = "%/:=&?~#+!$,;'@()*[]"
"""Characters of a URL that are sent as they are."""


class Answer(NamedTuple):
    """A response whose body is read later."""

    status: int
    headers: Mapping[str, str]
    """By lower-case names."""
    body: Iterable[bytes]


@contextmanager
def get(url: str, *, accept: str = "*/*", timeout_s: float, most_bytes: int) -> Iterator[Answer]:
    """The response to a GET.

    No proxy, no redirect, no cookie, no compression, and no look-up of names, which could take longer than any timeout: the
    URL is plain http and its host a numeric address. `timeout_s` and `most_bytes` bound the whole exchange.
    Raises OSError: refused, reset, or TimeoutError; httpcore.ProtocolError: not HTTP, cut short, or too long; ValueError: no URL.
    """
    if not url.startswith("http://"):
        raise ValueError(f"expected plain http, got {url}")
    headers = [("Accept", accept), ("Accept-Encoding", "identity"), ("Connection", "close")]
    with (
        httpcore.ConnectionPool(network_backend=_NativeBackend(timeout_s, most_bytes)) as pool,
        pool.stream("GET", quote(url, safe=_OF_URLS), headers=headers) as answer,
    ):
        found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers}
        yield Answer(answer.status, found, answer.iter_stream())


def connect(port: int, *, timeout_s: float) -> None:
    """Open a connection to loopback and close it. Raises OSError; TimeoutError after `timeout_s`."""
    _NativeBackend(timeout_s, 0).connect_tcp("127.0.0.1", port).close()


class _NativeBackend(httpcore.NetworkBackend):
    def __init__(self, timeout_s: float, most_bytes: int) -> None:
        self._timeout_s = timeout_s
        self._most_bytes = most_bytes

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        ends_at_s = monotonic() + self._timeout_s
        numeric = _socket.getaddrinfo(host, port, 0, _socket.SOCK_STREAM, 0, _socket.AI_NUMERICHOST)
        family, _, _, _, address = numeric[0]
        stream = _NativeStream(_socket.socket(family, _socket.SOCK_STREAM), ends_at_s, self._most_bytes)
        stream.connect(address)
        return stream


class _NativeStream(httpcore.NetworkStream):
    """One connection, for one exchange."""

    def __init__(self, connection: _socket.socket, ends_at_s: float, most_bytes: int) -> None:
        self._connection = connection
        self._ends_at_s = ends_at_s
        self._left_bytes = most_bytes

    def connect(self, address: tuple[object, ...]) -> None:
        """Connect; close the socket if that fails."""
        try:
            self._wait_at_most(self._left_s())
            self._connection.connect(address)
        except BaseException:
            self._connection.close()
            raise

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._wait_at_most(self._left_s())
        data = self._connection.recv(max_bytes)
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            raise httpcore.RemoteProtocolError("the response is too long")
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._wait_at_most(self._left_s())
        self._connection.sendall(buffer)

    def close(self) -> None:
        """Wait briefly for the server to close first, then close."""
        closes_by_s = min(monotonic() + _CLOSES_WITHIN_S, self._ends_at_s)
        try:
            while (left_s := closes_by_s - monotonic()) > 0:
                self._wait_at_most(left_s)
                if not self._connection.recv(_CHUNK_BYTES):
                    break
        except OSError:
            pass
        finally:
            self._connection.close()

    def _left_s(self) -> float:
        left_s = self._ends_at_s - monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        return left_s

    def _wait_at_most(self, seconds: float) -> None:
        self._connection.settimeout(seconds)
