"""The control server of a run on a real socket, and screens of this process that attach to it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from tui.fake_controls import FakeControls

from capexplorer.model.controls import Param, Setup
from capexplorer.model.events import Command
from capexplorer.remote.attached import RemoteControls, RunConnection
from capexplorer.remote.protocol import FROM_RUN_MOST_BYTES, PROTOCOL, Frames, FromRun, Role, Welcome, from_run
from capexplorer.run.control_server import ControlServer
from capexplorer.run.sampling import RequestStore
from capexplorer.run.screens import Screens
from lab.kit.runs import wait_until

from .bare_context import VirtualPump, bare_context

TIMEOUT_S = 60.0
WELCOME = Welcome(
    protocol=PROTOCOL,
    session="s",
    path="/x/s.jsonl",
    pid=os.getpid(),
    setup=Setup(max_users=2_000, can_restart=True, plans={"short": "5:3s"}, unattended_s=300.0),
)


class MonotonicPump(VirtualPump):
    def now_s(self) -> float:
        return monotonic()

    def at_s(self, monotonic_s: float) -> float:
        return monotonic_s


class ServedRun:
    """The control server of a run whose controls record their calls; screens and raw connections attach to its socket."""

    def __init__(self, folder: Path) -> None:
        self.controls, self.stops = FakeControls(), 0
        self._context = bare_context(MonotonicPump())
        self.requests = RequestStore(self._context.pump)
        self.screens = Screens(self.controls, self._context)
        self.server = ControlServer(self.screens, self.requests, self._context)
        self.server.let_end(self._stop)
        self.server.open(WELCOME)
        self.path, self.opened = folder / "s.sock", list[RunConnection | socket.socket]()

    @property
    def recorded(self) -> list[dict[str, Param | None]]:
        """The arguments of each command so far."""
        return [event.args for event in self._context.timeline.journal if isinstance(event, Command)]

    @property
    def logged(self) -> list[str]:
        """The lines of the log so far."""
        for line in self._context.log.drain(0.0):
            self._context.emit(line)
        return [line.text for line in self._context.timeline.log]

    def _stop(self) -> None:
        self.stops += 1

    def attach(self, name: str = "pts/1", *, watch: bool = False) -> RemoteControls:
        """The controls of a new screen; `watch`: it only watches."""
        return RemoteControls(self.connect("watch" if watch else "steer", name))

    def connect(self, role: Role, name: str) -> RunConnection:
        connection = RunConnection(self.path, role, name)
        self.opened.append(connection)
        return connection

    def raw_connection(self) -> socket.socket:
        """A connection that has sent nothing."""
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(TIMEOUT_S)
        connection.connect(str(self.path))
        self.opened.append(connection)
        return connection


def wait_until_screen_shows(screen: RemoteControls, condition: Callable[[], object], what: str) -> None:
    """Wait until the condition is true, and receive the messages to this screen meanwhile."""
    wait_until(lambda: screen.poll() and False or condition(), what)


def shows_users(screen: RemoteControls, users: int) -> bool:
    """Whether the run has reported this number of users to the screen."""
    return screen.state.load.users == users


def messages_until_closed(connection: socket.socket) -> list[FromRun]:
    """All messages of the run until it closes the connection."""
    data = b""
    try:
        while chunk := connection.recv(65_536):
            data += chunk
    except ConnectionResetError:  # the run closed it before it had read all bytes
        pass
    return [from_run(each) for each in Frames(FROM_RUN_MOST_BYTES).feed(data)]
