"""The body of a reply with `stream=True`: read from the connection as user code asks for it, as it was sent, without a bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ..connections import closes
from ..custom_events import reading
from .connection import Connection
from .prepared import Prepared
from .reply import StreamedReply

PIECE_BYTES = 16_384


class Stream:
    """A file-like object. Its connection is used again once all has been read, and else closed."""

    def __init__(
        self, connection: Connection, prepared: Prepared, reply: StreamedReply, release: Callable[[Connection | None], None]
    ) -> None:
        """`release`: takes the connection if it can be used again. It may be called in any thread."""
        self._connection = None if reply.is_whole else connection
        self._rest, self._reply, self._release = replace(prepared, data=b""), reply, release
        if reply.is_whole:
            release(connection)
        else:
            connection.pause(paused=True)

    @reading
    def read(self, size: int | None = None) -> bytes:
        """At most `size` bytes, fewer only at the end; None: all. Raises OSError, TimeoutError, HTTPParseError."""
        body = self._reply.body
        while self._connection is not None and (size is None or len(body) < size):
            self._receive(self._connection)
        found = bytes(body if size is None else body[:size])
        del body[: len(found)]
        return found

    @reading
    def readline(self, sep: bytes = b"\r\n") -> bytes:
        """Up to the next separator, which is included; without one the rest. Raises as `read`."""
        body = self._reply.body
        while (end := body.find(sep)) < 0 and self._connection is not None:
            self._receive(self._connection)
        return self.read(None if end < 0 else end + len(sep))

    def __iter__(self) -> Iterator[bytes]:
        while piece := self.read(PIECE_BYTES):
            yield piece

    def close(self) -> None:
        """Leave the rest unread."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.end(by_service=False)
            self._release(connection)

    def __del__(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:  # it closes itself in the thread of its loop
            closes.by_users += 1
            self._release(None)

    def _receive(self, connection: Connection) -> None:
        connection.pause(paused=False)
        self._reply.is_complete = False
        try:
            connection.exchange(self._rest, self._reply)
        finally:
            if self._reply.is_whole or not connection.is_open:
                self._connection = None
                self._release(connection)
            else:
                connection.pause(paused=True)
