"""One reply, framed by llhttp from bytes that arrive in pieces of any size. The sizes of its head and its body are bounded.

Each callback of the parser into Python costs time, and the headers of one reply would need a dozen. So there are no callbacks for
headers: the head is kept as received, and parsed only when headers are read.
"""

from __future__ import annotations

import re
import time
from collections import deque
from typing import Any

from geventhttpclient._parser import HTTPParseError, HTTPResponseParser
from geventhttpclient.header import Headers
from geventhttpclient.response import HTTPConnectionClosed

from ..bodies import HEAD_MOST_BYTES, BodyTooLarge, unpacked

_SWITCHING_PROTOCOLS = 101
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_INTERIM = re.compile(rb"HTTP/\d\.\d 1(?!01)\d\d")

_ignore = deque[str](maxlen=0).append
"""The cheapest callable that ignores a text."""


class Reply(HTTPResponseParser):
    """A reply that is being received: call `take` with received bytes until `is_complete`."""

    is_whole = False
    """Whether all of the reply has arrived."""
    lowered_head = b""
    """The final head in lower case, perhaps with more around it: a header whose name is not in it is certainly not there."""
    has_ended = False
    """Whether the service closed the connection."""
    connect_s: float | None = None
    """Seconds to open the connection; None: an open one was used, or there is none yet."""
    has_connection = False
    history: tuple[Any, ...] = ()
    """The responses of the redirects that led to it."""
    stream: Any = None
    """What user code reads a streamed reply from; set once its head is complete."""
    _on_status = _on_header_field = _on_header_value = staticmethod(_ignore)

    def __init__(self, *, is_head: bool, most_bytes: int) -> None:
        """`is_head`: it replies to HEAD, so it has no body even if its headers announce one. `most_bytes`: limit of the
        decompressed body.
        """
        self.is_complete = False
        """Whether the reply, or of a streamed one a piece, has arrived."""
        self.status = 0
        """0 until the final head is complete."""
        self.first_byte_s: float | None = None
        """`time.perf_counter` at which the first bytes arrived."""
        self._head = b""
        """The head as received, with interim heads before it and the beginning of the body after it."""
        self._has_interim = False
        self.body = bytearray()
        self._on_body = self.body.extend
        self._is_head, self.most_bytes = is_head, most_bytes

    def take(self, data: bytes) -> None:
        """Take in received bytes; empty bytes mean the end of the stream. Raises HTTPParseError, BodyTooLarge."""
        if not self.status:
            if self.first_byte_s is None and data:
                self.first_byte_s = time.perf_counter()
            self._head += data
        self.has_ended = not data
        if not data and not self._head:
            raise HTTPConnectionClosed("connection closed.")
        try:
            self.feed(data)
        except HTTPParseError:
            if not self.is_whole:  # else the reply is valid, and its connection is not used again because of what follows it
                raise
        if not self.status and len(self._head) > HEAD_MOST_BYTES:
            raise HTTPParseError(f"head larger than {HEAD_MOST_BYTES} bytes")
        if len(self.body) > self.most_bytes:
            self.body.clear()
            raise BodyTooLarge(self.most_bytes)

    def content(self) -> bytes | None:
        """The decompressed body; None: it is read from `stream`. Raises BodyTooLarge, zlib.error."""
        body = bytes(self.body)
        if not body or b"content-encoding:" not in self.lowered_head:
            return body
        return unpacked(body, ",".join(self.headers().getlist("content-encoding")).lower(), self.most_bytes)

    def headers(self) -> Headers:
        """The headers, parsed at each call."""
        lines = self.final_head().decode("latin-1").splitlines()
        found = Headers()
        name = ""
        for line in lines[1:]:
            if line[:1] in (" ", "\t") and name:
                continue  # the folded rest of an obsolete header
            name, _, value = line.partition(":")
            found.add(name.strip(), value.strip())
        return found

    def final_head(self) -> bytes:
        """Status line and headers as received, without interim replies before them."""
        rest = self._head
        while (end := _HEAD_END.search(rest)) is not None:
            if not _INTERIM.match(rest):
                return rest[: end.start()]
            rest = rest[end.end() :]
        return rest

    # -- callbacks of the parser. Returning True is an error, except after the headers, where it means that there is no body

    def _on_message_begin(self) -> bool:
        return self.is_whole  # more than one reply to one request

    def _on_headers_complete(self) -> bool:
        code = self.get_code()
        if code < 200 and code != _SWITCHING_PROTOCOLS:
            self._has_interim = True
            return False
        self.status, head = code, self._head
        self.lowered_head = (head if self._has_interim else head[: head.find(b"\r\n\r\n")]).lower()
        return self._is_head

    def _on_message_complete(self) -> None:
        self.is_complete = self.is_whole = self.status != 0


class StreamedReply(Reply):
    """A reply of which pieces are read as they arrive: `is_complete` is True after its head, and after each piece."""

    def take(self, data: bytes) -> None:
        """As of Reply."""
        super().take(data)
        self.is_complete = self.status != 0

    def content(self) -> None:
        """As of Reply."""
