"""Facts of a connection that FastHttpUser and HttpUser do not report: whether it had carried a request, with which status that
ended, whether it was ever established, and how long that took.

Observed inside the clients at little cost for successful requests; their behaviour does not change, except for the name of one
exception type.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import CodeType, TracebackType
from typing import Any

import urllib3.connection
import urllib3.connectionpool
from gevent import getcurrent
from geventhttpclient.client import HTTPClient
from geventhttpclient.connectionpool import ConnectionPool
from geventhttpclient.response import HTTPSocketPoolResponse

from .keep_alive import CLOSED

_FAST_CODE: CodeType = HTTPClient.request.__code__
_GET_SOCKET_CODE: CodeType = ConnectionPool.get_socket.__code__
"""When this function fails there is no connection yet; the caller's `sock` is that of the attempt before."""
_REQUESTS_CODE: CodeType = urllib3.connectionpool.HTTPConnectionPool._make_request.__code__

_fresh: set[int] = set()
"""`id` of each of FastHttpUser's sockets that has received no reply yet (sockets take no attributes). The id of a closed
socket may stay here; a new socket that has the same id is added anyway."""

_after_error: dict[int, int] = {}
"""By `id` of those sockets: the status of the latest reply on it, if that was an error (400 or more)."""

ERROR_LEAST = 400
"""Least HTTP status of an error."""

_OPENED = "capexplorer_opened"
"""Attribute of a greenlet: its latest attempt to open a connection."""


class ConnectTimedOut(TimeoutError):
    """FastHttpUser could not connect in time; without its own class this would look like a read timeout."""


def install() -> None:
    """Track the connections of both clients. Call once per process."""
    _mark_sockets()
    _mark_connections()


def _mark_sockets() -> None:
    kind: Any = ConnectionPool
    create, connect, give_back = kind._create_socket, kind._connect_socket, kind.return_socket

    def marking_create(pool: Any) -> Any:
        sock = _timed(create, pool)
        _fresh.add(id(sock))
        _after_error.pop(id(sock), None)
        return sock

    def naming_connect(pool: Any, sock: Any, address: Any) -> Any:
        try:
            return connect(pool, sock, address)
        except TimeoutError as error:
            raise ConnectTimedOut(*error.args) from error

    def marking_give_back(pool: Any, sock: Any) -> None:
        _fresh.discard(id(sock))
        give_back(pool, sock)

    kind._create_socket, kind._connect_socket, kind.return_socket = marking_create, naming_connect, marking_give_back
    replies: Any = HTTPSocketPoolResponse
    release = replies.release

    def noting_release(reply: Any) -> None:
        status = reply.get_code()  # 0 if the connection broke in place of a reply
        if status >= ERROR_LEAST:
            _after_error[id(reply._sock)] = status
        elif status and _after_error:
            _after_error.pop(id(reply._sock), None)
        release(reply)

    replies.release = noting_release


def _mark_connections() -> None:
    kind: Any = urllib3.connection.HTTPConnection
    connect, respond = kind._new_conn, kind.getresponse

    def marking_connect(connection: Any) -> Any:
        connection.has_answered, connection.latest_status = False, None
        return connect(connection)

    def marking_respond(connection: Any) -> Any:
        response = respond(connection)
        connection.has_answered, connection.latest_status = True, response.status
        return response

    kind._new_conn, kind.getresponse = marking_connect, marking_respond
    for each in (urllib3.connection.HTTPConnection, urllib3.connection.HTTPSConnection):
        _time_connect(each)


def _time_connect(kind: Any) -> None:
    connect = kind.connect
    kind.connect = lambda connection: _timed(connect, connection)


def _timed(connect: Callable[[Any], Any], of: Any) -> Any:
    """Note in the greenlet when it began to connect (`time.time`, as Locust times requests) and how long that took."""
    began_s, counted_s = time.time(), time.perf_counter()
    try:
        return connect(of)
    finally:
        setattr(getcurrent(), _OPENED, (began_s, time.perf_counter() - counted_s))


def connected_in_s(since_s: float) -> float | None:
    """How long this greenlet took to open its latest connection; None: it has opened none since `since_s` (`time.time`)."""
    opened: tuple[float, float] | None = getattr(getcurrent(), _OPENED, None)
    return None if opened is None or opened[0] < since_s else opened[1]


@dataclass(frozen=True, slots=True)
class Past:
    """What a connection had carried before the service closed it in place of a reply; None: another failure, or not known."""

    reused: bool | None = None
    """Whether it had carried an earlier request."""
    after_status: int | None = None
    """Status of the reply before, if that was an error."""


def past_of(chain: Iterable[BaseException]) -> Past:
    """The past of the connection that was closed in place of a reply.

    Read from the frame of the client's function that used the connection, so it costs time only after a failure.
    """
    for link in chain:
        if not isinstance(link, CLOSED):
            continue
        noted: Past | None = getattr(link, "past", None)  # by the lean client
        if noted is not None:
            return noted
        traceback = link.__traceback__
        while traceback is not None:
            found = _past(traceback)
            if found is not None:
                return found
            traceback = traceback.tb_next
    return Past()


def past(has_answered: bool | None, latest_status: int | None) -> Past:
    """Of a connection by whether it has answered, and with which status at last."""
    return Past(has_answered, latest_status if (latest_status or 0) >= ERROR_LEAST else None)


def _past(traceback: TracebackType) -> Past | None:
    code, within = traceback.tb_frame.f_code, traceback.tb_next
    if code is _FAST_CODE and (within is None or within.tb_frame.f_code is not _GET_SOCKET_CODE):
        sock = traceback.tb_frame.f_locals.get("sock")
        return None if sock is None else past(id(sock) not in _fresh, _after_error.get(id(sock)))
    if code is _REQUESTS_CODE:
        connection = traceback.tb_frame.f_locals.get("conn")
        answered: bool | None = getattr(connection, "has_answered", None)
        return None if answered is None else past(answered, getattr(connection, "latest_status", None))
    return None
