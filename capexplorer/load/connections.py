"""Facts of connections: what one had carried before it broke, how long it took to open, and which side closed those that ended.

The lean client notes its own; those of FastHttpUser and HttpUser are noted by `hooks/client_connections.py`.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, TracebackType
from typing import Any

import msgspec
import urllib3.connectionpool
from gevent import getcurrent
from gevent.monkey import get_original
from geventhttpclient.client import HTTPClient
from geventhttpclient.connectionpool import ConnectionPool
from geventhttpclient.response import HTTPConnectionClosed

CLOSED = (ConnectionResetError, BrokenPipeError, ConnectionAbortedError, HTTPConnectionClosed)
"""What a client raises where the other side ended the connection. RemoteDisconnected is a ConnectionResetError."""


class Closes(msgspec.Struct):
    """Connections of this process that ended, since its beginning."""

    by_service: int = 0
    """Closed or reset by the service, or announced in one of its replies."""
    by_users: int = 0
    """Closed by users that go on: a profile without keep-alive, a timeout, a request with `Connection: close`, or user code that
    closed its client."""
    counts: bool = True

    def add(self, connections: int = 1, *, by_service: bool) -> None:
        """Count them, unless a user that ends closes them (`uncounted`)."""
        if not self.counts:
            return
        if by_service:
            self.by_service += connections
        else:
            self.by_users += connections


closes = Closes()
"""Written in the load thread."""


@contextmanager
def uncounted() -> Iterator[None]:
    """A context whose closes are not counted: those of a user that ends are no answer to how long its connections last. The
    counts never fall, since the pump's thread may read them at any moment.
    """
    closes.counts = False
    try:
        yield
    finally:
        closes.counts = True


_Poll = get_original("select", "poll")
"""Found once: looking it up takes longer than the call."""


def is_quiet(descriptor: int) -> bool:
    """Whether an idle connection is still usable: it has received neither its end nor unsolicited bytes."""
    poll = _Poll()
    poll.register(descriptor, select.POLLIN)
    return not poll.poll(0)


# -- what a connection had carried

FAST_CODE: CodeType = HTTPClient.request.__code__
"""Of FastHttpUser's function that sends a request and reads the head of its reply."""
_REQUESTS_CODE: CodeType = urllib3.connectionpool.HTTPConnectionPool._make_request.__code__

fresh: set[int] = set()
"""`id` of each of FastHttpUser's sockets that has received no reply yet (sockets take no attributes). The id of a closed
socket may stay here; a new socket that has the same id is added anyway."""

after_error: dict[int, int] = {}
"""By `id` of those sockets: the status of the latest reply on it, if that was an error (400 or more)."""

ERROR_LEAST = 400
"""Least HTTP status of an error."""

_OPENED = "capexplorer_opened"
"""Attribute of a greenlet: its latest attempt to open a connection."""


class ConnectTimedOut(TimeoutError):
    """FastHttpUser could not connect in time; without its own class this would look like a read timeout."""


def timed(connect: Callable[[Any], Any], of: Any) -> Any:
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


class Past(msgspec.Struct, frozen=True):
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
    if code is FAST_CODE:
        # Where `get_socket`, which is hooked, fails there is no connection yet: `sock` is that of the attempt before.
        if within is not None and within.tb_frame.f_code is ConnectionPool.get_socket.__code__:
            return None
        sock = traceback.tb_frame.f_locals.get("sock")
        return None if sock is None else past(id(sock) not in fresh, after_error.get(id(sock)))
    if code is _REQUESTS_CODE:
        connection = traceback.tb_frame.f_locals.get("conn")
        answered: bool | None = getattr(connection, "has_answered", None)
        return None if answered is None else past(answered, getattr(connection, "latest_status", None))
    return None
