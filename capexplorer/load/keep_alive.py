"""Idle connections: whether one is still open when its user needs it again, and which side closed those that ended.

FastHttpUser checks with select(), which refuses descriptors above 1,023. It takes the refusal for a closed connection and opens
another: with 1,500 users two of five requests opened a connection (4,458 of 11,236), and a service was blamed that kept every
connection. poll() has no such bound, and takes 0.8 µs where that call took 6.2. HttpUser checks with gevent's poll(), which lets
others run meanwhile: a user who was stopped there lost the connection that it had taken from its pool, and nobody closed it.

Closes are counted by side, because the number of connects is the same whether the service or the users end connections. Connects
that exceed both counts are first connections: of new users, or of a client that user code makes for each request.
"""

from __future__ import annotations

import re
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import urllib3.connection
import urllib3.poolmanager
from gevent.monkey import get_original
from geventhttpclient.client import HTTPClient
from geventhttpclient.connectionpool import ConnectionPool
from geventhttpclient.response import HTTPConnectionClosed, HTTPSocketPoolResponse

CLOSED = (ConnectionResetError, BrokenPipeError, ConnectionAbortedError, HTTPConnectionClosed)
"""What a client raises where the other side ended the connection. RemoteDisconnected is a ConnectionResetError."""


@dataclass(slots=True)
class Closes:
    """Connections of this process that ended, since its beginning."""

    by_service: int = 0
    """Closed or reset by the service, or announced in one of its replies."""
    by_users: int = 0
    """Closed by users that go on: a profile without keep-alive, a timeout, a request with `Connection: close`, or user code that
    closed its client."""

    def add(self, *, by_service: bool) -> None:
        """Count one."""
        if by_service:
            self.by_service += 1
        else:
            self.by_users += 1


_ASKS_TO_CLOSE = re.compile(r"\r\nconnection:[^\r]*\bclose\b", re.IGNORECASE)

closes = Closes()
"""Written in the load thread."""


@contextmanager
def uncounted() -> Iterator[None]:
    """A context whose closes are not counted: those of a user that ends are no answer to how long its connections last."""
    before = replace(closes)
    try:
        yield
    finally:
        closes.by_service, closes.by_users = before.by_service, before.by_users


def install() -> None:
    """Look at idle connections with poll(), and count closes of both clients. Once a process."""
    _watch_pool()
    _watch_urllib3()


def is_quiet(descriptor: int) -> bool:
    """Whether an idle connection is still usable: it has received neither its end nor unsolicited bytes."""
    poll = get_original("select", "poll")()
    poll.register(descriptor, select.POLLIN)
    return not poll.poll(0)


HAS_POLL = hasattr(select, "poll")
"""Not on Windows, whose select() counts sockets and no numbers."""


def _watch_pool() -> None:
    """FastHttpUser: its pool hands out idle sockets, and releases those that are not to be used again."""
    pool: Any = ConnectionPool
    release, close = pool.release_socket, pool.close
    client: Any = HTTPClient
    build = client._build_request

    def is_alive(_: Any, sock: Any) -> bool:
        if sock is None or sock.fileno() < 0:
            return False
        alive = is_quiet(sock.fileno())
        closes.by_service += not alive
        return alive

    def counting_release(self: Any, sock: Any) -> None:
        error = sys.exc_info()[1]  # None: the reply is whole, and announced the end of the connection
        closes.add(by_service=not self.asks_to_close if error is None else isinstance(error, CLOSED))
        release(self, sock)

    def noting_build(self: Any, *args: Any, **kwargs: Any) -> str:
        request: str = build(self, *args, **kwargs)
        self._connection_pool.asks_to_close = "lose" in request and _ASKS_TO_CLOSE.search(request) is not None
        return request

    def counting_close(self: Any) -> None:
        closes.by_users += self._socket_queue.qsize()
        close(self)

    def abandon(response: Any) -> None:
        """In place of `__del__`: a stream that user code did not read to its end."""
        if response._sock is not None and response._pool is not None:
            closes.by_users += 1
            release(response._pool, response._sock)

    if HAS_POLL:
        pool._is_socket_alive = is_alive
    pool.release_socket, pool.close = counting_release, counting_close
    client._build_request = noting_build
    kind: Any = HTTPSocketPoolResponse
    kind.__del__ = abandon


def _watch_urllib3() -> None:
    """HttpUser: counts closes in the connection's `close`, which is called for both sides' closes."""
    kind: Any = urllib3.connection.HTTPConnection
    close, request, respond = kind.close, kind.request, kind.getresponse
    clear = urllib3.poolmanager.PoolManager.clear

    def counting_close(connection: Any) -> None:
        if connection.sock is not None:
            closes.add(by_service=_was_closed(connection))
        close(connection)

    def noting_request(connection: Any, method: str, url: str, body: Any = None, headers: Any = None, **options: Any) -> None:
        connection.asks_to_close = "close" in str((headers or {}).get("Connection", "")).lower()
        request(connection, method, url, body, headers, **options)

    def noting_respond(connection: Any) -> Any:
        connection.is_answered = True  # a close during this call was announced by the reply
        try:
            return respond(connection)
        finally:
            connection.is_answered = False

    def closing_clear(manager: Any) -> None:
        """A session that is closed closes its idle connections now, and not once the collector finds them."""
        for key in manager.pools.keys():  # it has no iterator
            manager.pools[key].close()
        clear(manager)

    def is_connected(connection: Any) -> bool:
        return connection.sock is not None and connection.sock.fileno() >= 0 and is_quiet(connection.sock.fileno())

    if HAS_POLL:
        kind.is_connected = property(is_connected)
    kind.close, kind.request, kind.getresponse = counting_close, noting_request, noting_respond
    urllib3.poolmanager.PoolManager.clear = closing_clear  # type: ignore[method-assign,assignment]


def _was_closed(connection: Any) -> bool:
    error = sys.exc_info()[1]
    if error is not None:
        return isinstance(error, CLOSED)
    if getattr(connection, "is_answered", False):
        return not connection.asks_to_close
    return connection.sock.fileno() < 0 or not is_quiet(connection.sock.fileno())
