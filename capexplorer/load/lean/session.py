"""A user's client: sends requests over connections that it keeps, and reports each to Locust's request event."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NoReturn
from urllib.parse import urljoin
from weakref import WeakKeyDictionary

import gevent.ssl
from gevent import Timeout
from gevent.lock import Semaphore
from geventhttpclient._parser import HTTPParseError

from ..bodies import BodyTooLarge, UnusableReply, body_limit
from ..request_counts import request_counts
from .connection import Connection, Reply, Stream, StreamedReply, connect
from .prepared import REMEDIES, Origin, Prepared, prepare, refused
from .response import CaughtResponse, Cookies, LeanResponse, status_error

REDIRECTS_MOST = 30
"""The same limit as that of the other clients."""
CONNECTIONS_MOST = 10
"""Most connections of a user to one server, as with FastHttpUser."""

Limits = float | tuple[float | None, float | None] | None
"""Seconds for a request, or (to connect, for the whole); None: as the session has it."""

_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_FAILURES = (OSError, HTTPParseError, BodyTooLarge, zlib.error, Timeout)
"""Exceptions that a request is expected to fail with; any other but a user's end is reported as UnusableReply."""


@lru_cache(maxsize=4096)
def _prepare_plain(method: str, base_url: str, url: str) -> Prepared:
    """A request that consists only of method and URL."""
    return prepare(method, _whole(base_url, url))


def _whole(base_url: str, url: str) -> str:
    return url if url.startswith(("http://", "https://")) else base_url + url


class TooManyRedirects(OSError):
    """More than `max_redirects`, one after the other."""


@lru_cache(maxsize=16)
def _tls(verify: bool | str) -> Any:
    """One context for all users: making one takes as long as a hundred requests. `verify`: any certificate, or those that a file
    or folder of certificates, or the system's, vouch for."""
    if verify is False:
        return gevent.ssl._create_unverified_context()
    return gevent.ssl.create_default_context(cafile=verify if isinstance(verify, str) else None)


class KeptConnections:
    """Connections to one server, of one user, or of those who share it."""

    def __init__(self, most: int) -> None:
        self.free: list[Connection | None] = [None] * most
        """One for each further request, the next last: an idle connection, or None for one that is yet to be opened."""
        self.waiting = 0
        self._turn = Semaphore(0)

    def wait(self) -> None:
        """Wait until another request is done with its connection."""
        while not self.free:
            self.waiting += 1
            try:
                self._turn.acquire()
            finally:
                self.waiting -= 1

    def release(self, connection: Connection | None = None) -> None:
        """A request is done with its connection. In any thread."""
        if connection is not None and connection.is_open:
            self.free.append(connection)
        else:
            self.free.insert(0, None)
        if self.waiting:
            self._turn.release()


_shared: WeakKeyDictionary[Any, dict[Any, KeptConnections]] = WeakKeyDictionary()
"""The pools of users with the same `client_pool`."""


@dataclass(frozen=True, slots=True)
class _Terms:
    """How a request is sent; made once for each session, and changed for requests with options of their own."""

    connect_s: float
    whole_s: float
    """Limits of connecting and of the whole request."""
    redirects_most: int
    verify: bool | str
    follows: bool = True
    reply: type[Reply] = Reply
    pools: dict[Origin, KeptConnections] = field(init=False, default_factory=dict)
    """The connections for these terms, as far as they were looked up."""


def _by(method: str) -> Callable[..., Any]:
    """`LeanSession.request` with this method."""

    def request(session: LeanSession, url: str, data: Any = None, json: Any = None, **options: Any) -> Any:
        return session.request(method, url, data=data, json=json, **options)

    return request


class LeanSession:
    """Has the interface of FastHttpSession, and what most locustfiles use of requests."""

    def __init__(
        self,
        base_url: str,
        request_event: Any,
        user: Any = None,
        *,
        insecure: bool = True,
        client_pool: Any = None,
        ssl_context_factory: Any = None,
        network_timeout: float = 60.0,
        connection_timeout: float = 60.0,
        max_redirects: int = REDIRECTS_MOST,
        headers: Mapping[str, Any] | None = None,
        concurrency: int = CONNECTIONS_MOST,
        keeps_cookies: bool = True,
        **others: Any,
    ) -> None:
        """`network_timeout`: limit for a whole request with its body, in seconds. `insecure`: accept any certificate. `headers`:
        those of all requests.
        """
        for name, value in others.items():
            if value:
                raise refused(name)
        self.base_url, self.user, self.request_event = base_url, user, request_event
        self._context: Callable[[], Mapping[str, Any]] = dict if user is None else user.context
        self.cookies = Cookies()
        """The cookies that are sent."""
        self.headers: MutableMapping[str, Any] = dict(headers or {})
        """Headers of all requests."""
        self.auth: Any = None
        """(user, password) of all requests."""
        self.request_name: str | None = None
        """The name of requests that are sent without one; None: their URL."""
        self._keeps_cookies = keeps_cookies
        self._make_tls = ssl_context_factory
        self._own_tls: Any = None
        self._terms = _Terms(connection_timeout, network_timeout, max_redirects, verify=not insecure)
        self.streamed = _with_options(self._terms, None, None, follows=True, streams=True)
        """How requests are sent whose replies are read in parts."""
        self._pools: dict[Any, KeptConnections] = {}
        self._most = concurrency
        if client_pool is not None:
            self._pools = _shared.setdefault(client_pool, self._pools)
            self._most = int(getattr(client_pool, "client_args", {}).get("concurrency", concurrency))

    @property
    def cookiejar(self) -> Cookies:
        """The cookies that are sent, by FastHttpUser's name."""
        return self.cookies

    @property
    def verify(self) -> bool | str:
        """Whether certificates are verified, or a file of those that are accepted."""
        return self._terms.verify

    @verify.setter
    def verify(self, verify: bool | str) -> None:
        self._terms = replace(self._terms, verify=verify)

    # -- what user code calls

    def request(
        self,
        method: str,
        url: str,
        name: str | None = None,
        data: Any = None,
        catch_response: bool = False,
        stream: bool = False,
        headers: Mapping[str, Any] | None = None,
        auth: Any = None,
        json: Any = None,
        allow_redirects: bool = True,
        context: Mapping[str, Any] | None = None,
        *,
        params: Any = None,
        files: Any = None,
        cookies: Mapping[str, str] | None = None,
        timeout: Limits = None,
        verify: bool | str | None = None,
        **others: Any,
    ) -> Any:
        """Send one request and read its reply; a LeanResponse, or with `catch_response` a CaughtResponse.

        `url`: absolute, or a path below the host. `timeout`: limit in seconds of the whole request, or (to connect, whole).
        Raises ValueError for a request that cannot be sent, LeanRefusal for what this client does not do.
        """
        if others:
            self._refuse(others)
        auth = auth or self.auth
        if not (headers or self.headers or data or params or auth or files or cookies) and json is None:
            prepared = _prepare_plain(method, self.base_url, url)
        else:
            whole = _whole(self.base_url, url)
            headers = self._with_cookies(whole, _merged(self.headers, headers), cookies)
            prepared = prepare(method, whole, headers=headers, params=params, data=data, json=json, files=files, auth=auth)
        terms = self._terms
        if timeout is not None or verify is not None or stream or not allow_redirects:
            terms = _with_options(terms, timeout, verify, allow_redirects, stream)
        return self.send(prepared, name or self.request_name or url, catch_response, context, terms)

    get, head, options, delete, post, put, patch = map(_by, ("GET", "HEAD", "OPTIONS", "DELETE", "POST", "PUT", "PATCH"))

    def iter_lines(self, url: str, method: str = "GET", **options: Any) -> Iterator[str]:
        """The lines of a reply as they arrive. Raises the request's error."""
        response = self.request(method, url, stream=True, **options)
        response.raise_for_status()
        rest = ""
        for piece in response.iter_content(chunk_size=1024, decode_content=True):
            *lines, rest = (rest + (piece if isinstance(piece, str) else piece.decode(errors="replace"))).split("\n")
            yield from lines
        if rest:
            yield rest

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
        for pool in self._pools.values():
            for connection in filter(None, pool.free):
                connection.close()
            pool.free[:] = [None] * len(pool.free)

    def _refuse(self, others: Mapping[str, Any]) -> None:
        for name, value in others.items():
            if value is not None or name not in REMEDIES:
                raise refused(name)

    def _with_cookies(self, url: str, headers: Mapping[str, Any] | None, cookies: Mapping[str, str] | None) -> Any:
        """The headers, with the cookies of this request alone before those of the session."""
        if not cookies:
            return headers
        own = [f"{name}={value}" for name, value in cookies.items()]
        kept = self.cookies.header(url)
        return {**(headers or {}), "Cookie": "; ".join([*own, kept] if kept else own)}

    # -- one request

    def send(
        self,
        prepared: Prepared,
        name: str,
        catch_response: bool = False,
        context: Mapping[str, Any] | None = None,
        terms: _Terms | None = None,
    ) -> LeanResponse:
        """Send a prepared request. `terms`: of this session; None: as it was made."""
        user_context = self._context()
        terms = terms or self._terms
        pool = terms.pools.get(prepared.origin) or self._pool(prepared.origin, terms)
        start_time, started_s = time.time(), time.perf_counter()
        reply: Reply | None = None
        attempted: Reply | None = None
        response: LeanResponse
        content: bytes | None = None
        error: BaseException | None = None
        request = prepared
        request_counts.started += 1
        try:
            reply = self._reply_to(request, pool, terms)
            if reply.status >= 300:
                if reply.status in _REDIRECTS and terms.follows:
                    request, reply = self._redirected(request, reply, terms)
                error = status_error(request, reply)
            content = reply.content()
        except _FAILURES as failure:
            attempted, reply, error = getattr(failure, "reply", reply), None, failure
        except Exception as unexpected:  # whatever a reply leads to is a failure of its request, as of a redirect to `http://[`
            attempted, reply, error = reply, None, UnusableReply(unexpected)
        except BaseException:  # the user is stopped
            request_counts.abandoned += 1
            raise
        response_ms = (time.perf_counter() - started_s) * 1000
        if catch_response:
            response = caught = CaughtResponse(self.request_event, request, reply, content, error, attempted, started_s)
            report = caught.hold
        else:
            response = LeanResponse(request, reply, content, error, attempted, started_s)
            report = self.request_event.fire
            request_counts.reported += 1
        report(
            request_type=prepared.method,
            name=name,
            response_time=response_ms,
            response_length=_streamed(response, reply) if content is None else len(content),
            response=response,
            context={**user_context, **context} if context else user_context,
            exception=error,
            start_time=start_time,
            url=prepared.url,
        )
        return response

    def _pool(self, origin: Origin, terms: _Terms) -> KeptConnections:
        """The connections to a server, from now on also in `terms.pools`."""
        if origin.scheme == "https":
            self._tls_of(terms)  # an error in making it is one of user code
        key = origin if origin.scheme == "http" else (origin, terms.verify)
        pool = terms.pools[origin] = self._pools.setdefault(key, KeptConnections(self._most))
        return pool

    def _reply_to(self, prepared: Prepared, pool: KeptConnections, terms: _Terms) -> Reply:
        """Send the request over an idle connection or a new one, and read its reply, or of a streamed one the head."""
        if self.cookies.has_any:
            prepared = self.cookies.added(prepared)
        reply = terms.reply(is_head=prepared.is_head, most_bytes=body_limit.most_bytes)
        if not pool.free:
            pool.wait()
        idle = pool.free.pop()
        try:
            connection = idle if idle is not None and idle.is_usable() else self._other(idle, pool, prepared.origin, reply, terms)
            if connection.timeout_s != terms.whole_s:
                connection.limit(terms.whole_s)
            reply.has_connection = True
            connection.exchange(prepared, reply)
        except BaseException as failure:
            pool.release()
            if isinstance(failure, _FAILURES):
                failure.reply = reply  # type: ignore[union-attr]  # what was received of it
            raise
        if isinstance(reply, StreamedReply):
            reply.stream = Stream(connection, prepared, reply, pool.release)
        elif pool.waiting or not connection.is_open:
            pool.release(connection)
        else:
            pool.free.append(connection)
        if self._keeps_cookies and b"set-cookie" in reply.lowered_head:
            self.cookies.keep(prepared, reply)
        return reply

    def _other(self, ended: Connection | None, pool: KeptConnections, origin: Origin, reply: Reply, terms: _Terms) -> Connection:
        """Another idle connection in place of one that has ended, or a new one."""
        while ended is not None:
            pool.release()
            ended = pool.free.pop()
            if ended is not None and ended.is_usable():
                return ended
        tls = self._tls_of(terms) if origin.scheme == "https" else None
        began_s = time.perf_counter()
        connection = connect(origin, connect_timeout_s=terms.connect_s, timeout_s=terms.whole_s, tls=tls)
        reply.connect_s = time.perf_counter() - began_s
        return connection

    def _tls_of(self, terms: _Terms) -> Any:
        if self._make_tls is None:
            return _tls(terms.verify)
        if self._own_tls is None:
            self._own_tls = self._make_tls()
        return self._own_tls

    def _redirected(self, prepared: Prepared, reply: Reply, terms: _Terms) -> tuple[Prepared, Reply]:
        """Follow redirects. Returns the last request and its reply."""
        history: list[LeanResponse] = []
        while reply.status in _REDIRECTS and isinstance(location := reply.headers().get("location"), str) and location:
            if reply.stream is not None:
                reply.stream.close()
            if len(history) >= terms.redirects_most:
                raise TooManyRedirects(f"redirection limit reached ({terms.redirects_most})")
            history.append(LeanResponse(prepared, reply, None, None))
            try:
                prepared = prepared.moved(urljoin(prepared.url, location), as_get=reply.status not in (307, 308))
            except ValueError as error:
                raise UnusableReply(error) from error
            pool = terms.pools.get(prepared.origin) or self._pool(prepared.origin, terms)
            reply = self._reply_to(prepared, pool, terms)
        reply.history = tuple(history)
        return prepared, reply


class _Refused:
    """An attribute of other clients that user code may neither read nor set. A class with `__getattr__` is slow to read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, session: object, kind: type) -> NoReturn:
        raise refused(self._name)

    def __set__(self, session: object, value: object) -> None:
        if value:
            raise refused(self._name)


for _name in REMEDIES:
    setattr(LeanSession, _name, _Refused(_name))


def _merged(headers: Mapping[str, Any], more: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The headers of a session and of one request, whose names may differ in upper and lower case."""
    own = {name.lower() for name in more or {}}
    return {**{name: value for name, value in headers.items() if name.lower() not in own}, **(more or {})}


def _with_options(terms: _Terms, timeout: Limits, verify: bool | str | None, follows: bool, streams: bool) -> _Terms:
    connect_s, whole_s = timeout if isinstance(timeout, tuple) else (timeout, timeout)
    return _Terms(
        connect_s=terms.connect_s if connect_s is None else connect_s,
        whole_s=terms.whole_s if whole_s is None else whole_s,
        redirects_most=terms.redirects_most,
        verify=terms.verify if verify is None else verify,
        follows=follows,
        reply=StreamedReply if streams else Reply,
    )


def _streamed(response: LeanResponse, reply: Reply | None) -> int:
    """Let user code read the body from the response, if it is streamed. Returns its announced length; 0 without one."""
    if reply is None:
        return 0
    response.streams(reply.stream)
    reply.stream = None  # it refers to its reply: without a cycle it is closed as soon as user code drops it
    announced = None if response.headers is None else response.headers.get("content-length")
    return int(announced) if isinstance(announced, str) and announced.isdecimal() else 0
