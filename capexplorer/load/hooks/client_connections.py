"""Notes of FastHttpUser's and HttpUser's connections what they do not report, and checks idle ones in another way.

Observed inside the clients at little cost for successful requests; their behaviour does not change, except for the name of one
exception type, and as follows.

FastHttpUser checks with select(), which refuses descriptors above 1,023. It takes the refusal for a closed connection and opens
another: with 1,500 users two of five requests opened a connection (4,458 of 11,236), and a service was blamed that kept every
connection. poll() has no such bound, and takes 0.8 µs where that call took 6.2. HttpUser checks with gevent's poll(), which lets
others run meanwhile: a user who was stopped there lost the connection that it had taken from its pool, and nobody closed it.

Closes are counted by side, because the number of connects is the same whether the service or the users end connections. Connects
that exceed both counts are first connections: of new users, or of a client that user code makes for each request.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from geventhttpclient.connectionpool import ConnectionPool

from ..connections import CLOSED, ERROR_LEAST, FAST_CODE, ConnectTimedOut, after_error, closes, fresh, is_quiet, timed

_release: Callable[[Any, Any], None] = ConnectionPool.release_socket
"""The pool's own, which counts nothing."""

_ASKS_TO_CLOSE = re.compile(r"\r\nconnection:[^\r]*\bclose\b", re.IGNORECASE)

# -- fresh connections, and replies on them


def marking_create(create: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """FastHttpUser: a new socket."""

    def marking(pool: Any) -> Any:
        sock = timed(create, pool)
        fresh.add(id(sock))
        after_error.pop(id(sock), None)
        return sock

    return marking


def naming_timeouts(connect: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """FastHttpUser: its connect timeouts have a class of their own."""

    def naming(pool: Any, sock: Any, address: Any) -> Any:
        try:
            return connect(pool, sock, address)
        except TimeoutError as error:
            raise ConnectTimedOut(*error.args) from error

    return naming


def noting_reply(release: Callable[[Any], None]) -> Callable[[Any], None]:
    """FastHttpUser: a socket, which is released, has had its reply, of this status."""

    def noting(reply: Any) -> None:
        if reply._sock is not None:
            socket_id, status = id(reply._sock), reply.get_code()  # 0 if the connection broke in place of a reply
            if reply.message_complete:
                fresh.discard(socket_id)
            if status >= ERROR_LEAST:
                after_error[socket_id] = status
            elif status and after_error:
                after_error.pop(socket_id, None)
        release(reply)

    return noting


def marking_new(connect: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """HttpUser: a new connection."""

    def marking(connection: Any) -> Any:
        connection.has_answered, connection.latest_status = False, None
        return connect(connection)

    return marking


def marking_reply(respond: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """HttpUser: a connection has had a reply. `is_answered` while it is read: a close then was announced by the reply."""

    def marking(connection: Any) -> Any:
        connection.is_answered = True
        try:
            response = respond(connection)
        finally:
            connection.is_answered = False
        connection.has_answered, connection.latest_status = True, response.status
        return response

    return marking


def timed_connect(connect: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """HttpUser: how long a connection took to open."""

    def timing(connection: Any) -> Any:
        return timed(connect, connection)

    return timing


# -- FastHttpUser: its pool hands out idle sockets, and releases those that are not to be used again


def polled_socket(_: object) -> Callable[[Any, Any], bool]:
    """Whether a socket of the pool is still usable."""

    def is_alive(_: Any, sock: Any) -> bool:
        descriptor = -1 if sock is None else sock.fileno()
        if descriptor < 0:
            return False
        alive = is_quiet(descriptor)
        if not alive:
            closes.add(by_service=True)
        return alive

    return is_alive


def counting_release(release: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Counts a socket that is not used again."""

    def counting(self: Any, sock: Any) -> None:
        error = sys.exc_info()[1]  # None: the reply is whole, and announced the end of the connection
        closes.add(by_service=not _asked_to_close(sys._getframe(1)) if error is None else isinstance(error, CLOSED))
        release(self, sock)

    return counting


def _asked_to_close(release: FrameType) -> bool:
    """Whether the request asked to close its connection, which this call of its reply's `release` gives back. A short reply is
    given back while it is being made: it does not have its request yet, which is a variable of the client.
    """
    request, frame = release.f_locals["self"]._sent_request, release.f_back
    while request is None and frame is not None:
        request, frame = frame.f_locals["request"] if frame.f_code is FAST_CODE else None, frame.f_back
    return request is not None and _ASKS_TO_CLOSE.search(request) is not None


def counting_pool_close(close: Callable[[Any], None]) -> Callable[[Any], None]:
    """Counts the idle sockets of a pool that is closed."""

    def counting(self: Any) -> None:
        closes.add(self._socket_queue.qsize(), by_service=False)
        close(self)

    return counting


def counting_abandoned(_: object) -> Callable[[Any], None]:
    """In place of `__del__`: a stream that user code did not read to its end."""

    def abandon(response: Any) -> None:
        if response._sock is not None and response._pool is not None:
            closes.add(by_service=False)
            _release(response._pool, response._sock)

    return abandon


# -- HttpUser: a connection's `close` is called for both sides' closes


def counting_close(close: Callable[[Any], None]) -> Callable[[Any], None]:
    """Counts a connection that is closed."""

    def counting(connection: Any) -> None:
        if connection.sock is not None:
            closes.add(by_service=_was_closed(connection))
        close(connection)

    return counting


def noting_request(request: Callable[..., None]) -> Callable[..., None]:
    """Notes whether a request asks to close its connection."""

    def noting(connection: Any, method: str, url: str, body: Any = None, headers: Any = None, **options: Any) -> None:
        connection.asks_to_close = "close" in str((headers or {}).get("Connection", "")).lower()
        request(connection, method, url, body, headers, **options)

    return noting


def closing_clear(clear: Callable[[Any], None]) -> Callable[[Any], None]:
    """A session that is closed closes its idle connections now, and not once the collector finds them."""

    def closing(manager: Any) -> None:
        for key in manager.pools.keys():  # it has no iterator
            manager.pools[key].close()
        clear(manager)

    return closing


def polled_connection(_: object) -> property:
    """Whether an idle connection is still usable."""

    def is_connected(connection: Any) -> bool:
        return connection.sock is not None and connection.sock.fileno() >= 0 and is_quiet(connection.sock.fileno())

    return property(is_connected)


def _was_closed(connection: Any) -> bool:
    error = sys.exc_info()[1]
    if error is not None:
        return isinstance(error, CLOSED)
    if getattr(connection, "is_answered", False):
        return not connection.asks_to_close
    return connection.sock.fileno() < 0 or not is_quiet(connection.sock.fileno())
