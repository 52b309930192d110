"""Every request that a client starts has a result: it succeeds or fails, or is abandoned by its user. None is lost.

Locust's clients report a request that ends with an exception they know. Any other, such as that of a redirect to `http://[`,
leaves the task as an error of user code, and the request counts nowhere: at an hour of such replies a service has no failure and
half its goodput. Here whatever a client raises once it has asked for a connection is a failure of that request. Before that,
nothing has left the client, and the mistake is the user code's.
"""

from __future__ import annotations

from typing import Any

import gevent
import urllib3.connectionpool
from gevent import getcurrent
from geventhttpclient.connectionpool import ConnectionPool
from locust import clients
from locust.contrib import fasthttp
from locust.exception import InterruptTaskSet, RescheduleTask, RescheduleTaskImmediately, StopTest, StopUser
from requests.exceptions import InvalidHeader, RequestException

from .request_counts import drop, request_counts

LEAVING = (InterruptTaskSet, RescheduleTask, RescheduleTaskImmediately, StopTest, StopUser)
"""Exceptions by which user code ends a task early; they are no failures."""

_CALL = "capexplorer_call"
"""Attribute of a greenlet: the client's call that it is in."""


class UnusableReply(RequestException):
    """A reply led to an exception that its client does not expect. `args`: that exception. All clients report it as a failure."""


class _Call:
    """One call of a client by user code."""

    __slots__ = ("has_started",)

    def __init__(self) -> None:
        self.has_started = False


def install() -> None:
    """Observe the requests of FastHttpUser and HttpUser. Call once per process."""
    _note_starts(ConnectionPool, "get_socket")
    _note_starts(urllib3.connectionpool.HTTPConnectionPool, "urlopen")
    for session, response in (
        (fasthttp.FastHttpSession, fasthttp.ResponseContextManager),
        (clients.HttpSession, clients.ResponseContextManager),
    ):
        _observe_calls(session)
        _observe_with_blocks(response)
    _fail_fast()
    _fail_requests()


def _note_starts(kind: Any, name: str) -> None:
    """A request starts where its client first asks for a connection."""
    connect = getattr(kind, name)

    def noting(*args: Any, **options: Any) -> Any:
        call: _Call | None = getattr(getcurrent(), _CALL, None)
        if call is not None and not call.has_started:
            call.has_started = True
            request_counts.started += 1
        return connect(*args, **options)

    setattr(kind, name, noting)


def _observe_calls(session: Any) -> None:
    call_client = session.request

    def request(*args: Any, **options: Any) -> Any:
        greenlet, call = getcurrent(), _Call()
        outer = getattr(greenlet, _CALL, None)  # a listener of the request event may send a request itself
        setattr(greenlet, _CALL, call)
        try:
            response = call_client(*args, **options)
        except BaseException:  # the user is stopped, or its code made a mistake
            request_counts.abandoned += call.has_started
            raise
        finally:
            setattr(greenlet, _CALL, outer)
        request_counts.started += not call.has_started  # the client reports what it refuses to send, too
        request_counts.reported += not hasattr(response, "is_decided")
        return response

    session.request = request


def _observe_with_blocks(kind: Any) -> None:
    """With `catch_response=True` a request is reported when its with-block ends, also if an exception of user code ends it."""
    report, leave = kind._report_request, kind.__exit__

    def reporting(response: Any, *args: Any) -> None:
        request_counts.reported += not response.is_decided
        response.is_decided = True
        report(response, *args)

    def leaving(response: Any, exc: Any, value: BaseException | None, traceback: Any) -> Any:
        returned = leave(response, exc, value, traceback)
        if not response.is_decided:
            if isinstance(value, Exception) and not isinstance(value, LEAVING):
                response.request_meta["exception"] = _error_of(response) or value
                reporting(response)
            else:
                response.is_decided = True
                request_counts.abandoned += 1
        return returned

    def dropped(response: Any) -> None:
        if not response.is_decided:
            drop()

    kind._report_request, kind.__exit__, kind.__del__, kind.is_decided = reporting, leaving, dropped, False


def _error_of(response: Any) -> Exception | None:
    try:
        response.raise_for_status()
    except Exception as error:  # whatever the client has noted
        return error
    return None


def _fail_fast() -> None:
    session: Any = fasthttp.FastHttpSession
    send = session._send_request_safe_mode

    def sending(self: Any, method: str, url: str, **options: Any) -> Any:
        try:
            return send(self, method, url, **options)
        except Exception as error:
            if not _has_started():
                raise
            return fasthttp.ErrorResponse(self.client._make_request(url, method=method), UnusableReply(error))

    session._send_request_safe_mode = sending


def _fail_requests() -> None:
    session: Any = clients.HttpSession
    send = session._send_request_safe_mode

    def sending(self: Any, method: str, url: str, **options: Any) -> Any:
        try:
            response = send(self, method, url, **options)
            if options.get("stream"):
                int(response.headers.get("content-length") or 0)  # Locust reads it as the length of the reply
            error = getattr(response, "error", None)
            if isinstance(error, InvalidHeader) and _has_started():  # not that of user code, which is refused before
                response.error = UnusableReply(error)
        except (Exception, gevent.Timeout) as error:  # FastHttpUser reports a Timeout of user code, too
            if not _has_started():
                raise
            return clients.ResponseContextManager(UnusableReply(error))
        return response

    session._send_request_safe_mode = sending


def _has_started() -> bool:
    call: _Call | None = getattr(getcurrent(), _CALL, None)
    return call is not None and call.has_started
