"""A connection that carries one request at a time, over gevent's sockets, whose `connect` the guard watches."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import gevent.socket
from gevent import get_hub, getcurrent
from geventhttpclient._parser import HTTPParseError, HTTPResponseParser
from geventhttpclient.header import Headers
from geventhttpclient.response import HTTPConnectionClosed
from msgspec.structs import replace

from ..bodies import HEAD_MOST_BYTES, BodyTooLarge, unpacked
from ..connections import CLOSED, ConnectTimedOut, closes, is_quiet, past
from ..user_activity import reading
from .prepared import Origin, Prepared

# -- reply ---------------------------------------------------------------------------------------------------------------------
# One reply, framed by llhttp from bytes that arrive in pieces of any size. The sizes of its head and its body are bounded.
#
# Each callback of the parser into Python costs time, and the headers of one reply would need a dozen. So there are no callbacks
# for headers: the head is kept as received, and parsed only when headers are read.


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


RECEIVE_BYTES = 65_536
_READ = 1
"""libev's EV_READ."""


def connect(origin: Origin, *, connect_timeout_s: float, timeout_s: float, tls: Any) -> Connection:
    """Open a connection. `timeout_s`: limit for each whole request on it. Raises OSError, ConnectTimedOut."""
    try:
        sock = gevent.socket.create_connection((origin.host, origin.port), connect_timeout_s)
        if origin.scheme == "http":
            return PlainConnection(sock, timeout_s)
        return TlsConnection(_encrypted(sock, tls, origin.host), timeout_s)
    except TimeoutError as error:
        raise ConnectTimedOut(*error.args) from error


def _encrypted(sock: Any, tls: Any, host: str) -> Any:
    try:
        return tls.wrap_socket(sock, server_hostname=host)
    except BaseException:
        sock.close()
        raise


class Connection:
    """A connection that lasts until a reply, a failure, the service or its user ends it. Each end is counted in
    `connections.closes`.
    """

    def __init__(self, sock: Any, timeout_s: float) -> None:
        self._sock, self.timeout_s = sock, timeout_s
        self.is_open = True
        self._latest_status: int | None = None

    def exchange(self, prepared: Prepared, reply: Reply) -> None:
        """Send the request and read its reply until it is complete, of a streamed one its head, and the next piece for a request
        without bytes. Raises OSError, TimeoutError, HTTPParseError, BodyTooLarge.
        """
        try:
            self._exchange(prepared.data, reply)
        except CLOSED as error:
            error.past = past(self._latest_status is not None, self._latest_status)  # type: ignore[union-attr]
            self.end(by_service=True)
            raise
        except BaseException:
            self.end(by_service=reply.has_ended)
            raise
        if reply.is_whole:
            self._latest_status = reply.status
            if not reply.should_keep_alive():
                self.end(by_service=not prepared.asks_to_close)

    def limit(self, timeout_s: float) -> None:
        """The limit for each request from now on."""
        self.timeout_s = timeout_s

    def pause(self, *, paused: bool) -> None:
        """While a streamed reply is not being read, bytes that arrive do not mean that the service has ended the connection."""

    def _exchange(self, data: bytes, reply: Reply) -> None:
        raise NotImplementedError

    def is_usable(self) -> bool:
        """Whether an idle connection can send another request. If the service has closed it, it is closed here too."""
        if self._is_lost():
            self.end(by_service=True)
        return self.is_open

    def _is_lost(self) -> bool:
        raise NotImplementedError

    def close(self) -> None:
        """Close it from the user's side, and count which side closed it first."""
        if self.is_open:
            self.end(by_service=self._is_lost())

    def end(self, *, by_service: bool) -> None:
        """Close it, and count which side did."""
        self.is_open = False
        closes.add(by_service=by_service)
        self._sock.close()


class Wake:
    """The callbacks of the event loop for a readable socket and for a timeout. It has no reference to the connection, so that an
    unreferenced connection is freed although the loop refers to its watcher."""

    __slots__ = ("is_lost", "sleeper", "timed_out")

    def __init__(self) -> None:
        self.sleeper: Any = None
        """The greenlet that waits for a reply."""
        self.is_lost = self.timed_out = False

    def on_readable(self, watcher: Any) -> None:
        """Wake the greenlet that waits for a reply. If none waits, the service has ended the connection."""
        if self.sleeper is not None:
            self.sleeper.switch()
        else:
            self.is_lost = True
            watcher.stop()

    def on_time_out(self) -> None:
        """The request has taken too long."""
        self.timed_out = True
        if self.sleeper is not None:
            self.sleeper.switch()


class PlainConnection(Connection):
    """A connection without TLS. It has one watcher for its whole life: starting one for each wait, as gevent's `recv` does,
    takes half of a request's CPU time (19,000 against 34,000 requests per CPU second)."""

    def __init__(self, sock: Any, timeout_s: float) -> None:
        super().__init__(sock, timeout_s)
        self._raw = sock._sock
        """The socket below gevent's; its calls do not block."""
        self._hub = get_hub()
        self._wake = wake = Wake()
        self._watcher = self._hub.loop.io(sock.fileno(), _READ, ref=False)
        self._watcher.start(wake.on_readable, self._watcher)
        self.limit(timeout_s)

    def limit(self, timeout_s: float) -> None:
        """As of Connection."""
        super().limit(timeout_s)
        self._timer = self._hub.loop.timer(timeout_s, timeout_s)
        """Started by `again`, which needs the repeat: after `stop`, `start` would go on with the time that was left."""

    def pause(self, *, paused: bool) -> None:
        """As of Connection: the watcher is stopped meanwhile."""
        if paused:
            self._watcher.stop()
        else:
            self._watcher.start(self._wake.on_readable, self._watcher)

    def _exchange(self, data: bytes, reply: Reply) -> None:
        wake, receive, switch = self._wake, self._raw.recv, self._hub.switch
        self._timer.again(wake.on_time_out)
        try:
            refused = self._send(data) if data else None
            wake.sleeper = getcurrent()
            while not reply.is_complete:
                switch()
                if wake.timed_out:
                    raise TimeoutError("timed out")
                try:
                    received = receive(RECEIVE_BYTES)
                except BlockingIOError:
                    continue
                if refused is not None and not received:
                    raise refused
                reply.take(received)
        finally:
            wake.sleeper = None
            self._timer.stop()

    def _send(self, data: bytes) -> OSError | None:
        """Send the request. Returns the error if the service closed before it had read everything, since it may have replied
        before.
        """
        try:
            try:
                sent = self._raw.send(data)
            except BlockingIOError:
                sent = 0
            if sent < len(data):
                self._send_rest(memoryview(data)[sent:])
        except (ConnectionResetError, BrokenPipeError) as error:
            return error
        return None

    def _send_rest(self, data: memoryview) -> None:
        """Send what does not fit into the socket's buffer. A reply that arrives meanwhile is read afterwards."""
        self._watcher.stop()
        try:
            self._sock.settimeout(self.timeout_s)
            self._sock.sendall(data)
        finally:
            self._watcher.start(self._wake.on_readable, self._watcher)

    def _is_lost(self) -> bool:
        return self._wake.is_lost

    def end(self, *, by_service: bool) -> None:
        """Close it, and count which side did."""
        self._watcher.close()
        super().end(by_service=by_service)

    def __del__(self) -> None:
        """Close the connection of a user that has ended. The collector may run in any thread, so the loop's thread does it."""
        if self.is_open:
            self._hub.loop.run_callback_threadsafe(_free, self._watcher, self._sock)


def _free(watcher: Any, sock: Any) -> None:
    watcher.close()
    sock.close()


class TlsConnection(Connection):
    """A connection with TLS. It uses gevent's own calls, since received bytes may wait in OpenSSL's buffer."""

    def _exchange(self, data: bytes, reply: Reply) -> None:
        ends_s = time.monotonic() + self.timeout_s
        self._sock.settimeout(self.timeout_s)
        if data:
            self._sock.sendall(data)
        while not reply.is_complete:
            left_s = ends_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError("timed out")
            self._sock.settimeout(left_s)
            reply.take(self._sock.recv(RECEIVE_BYTES))

    def _is_lost(self) -> bool:
        return not is_quiet(self._sock.fileno())


# -- stream --------------------------------------------------------------------------------------------------------------------
# The body of a reply with `stream=True`: read from the connection as user code asks for it, as it was sent, without a bound.


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

    def read1(self) -> bytes:
        """What has arrived, at least one byte; none at the end. Raises as `read`."""
        body = self._reply.body
        while not body and self._connection is not None:
            self._receive(self._connection)
        found = bytes(body)
        body.clear()
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
            closes.add(by_service=False)
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
