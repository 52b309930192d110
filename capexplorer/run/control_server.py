"""The socket of a run, in a native thread of its own: other processes of this user attach to it and steer.

C-level sockets, which gevent never patches. Nothing here waits for a peer; the load, the pump and the log do not wait for this.
"""

from __future__ import annotations

import _socket
import contextlib
import os
import select
import struct
import time
from collections.abc import Callable
from pathlib import Path

from ..load import native
from ..model.controls import EndRun
from ..model.kept_request import KeptRequests
from ..remote import run_sockets
from ..remote.protocol import (
    FROM_SCREEN_MOST_BYTES,
    PROTOCOL,
    Answer,
    AskRequest,
    AskRequests,
    Do,
    Frames,
    FromScreen,
    Hello,
    KeptBriefs,
    KeptWhole,
    Message,
    Over,
    ProtocolError,
    Refused,
    Update,
    Welcome,
    encode,
    frame,
    from_screen,
)
from .context import RunContext
from .screens import RunScreen, Screens

# -- control peer --------------------------------------------------------------------------------------------------------------
# One connection to a run's socket: passes controls on to the screen that sent them, and sends it the run's state. Pure.
#
# The cost of a peer is bounded: bytes a second, bytes that it has not read, and the time until it identifies itself.


HELLO_WITHIN_S = 5.0
"""Seconds within which a new peer must identify itself."""
UNREAD_WITHIN_S = 10.0
"""Seconds after which a peer is dropped that reads nothing while messages wait for it. A screen connects again."""

A_SECOND_MOST_BYTES = 16 * 1024
"""Bytes received from one peer in a second. A key that auto-repeats makes 30 calls of 20 bytes a second; the longest message
takes four seconds."""
UNREAD_MOST_BYTES = 1024 * 1024


class Peer:
    """Pass received bytes to `receive`, and send `out`. When `is_over`, close the connection once `out` is sent. `stop` is called
    when the peer ends the run.
    """

    def __init__(
        self,
        welcome: Welcome,
        screens: Screens,
        requests: KeptRequests,
        stop: Callable[[], None],
        now_s: float,
    ) -> None:
        self.out = bytearray()
        self.is_over = False
        self.refusal: str | None = None
        """Why it was refused."""
        self._welcome, self._screens, self._requests, self._stop = welcome, screens, requests, stop
        self._frames = Frames(FROM_SCREEN_MOST_BYTES)
        self._screen: RunScreen | None = None
        self._role: str | None = None
        self._seen = 0
        self._sent: Update | None = None
        self._began_s = self._read_s = now_s
        self._second, self._bytes = int(now_s), 0

    # -- bytes

    def receive(self, data: bytes, now_s: float) -> None:
        """Handle received bytes; empty bytes mean that the peer has closed the connection."""
        if not data:
            self.is_over = True
            return
        self._count(len(data), now_s)
        try:
            for message in self._frames.feed(data):
                if not self.is_over:
                    self._take(from_screen(message))
        except ProtocolError as error:
            self.refuse(str(error))

    def may_receive(self, now_s: float) -> bool:
        """Whether more may be received in this second."""
        self._count(0, now_s)
        return self._bytes < A_SECOND_MOST_BYTES

    def _count(self, received: int, now_s: float) -> None:
        if int(now_s) != self._second:
            self._second, self._bytes = int(now_s), 0
        self._bytes += received

    def has_read(self, count: int, now_s: float) -> None:
        """Note that the peer has taken this many bytes of `out`."""
        del self.out[:count]
        self._read_s = now_s

    def serve(self, now_s: float) -> None:
        """Send a changed state once the peer has read the last one. Drop a peer that is too slow."""
        if not self.out:
            self._read_s = now_s
            self._send_state()
        silent = self._role is None and now_s - self._began_s >= HELLO_WITHIN_S
        if silent or now_s - self._read_s >= UNREAD_WITHIN_S:
            self._drop()

    def _drop(self) -> None:
        """Close the connection without a further byte."""
        self.out.clear()
        self.is_over = True

    def send(self, message: Message) -> None:
        """One message to the peer, unless it has left too much unread: then it is dropped."""
        self.out += frame(encode(message))
        if len(self.out) > UNREAD_MOST_BYTES:
            self._drop()

    def refuse(self, why: str) -> None:
        """Queue the last message for the peer: why it was refused."""
        self.refusal, self.is_over = why, True
        self.send(Refused(why=why))

    def end(self) -> None:
        """Report the end of the run to the peer."""
        if self._role is not None:
            self.send(Over())
        self.is_over = True

    def leave(self) -> None:
        """Handle that the connection was closed: the screen leaves."""
        if self._screen is not None:
            self._screen.leave()
            self._screen = None

    # -- messages

    def _take(self, message: FromScreen) -> None:
        if isinstance(message, Hello):
            self._greet(message)
        elif self._role is None:
            self.refuse("the first message of a connection is a hello")
        elif isinstance(message, Do) and isinstance(message.control, EndRun):
            self._end_run()
        elif self._screen is not None:
            self._seen = message.number
            match message:
                case AskRequests(number=number):
                    self.send(KeptBriefs(number=number, briefs=tuple(brief.shortened() for brief in self._requests.briefs())))
                case AskRequest(number=number, request=request):
                    self.send(KeptWhole(number=number, request=self._requests.request(request)))
                case Do(number=number, control=control):
                    why_not = self._screen.do(control)
                    if why_not is not None or control.is_answered:
                        self.send(Answer(number=number, wrong=why_not))

    def _greet(self, hello: Hello) -> None:
        if self._role is not None:
            return self.refuse("a second hello")
        if hello.protocol != PROTOCOL:
            why = f"the run speaks protocol {PROTOCOL}, this capexplorer {hello.protocol}: use the version that started the run"
            return self.refuse(why)
        self._role = hello.role
        self.send(self._welcome)
        if hello.role != "stop":
            self._screen = self._screens.join(hello.name, may_steer=hello.role == "steer")

    def _end_run(self) -> None:
        if self._role == "watch":
            return self.refuse("a screen that only watches ends no run")
        self._stop()

    def _send_state(self) -> None:
        if self._screen is None or self.is_over:
            return
        update = Update(seen=self._seen, state=self._screen.state)
        if update != self._sent:
            self._sent = update
            self.send(update)


PEERS_MOST = 32
"""Connections at a time; more are refused."""
ACCEPTS_A_TURN = 32
"""Where more wait, the others are accepted `_TURN_S` later: whoever connects without end costs the run at most 160 a second."""
_WAITING_MOST = 128
"""Connections that wait to be accepted; the connect call of a further one fails."""

_TURN_S = 0.2
"""Seconds between checks for news that the peers should get."""
_IDLE_S = 1.0
"""The same while there are no peers."""
_KEEP_S = 2.0
"""Seconds between checks that the socket file still exists: the runtime folder is removed with the user's last login."""
_LOG_AGAIN_S = 60.0
"""Seconds between log lines about refused connections."""
_ENDS_WITHIN_S = 2.0
_READ_BYTES = 4096
_SOCKET_MODE = 0o600
_CREDENTIALS = struct.Struct("3i")
"""pid, uid, gid of SO_PEERCRED."""


class ControlServer:
    """`open` when the session has its path, `close` when its log is complete."""

    def __init__(self, screens: Screens, requests: KeptRequests, context: RunContext) -> None:
        self._screens, self._requests, self._context = screens, requests, context
        self._stop: Callable[[], None] | None = None
        self._listener: _socket.socket | None = None
        self._path: Path | None = None
        self._inode = 0
        self._peers: dict[int, tuple[_socket.socket, Peer]] = {}
        self._kept_s = self._logged_s = -_LOG_AGAIN_S
        self._accepts_at_s = 0.0
        """When connections are accepted again."""
        self._ending = False
        self._wake = os.pipe()
        self._running = native.allocate_lock()
        """Held while the thread runs."""

    # -- from other threads

    def let_end(self, stop: Callable[[], None]) -> None:
        """Call `stop` from now on when a peer ends the run."""
        self._stop = stop

    def open(self, welcome: Welcome) -> None:
        """Listen in a thread of its own. If no socket can be made, log a warning; the run continues without one."""
        self._welcome = welcome
        if not self._listen():
            why = run_sockets.why_none() or "its socket cannot be made in the user's runtime folder"
            return self._context.log_line("capexplorer", "warning", f"no screen can be attached to this run: {why}")
        self._running.acquire()
        native.start_thread(self._run)

    def close(self) -> None:
        """Report the end of the run to all peers, and stop listening; may be called twice."""
        if self._ending:
            return
        self._ending = True
        os.write(self._wake[1], b"\0")
        if self._running.acquire(timeout=_ENDS_WITHIN_S):
            self._running.release()
            for fd in self._wake:  # not by the thread: it may have seen `_ending` and ended before the byte is written
                os.close(fd)

    # -- in the thread

    def _run(self) -> None:
        try:
            while not self._ending:
                self._turn()
        finally:
            self._end()
            self._running.release()

    def _turn(self) -> None:
        for fd, _ in self._poller().poll(1000 * (_TURN_S if self._peers else _IDLE_S)):
            if self._listener is not None and fd == self._listener.fileno():
                self._accept(self._listener)
            elif fd in self._peers:
                self._read(*self._peers[fd])
        self._screens.hand_over_when_due()
        now_s = time.monotonic()
        for connection, peer in list(self._peers.values()):
            peer.serve(now_s)
            self._write(connection, peer)
        if now_s - self._kept_s >= _KEEP_S:
            self._kept_s = now_s
            self._keep_listening()

    def _poller(self) -> select.poll:
        """A poller over the connections that have something to read or write. Made again each turn: there are few."""
        poller, now_s = native.poll(), time.monotonic()
        poller.register(self._wake[0], select.POLLIN)
        if self._listener is not None and now_s >= self._accepts_at_s:
            poller.register(self._listener.fileno(), select.POLLIN)
        for fd, (_, peer) in self._peers.items():
            wanted = select.POLLIN if peer.may_receive(now_s) and not peer.is_over else 0
            poller.register(fd, wanted | (select.POLLOUT if peer.out else 0))
        return poller

    def _accept(self, listener: _socket.socket) -> None:
        for _ in range(ACCEPTS_A_TURN):
            try:
                fd, _ = listener._accept()  # type: ignore[attr-defined]
            except BlockingIOError:  # nobody waits any more
                return
            except OSError:  # no descriptor is left: whoever waits goes on waiting
                break
            connection = _socket.socket(fileno=fd)
            connection.setblocking(False)
            peer = Peer(self._welcome, self._screens, self._requests, self._end_run, time.monotonic())
            why_not = self._why_not(connection)
            if why_not is not None:
                peer.refuse(why_not)
            self._peers[fd] = connection, peer
            self._write(connection, peer)
        self._accepts_at_s = time.monotonic() + _TURN_S

    def _why_not(self, connection: _socket.socket) -> str | None:
        if len(self._peers) >= PEERS_MOST:
            return f"{PEERS_MOST} connections are open already"
        if hasattr(_socket, "SO_PEERCRED"):  # elsewhere the folder's mode alone keeps others out
            credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _CREDENTIALS.size)
            if _CREDENTIALS.unpack(credentials)[1] != os.geteuid():
                return "the run is another user's"
        return None

    def _end_run(self) -> None:
        if self._stop is not None:
            self._stop()

    def _read(self, connection: _socket.socket, peer: Peer) -> None:
        try:
            data = connection.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        peer.receive(data, time.monotonic())

    def _write(self, connection: _socket.socket, peer: Peer) -> None:
        try:
            if peer.out:
                peer.has_read(connection.send(peer.out), time.monotonic())
        except BlockingIOError:
            return
        except OSError:
            peer.out.clear()
            peer.is_over = True
        if peer.is_over and not peer.out:
            self._drop(connection, peer)

    def _drop(self, connection: _socket.socket, peer: Peer) -> None:
        del self._peers[connection.fileno()]
        connection.close()
        peer.leave()
        now_s = time.monotonic()
        if peer.refusal is not None and now_s - self._logged_s >= _LOG_AGAIN_S:
            self._logged_s = now_s
            self._context.log_line("capexplorer", "warning", f"a connection to the run's socket was refused: {peer.refusal}")

    # -- the socket itself

    def _listen(self) -> bool:
        for folder in run_sockets.folders():
            if run_sockets.make_folder(folder):
                path = folder / f"{self._welcome.session}{run_sockets.SUFFIX}"
                listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
                try:
                    listener.bind(str(path))
                    os.chmod(path, _SOCKET_MODE)
                    listener.listen(_WAITING_MOST)
                    listener.setblocking(False)
                    self._inode = os.stat(path).st_ino
                except OSError:  # in use, or its path is too long
                    listener.close()
                    continue
                self._listener, self._path = listener, path
                return True
        return False

    def _keep_listening(self) -> None:
        """Listen again if the socket file was removed."""
        with contextlib.suppress(OSError):
            if self._path is not None and os.stat(self._path).st_ino == self._inode:
                return
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        self._listen()

    def _end(self) -> None:
        for connection, peer in list(self._peers.values()):
            peer.end()
            self._write(connection, peer)
        for connection, peer in list(self._peers.values()):
            self._drop(connection, peer)
        if self._listener is not None and self._path is not None:
            self._listener.close()
            with contextlib.suppress(OSError):
                self._path.unlink()
