"""The screen's end of a connection to a run: sends messages, and takes those that arrived. `take` never waits."""

from __future__ import annotations

import select
import socket
import time
from pathlib import Path

from ..errors import InputError
from .frames import FROM_RUN_MOST_BYTES, Frames, frame
from .protocol import PROTOCOL, FromRun, Hello, Message, Over, ProtocolError, Refused, Role, Welcome, encode, from_run

ANSWERS_WITHIN_S = 5.0
WELCOMES_WITHIN_S = 20.0
"""A run that has ended refuses the connection at once; one on a machine that its load keeps busy may answer late."""
_READ_BYTES = 65_536


class RunConnection:
    """Connects, and waits for the run's welcome. Raises InputError: no run listens there, or it refuses."""

    def __init__(self, path: Path, role: Role, name: str) -> None:
        self._path, self._hello = path, Hello(protocol=PROTOCOL, role=role, name=name)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._frames = Frames(FROM_RUN_MOST_BYTES)
        self._arrived: list[FromRun] = []
        self.is_lost = False
        """The run closed the connection, or sent bytes that are not a message."""
        self.is_over = False
        """The run has ended, and its log is complete."""
        try:
            self._connect(ANSWERS_WITHIN_S)
            self.welcome = self._welcomed(path)
        except OSError as error:
            self.close()
            raise InputError(f"{path}: the run cannot be reached: {error.strerror or error}") from None
        except InputError:
            self.close()
            raise

    def _connect(self, within_s: float) -> None:
        self._socket.settimeout(within_s)
        self._socket.connect(str(self._path))
        self.send(self._hello)

    def reconnect(self) -> None:
        """Try once to replace a lost connection, without waiting. If that works, the next message is the run's welcome."""
        self._socket.close()
        self._socket, self._frames = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), Frames(FROM_RUN_MOST_BYTES)
        self.is_lost = False
        try:
            self._connect(0.0)
        except OSError:
            self.is_lost = True

    def send(self, message: Message) -> None:
        """Send one message. A run that does not accept it within ANSWERS_WITHIN_S counts as lost."""
        try:
            self._socket.settimeout(ANSWERS_WITHIN_S)
            self._socket.sendall(frame(encode(message)))
        except OSError:
            self.is_lost = True

    def take(self) -> list[FromRun]:
        """The messages that have arrived since the last call. Does not wait."""
        self._receive()
        arrived, self._arrived = self._arrived, []
        return arrived

    def wait_for_more(self, seconds: float = ANSWERS_WITHIN_S) -> bool:
        """Wait until a message has arrived or the run is gone; False if neither happens in that time."""
        return bool(self._arrived) or self.is_lost or bool(select.select([self._socket], [], [], seconds)[0])

    def wait_until_over(self, within_s: float) -> None:
        """Wait until the run has ended and its session is saved. Raises InputError: not within that time, or the connection was
        lost.
        """
        deadline_s = time.monotonic() + within_s
        while not self.is_over and not self.is_lost:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise InputError(f"{self.welcome.session}: has not ended within {within_s:g} s")
            self.wait_for_more(left_s)
            self.take()
        if not self.is_over:
            raise InputError(f"{self.welcome.session}: the connection was lost before the session was saved")

    def _welcomed(self, path: Path) -> Welcome:
        deadline_s = time.monotonic() + WELCOMES_WITHIN_S
        while not self._arrived and not self.is_lost and self.wait_for_more(max(0.0, deadline_s - time.monotonic())):
            self._receive()
        match self._arrived[:1]:
            case [Welcome() as welcome]:
                del self._arrived[0]
                return welcome
            case [Refused(why=why)]:
                raise InputError(f"{path}: the run refuses this screen: {why}")
        raise InputError(f"{path}: no answer of the run within {WELCOMES_WITHIN_S:g} s")

    def _receive(self) -> None:
        """Read all bytes that have arrived."""
        self._socket.setblocking(False)
        while not self.is_lost:
            try:
                data = self._socket.recv(_READ_BYTES)
                messages = [from_run(each) for each in self._frames.feed(data)]
            except BlockingIOError:
                return
            except (OSError, ProtocolError):
                data, messages = b"", []
            self._arrived += messages
            self.is_lost = not data
            self.is_over = self.is_over or any(isinstance(message, Over) for message in messages)

    def close(self) -> None:
        """Close the connection; may be called twice."""
        self._socket.close()
