"""A connection that carries one request at a time, over gevent's sockets, whose `connect` the guard watches."""

from __future__ import annotations

import time
from typing import Any

import gevent.socket
from gevent import get_hub, getcurrent

from ..connections import CLOSED, ConnectTimedOut, closes, is_quiet, past
from .prepared import Origin, Prepared
from .reply import Reply

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
