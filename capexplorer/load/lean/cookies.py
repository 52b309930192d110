"""The cookies of one user, by the rules of the standard library. Only users with `keeps_cookies` have them."""

from __future__ import annotations

from dataclasses import replace
from email.message import Message
from http.cookiejar import CookieJar
from urllib.request import Request

from .prepared import Prepared
from .reply import Reply


class Cookies:
    """A cookie jar. Cookies that user code adds to it are sent too."""

    def __init__(self) -> None:
        self.jar = CookieJar()

    def added(self, prepared: Prepared) -> Prepared:
        """The request with the cookies that belong to it."""
        request = Request(prepared.url)
        self.jar.add_cookie_header(request)
        found = request.get_header("Cookie")
        if found is None:
            return prepared
        first, _, rest = prepared.data.partition(b"\r\n")
        return replace(prepared, data=b"%b\r\nCookie: %b\r\n%b" % (first, found.encode("latin-1"), rest))

    def keep(self, prepared: Prepared, reply: Reply) -> None:
        """Store the cookies that a reply sets."""
        self.jar.extract_cookies(_CookieReply(reply), Request(prepared.url))  # type: ignore[arg-type]


class _CookieReply:
    """A reply as http.cookiejar reads it."""

    def __init__(self, reply: Reply) -> None:
        self._message = Message()
        for name, value in reply.headers().items():
            if name.lower() in ("set-cookie", "set-cookie2"):
                self._message[name] = value

    def info(self) -> Message:
        return self._message
