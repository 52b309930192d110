"""A run of another process, from the side of a screen that attaches to it: its socket, its controls, its kept requests."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from ..errors import InputError
from ..model.controls import Control, Setup, State, expected
from ..model.kept_request import KeptRequest, RequestBrief
from ..model.sources import Clock
from .protocol import (
    FROM_RUN_MOST_BYTES,
    PROTOCOL,
    Answer,
    AskRequest,
    AskRequests,
    Call,
    Do,
    Frames,
    FromRun,
    Hello,
    KeptBriefs,
    KeptWhole,
    Message,
    Over,
    ProtocolError,
    Refused,
    Role,
    Update,
    Welcome,
    encode,
    frame,
    from_run,
)

# -- the connection: sends messages, and takes those that arrived. `take` never waits.

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


# -- the controls


RECONNECT_S = 1.0
"""Seconds after which a lost connection is replaced, and between two attempts: the run drops a screen that was stopped, or whose
terminal took nothing, for 10 s."""


class RemoteControls:
    """`Controls` over a connection: each control is sent, and counts as done at once, so that steps typed quickly add up. `poll`
    processes the messages that have arrived. A connection that was lost is replaced.
    """

    def __init__(self, connection: RunConnection) -> None:
        self._connection = connection
        self._state = State(holds=False)
        """As of the run's last update, with the controls that it does not include yet."""
        self._reconnecting = True
        """Whether no update has arrived since the connection was made or replaced."""
        self._refused = False
        self._connected_s = time.monotonic()
        """When the connection last existed, or was last tried."""
        self._sent = 0
        """The number of the last call."""
        self._pending: dict[int, Control] = {}
        """Controls by their numbers that the run's last update does not include."""
        self._answers: dict[int, Answer | KeptBriefs | KeptWhole] = {}
        """Those that are waited for, by the number of the call."""
        self._awaited = 0
        """The number of the call whose answer is waited for."""
        self._notices: list[str] = []
        self._wait_for_the_state()

    @property
    def setup(self) -> Setup:
        """How the run was set up."""
        return self._connection.welcome.setup

    @property
    def state(self) -> State:
        """The state as of the last key. Without a connection this screen has no controls."""
        connected = not (self._reconnecting or self._connection.is_lost)
        return replace(self._state, connected=connected, holds=self._state.holds and connected)

    def do(self, control: Control) -> str | None:
        """Send it. Waits for the run's answer if the control `is_answered`; any other refusal arrives as a notice."""
        self._state = expected(self._state, control)
        number = self._sent + 1
        self._pending[number] = control
        if not control.is_answered:
            self._send(Do(number=number, control=control))
            return None
        answer = self._answer_to(Do(number=number, control=control))
        return answer.wrong if isinstance(answer, Answer) else "the run did not answer"

    def briefs(self) -> Sequence[RequestBrief] | None:
        """All kept requests; None: no answer."""
        answer = self._answer_to(AskRequests(number=self._sent + 1))
        return answer.briefs if isinstance(answer, KeptBriefs) else None

    def request(self, number: int) -> KeptRequest | None:
        """One kept request; None: it is not kept any more, or no answer."""
        answer = self._answer_to(AskRequest(number=self._sent + 1, request=number))
        return answer.request if isinstance(answer, KeptWhole) else None

    def notices(self) -> list[str]:
        """Messages of the run for the user; each is returned once."""
        notices, self._notices = self._notices, []
        return notices

    def poll(self) -> bool:
        """Process the messages that have arrived. Returns whether the state may have changed."""
        was_connected = self.state.connected
        arrived = self._connection.take()
        for message in arrived:
            match message:
                case Update():
                    self._update(message)
                case Answer() | KeptBriefs() | KeptWhole() if message.number == self._awaited:
                    self._answers[message.number] = message
                case Answer(wrong=str(wrong)):
                    self._notices.append(wrong)
                case Refused(why=why):
                    self._refused = True
                    self._notices.append(f"the run refuses this screen: {why}")
        self._stay_connected()
        return bool(arrived) or was_connected != self.state.connected

    def _wait_for_the_state(self) -> None:
        """Without it the first key would be refused, as if another screen had the controls."""
        run = self._connection
        while self._reconnecting and not (run.is_lost or run.is_over) and run.wait_for_more():
            self.poll()

    def _update(self, update: Update) -> None:
        self._reconnecting, self._state = False, update.state
        self._pending = {number: control for number, control in self._pending.items() if number > update.seen}
        for control in self._pending.values():
            self._state = expected(self._state, control)

    def _send(self, call: Call) -> None:
        self._sent = call.number
        self._connection.send(call)

    def _answer_to(self, call: Call) -> Answer | KeptBriefs | KeptWhole | None:
        """Wait for the run's answer; None if the run is gone, or does not answer in time."""
        self._awaited = call.number
        self._send(call)
        while self._awaited not in self._answers and self.state.connected and self._connection.wait_for_more():
            self.poll()
        answer = self._answers.pop(self._awaited, None)
        self._awaited = 0
        return answer

    def _stay_connected(self) -> None:
        """Replace a connection that has been lost for RECONNECT_S, unless the run has ended or refuses this screen."""
        now_s = time.monotonic()
        if not self._connection.is_lost or self._connection.is_over or self._refused:
            self._connected_s = now_s
        elif now_s - self._connected_s >= RECONNECT_S:
            self._connected_s, self._reconnecting = now_s, True
            self._sent = self._awaited = 0  # calls are numbered anew on each connection
            self._pending.clear()
            self._connection.reconnect()


# -- kept requests, fetched when the user opens them; the list at most once a second


REFETCH_AFTER_S = 1.0


class RemoteRequests:
    """`KeptRequests` over a connection. What was fetched stays when the run has ended."""

    def __init__(self, controls: RemoteControls, monotonic: Clock = time.monotonic) -> None:
        self._controls, self._monotonic = controls, monotonic
        self._briefs: Sequence[RequestBrief] = ()
        self._asked_s: float | None = None

    @property
    def why_none(self) -> str:
        """Why there are no requests: the run cannot be reached, and none were fetched before. Empty otherwise."""
        return "" if self._controls.state.connected or self._briefs else "the run cannot be reached: it has the requests"

    def briefs(self) -> Sequence[RequestBrief]:
        """All kept requests, as of at most a second ago."""
        now_s = self._monotonic()
        if self._controls.state.connected and (self._asked_s is None or now_s - self._asked_s >= REFETCH_AFTER_S):
            self._asked_s = now_s
            self._briefs = self._controls.briefs() or self._briefs
        return self._briefs

    def request(self, number: int) -> KeptRequest | None:
        """One request with headers and bodies; None: it is not kept any more, or the run is gone."""
        return self._controls.request(number) if self._controls.state.connected else None
