"""The response of a request, with the attribute names of FastHttpUser's and HttpUser's responses."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import timedelta
from email.message import Message
from functools import cached_property
from http.cookiejar import Cookie
from types import TracebackType
from typing import Any, NamedTuple
from urllib.request import Request

from charset_normalizer import detect
from geventhttpclient.header import Headers
from locust.contrib.fasthttp import LocustBadStatusCode
from locust.exception import CatchResponseError, LocustError, ResponseError
from msgspec.structs import replace
from requests.cookies import RequestsCookieJar
from requests.utils import get_encoding_from_headers

from ..bodies import LEAVING, unpacked
from ..request_counts import drop, request_counts
from ..user_activity import holds
from .connection import Reply, Stream
from .prepared import Prepared

# -- cookies -------------------------------------------------------------------------------------------------------------------
# The cookies of one user, by the rules of the standard library. A user that has none pays for one look at each reply's head.


SAME_S = 1.0
"""Seconds for which the Cookie header of a URL is used again: making one takes as long as three requests. Until then a cookie is
sent that has expired meanwhile."""


class Cookies(RequestsCookieJar):
    """A cookie jar with the interface of requests' one, which user code may fill and read."""

    def __init__(self) -> None:
        super().__init__()
        self._headers: dict[str, str | None] = {}
        """The Cookie header by URL."""
        self._made_s = 0.0
        self.has_any = False
        """Whether a cookie has been added since the jar was empty."""

    def set_cookie(self, cookie: Cookie, *args: Any, **named: Any) -> Any:
        """As of CookieJar; the jar calls it itself for the cookies of replies."""
        self._headers.clear()
        self.has_any = True
        return super().set_cookie(cookie, *args, **named)

    def clear(self, *args: Any) -> None:
        """As of CookieJar."""
        self._headers.clear()
        super().clear(*args)
        self.has_any = any(True for _ in self)

    def header(self, url: str) -> str | None:
        """The Cookie header for a URL; None: no cookie belongs to it."""
        now_s = time.monotonic()
        if now_s - self._made_s >= SAME_S or len(self._headers) > 1_000:
            self._headers.clear()
            self._made_s = now_s
        if url not in self._headers:
            request = Request(url)
            self.add_cookie_header(request)
            self._headers[url] = request.get_header("Cookie")
        return self._headers[url]

    def added(self, prepared: Prepared) -> Prepared:
        """The request with the cookies that belong to it, unless it has its own."""
        found = self.header(prepared.url)
        if found is None or any(name.lower() == "cookie" for name in prepared.fields):
            return prepared
        first, _, rest = prepared.data.partition(b"\r\n")
        return replace(prepared, data=b"%b\r\nCookie: %b\r\n%b" % (first, found.encode("latin-1"), rest))

    def keep(self, prepared: Prepared, reply: Reply) -> None:
        """Store the cookies that a reply sets."""
        self.extract_cookies(_CookieReply(reply), Request(prepared.url))  # type: ignore[arg-type]


class _CookieReply:
    """A reply as http.cookiejar reads it."""

    def __init__(self, reply: Reply) -> None:
        self._message = Message()
        for name, value in reply.headers().items():
            if name.lower() in ("set-cookie", "set-cookie2"):
                self._message[name] = value

    def info(self) -> Message:
        return self._message


class Timing(NamedTuple):
    """The durations of a request's phases, as far as they were reached."""

    connect_s: float | None = None
    """Seconds to connect; None: an open connection was used, or none could be opened."""
    has_connection: bool = False
    first_s: float | None = None
    """Seconds from the request's start to the reply's first byte."""


class LeanResponse:
    """A reply, or the error in place of one: then `status_code` is 0, and `content`, `text` and `headers` are None."""

    stream: Stream | None = None
    """With `stream=True`: the body, as it is sent, to be read in pieces."""
    encoding: str | None = None
    """Set this to decode `text` by another encoding than the reply's."""

    def __init__(
        self,
        request: Prepared,
        reply: Reply | None,
        content: bytes | None,
        error: BaseException | None,
        attempted: Reply | None = None,
        started_s: float = 0.0,
    ) -> None:
        """`reply` and `content` are None with an error; `attempted` is then the reply as far as it was received. `started_s`:
        `time.perf_counter` at the request's start.
        """
        self.request = request
        self.content = self._cached_content = content  # the private name is geventhttpclient's
        self.error = error
        self.status_code: int = reply.status if reply is not None else 0
        self._reply = reply
        self._attempted, self._started_s = attempted, started_s

    def streams(self, stream: Stream) -> None:
        """The body is read from here."""
        self.stream = stream
        del self.content

    @cached_property
    def content(self) -> bytes | None:
        """The body. With `stream=True` it is read when user code first asks for it."""
        if self.stream is None or self._reply is None:
            return None
        encodings = ",".join(self._reply.headers().getlist("content-encoding"))
        return unpacked(self.stream.read(), encodings.lower(), self._reply.most_bytes)

    @property
    def timing(self) -> Timing:
        """The timing of the last request after redirects."""
        reply = self._attempted if self._reply is None else self._reply
        if reply is None:
            return Timing()
        first_s = None if reply.first_byte_s is None else reply.first_byte_s - self._started_s
        return Timing(reply.connect_s, reply.has_connection, first_s)

    def head_bytes(self, most: int) -> bytes | None:
        """At most this many bytes of status line and headers as received; None without a reply."""
        return None if self._reply is None else self._reply.final_head()[:most]

    @property
    def elapsed(self) -> timedelta:
        """Time from the request's start to the reply's first byte."""
        return timedelta(seconds=self.timing.first_s or 0.0)

    @property
    def url(self) -> str:
        """The URL of the last request after redirects."""
        return self.request.url

    @property
    def history(self) -> tuple[LeanResponse, ...]:
        """The redirects that led to it, oldest first, without their bodies."""
        return () if self._reply is None else self._reply.history

    @property
    def ok(self) -> bool:
        """Whether the status is below 400."""
        return self.status_code < 400

    @property
    def reason(self) -> str | None:
        """The text behind the status; None without a reply."""
        head = self.head_bytes(1_000)
        return None if head is None else head.partition(b"\r\n")[0].decode("latin-1").partition(" ")[2].partition(" ")[2]

    @cached_property
    def headers(self) -> Headers | None:
        """The headers by name, regardless of upper and lower case; None without a reply."""
        return None if self._reply is None else self._reply.headers()

    @cached_property
    def cookies(self) -> Cookies:
        """The cookies that this reply sets, by name."""
        found = Cookies()
        if self._reply is not None:
            found.keep(self.request, self._reply)
        return found

    @property
    def text(self) -> str | None:
        """The content, decoded by `encoding`, by the reply's headers, or by an encoding guessed from the content."""
        if self.content is None:
            return None
        if self.encoding is None:
            headers: Any = self.headers or {}
            named = get_encoding_from_headers(headers)
            self.encoding = named or str(detect(self.content)["encoding"] or "utf-8")
        return self.content.decode(self.encoding, errors="replace")

    def json(self, **options: Any) -> Any:
        """The content, parsed. Raises json.JSONDecodeError."""
        return json.loads(self.text or "", **options)

    def iter_content(self, chunk_size: int | None = 1024, decode_content: bool = True) -> Iterator[str | bytes]:
        """The body in pieces, with `stream=True` as it arrives; as text where it is UTF-8, unless `decode_content` is False."""
        read = self.stream.read if self.stream is not None else _Rest(self.content or b"").read
        while piece := read(chunk_size):
            try:
                yield piece.decode() if decode_content else piece
            except UnicodeDecodeError:
                yield piece

    def iter_lines(self, chunk_size: int = 512, decode_unicode: bool = False) -> Iterator[str | bytes]:
        """The body's lines, as bytes unless `decode_unicode`."""
        rest = b""
        for piece in self.iter_content(chunk_size, decode_content=False):
            *lines, rest = (rest + bytes(piece)).split(b"\n")  # type: ignore[arg-type]
            yield from (line.removesuffix(b"\r").decode() if decode_unicode else line.removesuffix(b"\r") for line in lines)
        if rest:
            yield rest.decode() if decode_unicode else rest

    def close(self) -> None:
        """Leave the rest of a streamed body unread."""
        if self.stream is not None:
            self.stream.close()

    def raise_for_status(self) -> None:
        """Raises the request's error: what failed, or LocustBadStatusCode from 400 up."""
        if self.error is not None:
            raise self.error

    def __enter__(self) -> LeanResponse:
        raise LocustError("a with-block needs catch_response=True")

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        """Never called: the with-block does not begin."""

    def success(self) -> None:
        """Only within a with-block and with `catch_response=True`."""
        raise LocustError("pass catch_response=True, and use a with-block, to decide whether a request succeeded")

    def failure(self, reason: object) -> None:
        """Only within a with-block and with `catch_response=True`."""
        LeanResponse.success(self)  # raises the same error


class _Rest:
    """Bytes that are read in pieces."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)

    def read(self, size: int | None = None) -> bytes:
        found, self._data = self._data[:size], self._data[len(self._data) if size is None else size :]
        return bytes(found)


class CaughtResponse(LeanResponse):
    """The response with `catch_response=True`. It is reported when its with-block ends: by the decision of user code, else by its
    status or error."""

    request_meta: dict[str, Any]
    """What is reported to listeners of Locust's request event, without the response. User code may change it."""
    _is_entered = _is_decided = False
    """Whether its with-block has begun, and whether it has ended."""
    _manual_result: bool | Exception | None = None
    """User code's decision. The name is Locust's, whose `RestMixin.rest` reads it."""

    def __init__(self, event: Any, *seen: Any) -> None:
        """`event`: Locust's request event. `seen`: as of LeanResponse."""
        super().__init__(*seen)
        self._event = event

    def __enter__(self) -> CaughtResponse:
        self._is_entered = True
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None) -> bool:
        """Report the request. If user code raised an exception before any decision, the request has failed. If user code left a
        task early, as by InterruptTaskSet, nothing is reported.
        """
        self._is_decided = True
        if self._manual_result is not None:
            self._report(self._manual_result if isinstance(self._manual_result, Exception) else None)
            return kind is None
        if isinstance(value, ResponseError):
            self._report(value)
            return True
        if value is None or (isinstance(value, Exception) and not isinstance(value, LEAVING)):
            self._report(self.error or value)
        else:
            request_counts.abandoned += 1
        return value is None

    def __del__(self) -> None:
        if not self._is_decided:
            drop()

    def hold(self, *, response: LeanResponse, **meta: Any) -> None:
        """Keep what is reported when the with-block ends."""
        self.request_meta = meta
        holds()

    def _report(self, exception: BaseException | None) -> None:
        request_counts.reported += 1
        self.request_meta["exception"] = exception
        self._event.fire(response=self, **self.request_meta)

    def raise_for_status(self) -> None:
        """Raises the request's error, unless user code has decided about the request already."""
        if isinstance(self._manual_result, Exception):
            raise self._manual_result
        if self._manual_result is None:
            super().raise_for_status()

    def success(self) -> None:
        """The request counts as one that succeeded."""
        if not self._is_entered:
            super().success()
        self._manual_result = True

    def failure(self, reason: object) -> None:
        """The request counts as failed. `reason`: an exception, or a text."""
        if not self._is_entered:
            super().failure(reason)
        self._manual_result = reason if isinstance(reason, Exception) else CatchResponseError(reason)


def status_error(request: Prepared, reply: Reply) -> Exception | None:
    """The error of a status from 400 up, of the type that FastHttpUser raises; None for lower ones."""
    return LocustBadStatusCode(request.url, code=reply.status) if reply.status >= 400 else None
