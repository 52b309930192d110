"""A user's client: sends requests over connections that it keeps, and reports each to Locust's request event."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from urllib.parse import urljoin

import gevent.ssl
from gevent import Timeout
from geventhttpclient._parser import HTTPParseError

from ..bodies import BodyTooLarge, body_limit
from ..request_counts import request_counts
from ..results import UnusableReply
from .connection import Connection, connect
from .cookies import Cookies
from .prepared import Origin, Prepared, prepare
from .reply import Reply
from .response import CaughtResponse, LeanResponse, status_error

REDIRECTS_MOST = 30
"""The same limit as that of the other clients."""

_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_FAILURES = (OSError, HTTPParseError, BodyTooLarge, zlib.error, Timeout)
"""Exceptions that a request is expected to fail with; any other but a user's end is reported as UnusableReply."""

_prepare_plain = lru_cache(maxsize=4096)(prepare)
"""Prepared requests that consist only of method and URL."""


class TooManyRedirects(OSError):
    """More than REDIRECTS_MOST, one after the other."""


@lru_cache(maxsize=2)
def _tls(insecure: bool) -> Any:
    """One context for all users: making one takes as long as a hundred requests."""
    return gevent.ssl._create_unverified_context() if insecure else gevent.ssl.create_default_context()


class LeanSession:
    """Has the interface of Locust's other clients, without streaming."""

    def __init__(
        self,
        base_url: str,
        user: Any,
        *,
        insecure: bool = True,
        connection_timeout: float = 60.0,
        timeout: float = 60.0,
        keeps_cookies: bool = False,
    ) -> None:
        """`timeout`: limit for a whole request with its body, in seconds. `insecure`: accept any certificate."""
        self.base_url = base_url
        self.cookies = Cookies() if keeps_cookies else None
        self.request_name: str | None = None
        """The name of requests that are sent without one; None: their URL."""
        self.user = user
        self._event = user.environment.events.request
        self._insecure = insecure
        self._connection_timeout_s, self._timeout_s = connection_timeout, timeout
        self._idle: dict[Origin, list[Connection]] = {}

    # -- what user code calls

    def request(
        self,
        method: str,
        url: str,
        name: str | None = None,
        *,
        data: str | bytes | Mapping[str, Any] | None = None,
        json: Any = None,
        params: Any = None,
        headers: Mapping[str, str] | None = None,
        auth: tuple[str, str] | None = None,
        catch_response: bool = False,
        allow_redirects: bool = False,
        context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Send one request and read its reply; a LeanResponse, or with `catch_response` a CaughtResponse.

        `url`: absolute, or a path below the host. Raises ValueError for a request that cannot be sent.
        """
        whole = url if url.startswith(("http://", "https://")) else self.base_url + url
        if not headers and data is None and json is None and params is None and auth is None:
            prepared = _prepare_plain(method, whole)
        else:
            prepared = prepare(method, whole, headers=headers, params=params, data=data, json=json, auth=auth)
        follow = self._redirected if allow_redirects else None
        return self.send(prepared, name or self.request_name or url, catch_response, context, follow)

    def get(self, url: str, name: str | None = None, **options: Any) -> Any:
        """As `request`."""
        return self.request("GET", url, name, **options)

    def head(self, url: str, name: str | None = None, **options: Any) -> Any:
        """As `request`."""
        return self.request("HEAD", url, name, **options)

    def options(self, url: str, name: str | None = None, **options: Any) -> Any:
        """As `request`."""
        return self.request("OPTIONS", url, name, **options)

    def delete(self, url: str, name: str | None = None, **options: Any) -> Any:
        """As `request`."""
        return self.request("DELETE", url, name, **options)

    def post(self, url: str, data: Any = None, json: Any = None, **options: Any) -> Any:
        """As `request`."""
        return self.request("POST", url, data=data, json=json, **options)

    def put(self, url: str, data: Any = None, **options: Any) -> Any:
        """As `request`."""
        return self.request("PUT", url, data=data, **options)

    def patch(self, url: str, data: Any = None, **options: Any) -> Any:
        """As `request`."""
        return self.request("PATCH", url, data=data, **options)

    @contextmanager
    def rename_request(self, name: str) -> Iterator[None]:
        """A context in which requests without a name of their own have this name."""
        self.request_name = name
        try:
            yield
        finally:
            self.request_name = None

    def close(self) -> None:
        """Close idle connections; the next request opens one."""
        for idle in self._idle.values():
            for connection in idle:
                connection.close()
        self._idle.clear()

    # -- one request

    def send(
        self,
        prepared: Prepared,
        name: str,
        catch_response: bool = False,
        context: Mapping[str, Any] | None = None,
        follow: Callable[[Prepared, Reply], tuple[Prepared, Reply]] | None = None,
    ) -> LeanResponse:
        """Send a prepared request. `follow`: follows redirects; None: they are not followed."""
        start_time, started_s = time.time(), time.perf_counter()
        reply: Reply | None = None
        content: bytes | None = None
        error: Exception | None = None
        request = prepared
        request_counts.started += 1
        try:
            reply = self._reply_to(request)
            if follow is not None:
                request, reply = follow(request, reply)
            content = reply.content()
            attempted: Reply | None = reply
        except _FAILURES as failure:
            attempted, reply, error = getattr(failure, "reply", reply), None, failure
        except Exception as unexpected:  # whatever a reply leads to is a failure of its request, as of a redirect to `http://[`
            attempted, reply, error = reply, None, UnusableReply(unexpected)
        except BaseException:  # the user is stopped
            request_counts.abandoned += 1
            raise
        response_ms = (time.perf_counter() - started_s) * 1000
        if reply is not None and reply.status >= 400:
            error = status_error(request, reply)
        kind = CaughtResponse if catch_response else LeanResponse
        response = kind(request, reply, content, error, attempted, started_s)
        user_context = self.user.context()

        def report(response: LeanResponse, exception: Exception | None) -> None:
            request_counts.reported += 1
            self._event.fire(
                request_type=prepared.method,
                name=name,
                response_time=response_ms,
                response_length=0 if content is None else len(content),
                response=response,
                context={**user_context, **context} if context else user_context,
                exception=exception,
                start_time=start_time,
                url=prepared.url,
            )

        if isinstance(response, CaughtResponse):
            response._report = report
        else:
            report(response, error)
        return response

    def _reply_to(self, prepared: Prepared) -> Reply:
        """Send the request over an idle connection or a new one, and read its reply."""
        if self.cookies is not None:
            prepared = self.cookies.added(prepared)
        idle = self._idle.get(prepared.origin)
        if idle is None:
            idle = self._idle[prepared.origin] = []
        reply = Reply(is_head=prepared.is_head, most_bytes=body_limit.most_bytes)
        try:
            connection = self._usable(idle, prepared.origin, reply)
            connection.exchange(prepared, reply)
        except _FAILURES as failure:
            failure.reply = reply  # type: ignore[union-attr]  # what was received of it
            raise
        if connection.is_open:
            idle.append(connection)
        if self.cookies is not None:
            self.cookies.keep(prepared, reply)
        return reply

    def _usable(self, idle: list[Connection], origin: Origin, reply: Reply) -> Connection:
        while idle:
            connection = idle.pop()
            if connection.is_usable():
                reply.has_connection = True
                return connection
        tls = _tls(self._insecure) if origin.scheme == "https" else None
        began_s = time.perf_counter()
        connection = connect(origin, connect_timeout_s=self._connection_timeout_s, timeout_s=self._timeout_s, tls=tls)
        reply.has_connection, reply.connect_s = True, time.perf_counter() - began_s
        return connection

    def _redirected(self, prepared: Prepared, reply: Reply) -> tuple[Prepared, Reply]:
        """Follow redirects. Returns the last request and its reply."""
        for _ in range(REDIRECTS_MOST):
            location = reply.headers().get("location") if reply.status in _REDIRECTS else None
            if not isinstance(location, str) or not location:
                return prepared, reply
            prepared = prepared.moved(urljoin(prepared.url, location), as_get=reply.status not in (307, 308))
            reply = self._reply_to(prepared)
        raise TooManyRedirects(f"redirection limit reached ({REDIRECTS_MOST})")
