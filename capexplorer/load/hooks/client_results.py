"""Every request that a client starts has a result: it succeeds or fails, or is abandoned by its user. None is lost.

Locust's clients report a request that ends with an exception they know. Any other, such as that of a redirect to `http://[`,
leaves the task as an error of user code, and the request counts nowhere: at an hour of such replies a service has no failure and
half its goodput. Here whatever a client raises once it has asked for a connection is a failure of that request. Before that,
nothing has left the client, and the mistake is the user code's.
"""

from __future__ import annotations

import http.client
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gevent
import gevent.pywsgi  # noqa: F401  reads headers of no bytes as it is imported, which `whole_headers` would refuse
from gevent import getcurrent
from geventhttpclient.response import HTTPParseError
from locust import clients
from locust.contrib import fasthttp
from requests.exceptions import InvalidHeader

from ...model.events import FailureSignature
from ..bodies import CHUNK_BYTES, HEAD_MOST_BYTES, LEAVING, BodyTooLarge, UnusableReply, body_limit, unpacked
from ..request_counts import drop, note_attempt, request_counts
from ..signature import signature_of
from ..user_activity import holds

_CALL = "capexplorer_call"
"""Attribute of a greenlet: whether the request of the client's call that it is in has started; None: it is in none."""


def noting_start(connect: Callable[..., Any]) -> Callable[..., Any]:
    """A request starts where its client first asks for a connection."""

    def noting(*args: Any, **options: Any) -> Any:
        of_greenlet = getcurrent().__dict__
        if of_greenlet.get(_CALL) is False:
            of_greenlet[_CALL] = True
            request_counts.started += 1
        return connect(*args, **options)

    return noting


def observed_call(call_client: Callable[..., Any]) -> Callable[..., Any]:
    """A call of a client by user code."""

    def request(*args: Any, **options: Any) -> Any:
        of_greenlet = getcurrent().__dict__
        outer = of_greenlet.get(_CALL)  # a listener of the request event may send a request itself
        of_greenlet[_CALL] = False
        try:
            response = call_client(*args, **options)
        except BaseException:  # the user is stopped, or its code made a mistake
            request_counts.abandoned += of_greenlet[_CALL]
            raise
        finally:
            has_started, of_greenlet[_CALL] = of_greenlet[_CALL], outer
        request_counts.started += not has_started  # the client reports what it refuses to send, too
        request_counts.reported += not hasattr(response, "is_decided")
        if not getattr(response, "is_decided", True):
            holds()
        return response

    return request


# -- a request of another protocol, which user code measures


def measured_to_its_end(_: object) -> Callable[..., Any]:
    """`EventHook.measure`, which reports also what the end of a user cuts off: a success that took no time."""

    @contextmanager
    def measure(
        event: Any, request_type: str, name: str, response_length: int = 0, context: Any = None
    ) -> Iterator[dict[str, Any]]:
        began_s, since_s = time.time(), time.perf_counter()
        request = {
            "request_type": request_type, "name": name, "response_length": response_length, "context": context or {},
            "exception": None, "start_time": began_s,
        }  # fmt: skip
        try:
            yield request
        except Exception as error:
            request["exception"] = error
        request["response_time"] = 1000 * (time.perf_counter() - since_s)
        event.fire(**request)

    return measure


# -- with `catch_response=True` a request is reported when its with-block ends, also if an exception of user code ends it


def undecided(_: None) -> bool:
    """Whether the result of a request with such a block is known: not at first."""
    return False


def reporting_once(report: Callable[..., None]) -> Callable[..., None]:
    """Counts what is reported."""

    def reporting(response: Any, *args: Any) -> None:
        request_counts.reported += not response.is_decided
        response.is_decided = True
        report(response, *args)

    return reporting


def deciding_exit(leave: Callable[..., Any]) -> Callable[..., Any]:
    """The end of a with-block: a failure if it was an exception that is none of LEAVING."""

    def leaving(response: Any, exc: Any, value: BaseException | None, traceback: Any) -> Any:
        returned = leave(response, exc, value, traceback)
        if not response.is_decided:
            if isinstance(value, Exception) and not isinstance(value, LEAVING):
                response.request_meta["exception"] = _error_of(response) or value
                response._report_request()
            else:
                response.is_decided = True
                request_counts.abandoned += 1
        return returned

    return leaving


def counting_dropped(_: None) -> Callable[[Any], None]:
    """A reply whose with-block user code never entered."""

    def dropped(response: Any) -> None:
        if not response.is_decided:
            drop()

    return dropped


def _error_of(response: Any) -> Exception | None:
    try:
        response.raise_for_status()
    except Exception as error:  # whatever the client has noted
        return error
    return None


# -- any exception of a request that has started is its failure


def fast_failures(send: Callable[..., Any]) -> Callable[..., Any]:
    """FastHttpUser."""

    def sending(self: Any, method: str, url: str, **options: Any) -> Any:
        try:
            return send(self, method, url, **options)
        except Exception as error:
            if not _has_started():
                raise
            return fasthttp.ErrorResponse(self.client._make_request(url, method=method), UnusableReply(error))

    return sending


def requests_failures(send: Callable[..., Any]) -> Callable[..., Any]:
    """HttpUser."""

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

    return sending


def _has_started() -> bool:
    return bool(getcurrent().__dict__.get(_CALL))


def whole_headers(read_headers: Callable[..., list[bytes]]) -> Callable[..., list[bytes]]:
    """HttpUser: a reply that ends within its headers is a failure. http.client takes the end of the stream for the end of the
    headers, and would count such a reply as a success, without a body if Content-Length was among the missing headers.
    """

    def read_whole_headers(stream: Any, *args: Any) -> list[bytes]:
        lines = read_headers(stream, *args)
        if not lines[-1]:  # an empty line is b"\r\n"; b"" is the end of the stream
            raise http.client.IncompleteRead(b"".join(lines))
        return lines

    return read_whole_headers


# -- attempts that a client repeats by itself


def noting_resends(may_resend: Callable[[str], bool]) -> Callable[[str], bool]:
    """geventhttpclient calls this after a closed connection raised."""

    def noting_may_resend(method: str) -> bool:
        resends = may_resend(method)
        error = sys.exc_info()[1]
        if resends and error is not None:
            note_attempt(error, signature_of(error))
        return resends

    return noting_may_resend


def noting_retries(handle: Callable[..., BaseException]) -> Callable[..., BaseException]:
    """`max_retries` of a FastHttpUser, 0 unless a locustfile sets it: raises the errors that are not to be repeated."""

    def noting_handle(self: Any, error: BaseException, url: Any = None) -> BaseException:
        repeated = handle(self, error, url=url)
        note_attempt(error, signature_of(error))
        return repeated

    return noting_handle


def noting_increments(increment: Callable[..., Any]) -> Callable[..., Any]:
    """`Retry` of an adapter that a locustfile mounts: this raises where no retry is left, and is called for redirects, too."""

    def noting_increment(
        self: Any, method: Any = None, url: Any = None, response: Any = None, error: Any = None, *rest: Any, **named: Any
    ) -> Any:
        left = increment(self, method, url, response, error, *rest, **named)
        if error is not None:
            note_attempt(error, signature_of(error))
        elif response is not None and response.status >= 400:
            note_attempt(None, FailureSignature(types=("Retry",), status=response.status))
        return left

    return noting_increment


# -- how much of a reply is kept in memory (`bodies.py`)


def bounded_content(content: property) -> property:
    """HttpUser: bound `content`, which otherwise joins all decompressed parts of a reply."""
    whole: Any = content.fget

    def bounded(response: Any) -> Any:
        if response._content is False and not response._content_consumed and response.raw is not None and response.status_code:
            response._content = _joined(response, body_limit.most_bytes)
        return whole(response)

    return property(bounded, doc=content.__doc__)


def _joined(response: Any, most_bytes: int) -> bytes:
    body = bytearray()
    for part in response.iter_content(CHUNK_BYTES):
        body += part
        if len(body) > most_bytes:
            body.clear()
            response._content = b""
            response.close()
            raise BodyTooLarge(most_bytes)
    return bytes(body)


def bounded_feed(feed: Callable[[Any, bytes], None]) -> Callable[[Any, bytes], None]:
    """FastHttpUser: bound the head, whose parts it joins one by one: one of 10 MB would keep the load thread for 8 s; and the
    buffer of bytes of a body that were not read yet, which reading in parts empties.
    """

    def bounded(response: Any, data: bytes) -> None:
        feed(response, data)
        if not response.headers_complete:
            response.head_bytes = getattr(response, "head_bytes", 0) + len(data)
            if response.head_bytes > HEAD_MOST_BYTES:
                raise HTTPParseError(f"head larger than {HEAD_MOST_BYTES} bytes")
        elif len(response._body_buffer) > body_limit.most_bytes:
            del response._body_buffer[:]
            raise BodyTooLarge(body_limit.most_bytes)

    return bounded


def bounded_unpacking(_: object) -> Callable[[Any], bytes]:
    """FastHttpUser: bound the decompressed body, since 300 KB of gzip may become 300 MB. An encoding that it does not know is no
    failure: user code has the body as it was sent, as with the other clients."""

    def content(response: Any) -> bytes:
        encoding = ",".join(response.headers.getlist("content-encoding"))
        body = unpacked(response._response.read(), encoding.lower(), body_limit.most_bytes)
        response.release()
        return body

    return content


def read_without_text(_: object) -> staticmethod[..., str]:
    """FastHttpUser: in place of a text for debugging of each failed request, which decodes the body as UTF-8, and raises if it is
    not.
    """

    def conversation(url: str, response: Any, **_: Any) -> str:
        response.content  # noqa: B018 - read while the connection is open
        return ""

    return staticmethod(conversation)
