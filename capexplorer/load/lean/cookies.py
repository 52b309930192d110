"""The cookies of one user, by the rules of the standard library. A user that has none pays for one look at each reply's head."""

from __future__ import annotations

import time
from dataclasses import replace
from email.message import Message
from http.cookiejar import Cookie
from typing import Any
from urllib.request import Request

from requests.cookies import RequestsCookieJar

from .prepared import Prepared
from .reply import Reply

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
