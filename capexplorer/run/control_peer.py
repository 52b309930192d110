"""One connection to a run's socket: calls the controls as a screen's messages ask, and sends it the run's state. Pure.

The cost of a peer is bounded: bytes and calls a second, bytes that it has not read, and the time until it identifies itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from ..errors import InputError
from ..model.controls import Controls
from ..model.kept_request import KeptRequests
from ..remote.frames import FROM_SCREEN_MOST_BYTES, Frames, frame
from ..remote.protocol import (
    PROTOCOL,
    AddNote,
    Answer,
    AskControls,
    AskRequest,
    AskRequests,
    ChangeWorkers,
    ControlsCall,
    FromScreen,
    GiveControls,
    Hello,
    KeptBriefs,
    KeptWhole,
    Message,
    NewLevel,
    Over,
    ProtocolError,
    Refused,
    RestartTarget,
    SetAutopilot,
    SetSpawnRate,
    SetStep,
    StartPlan,
    State,
    StepTo,
    StepToRate,
    Stop,
    VerifyKnee,
    WatchPart,
    Welcome,
    Zero,
    encode,
    from_screen,
)
from .screen_controls import ScreenControls
from .screens import Screen, Screens

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
        controls: Controls,
        screens: Screens,
        requests: KeptRequests,
        stop: Callable[[], None],
        now_s: float,
    ) -> None:
        self.out = bytearray()
        self.is_over = False
        self.refusal: str | None = None
        """Why it was refused."""
        self._welcome, self._controls, self._screens, self._stop = welcome, controls, screens, stop
        self._requests = requests
        self._frames = Frames(FROM_SCREEN_MOST_BYTES)
        self._screen_controls: ScreenControls | None = None
        self._role: str | None = None
        self._seen = 0
        self._sent: State | None = None
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

    def look(self, now_s: float) -> None:
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
        if self._screen_controls is not None:
            self._screens.leave(self._screen_controls.screen)
            self._screen_controls = None

    # -- messages

    def _take(self, message: FromScreen) -> None:
        if isinstance(message, Hello):
            self._greet(message)
        elif self._role is None:
            self.refuse("the first message of a connection is a hello")
        elif isinstance(message, Stop):
            self._end_run()
        elif self._screen_controls is not None:
            self._seen = message.number
            match message:
                case AskRequests():
                    self.send(
                        KeptBriefs(number=message.number, briefs=tuple(brief.shortened() for brief in self._requests.briefs()))
                    )
                case AskRequest():
                    self.send(KeptWhole(number=message.number, request=self._requests.request(message.request)))
                case AskControls():
                    self._screen_controls.ask()
                case GiveControls():
                    self._screen_controls.give()
                case StartPlan() | RestartTarget() | ChangeWorkers() | WatchPart():
                    self.send(Answer(number=message.number, wrong=_carried_out(message, self._screen_controls)))
                case _:
                    _carry_out(message, self._screen_controls)

    def _greet(self, hello: Hello) -> None:
        if self._role is not None:
            return self.refuse("a second hello")
        if hello.protocol != PROTOCOL:
            why = f"the run speaks protocol {PROTOCOL}, this capexplorer {hello.protocol}: use the version that started the run"
            return self.refuse(why)
        self._role = hello.role
        self.send(self._welcome)
        if hello.role != "stop":
            screen = Screen(hello.name, may_steer=hello.role == "steer")
            self._screen_controls = ScreenControls(self._controls, self._screens, screen)
            self._screens.join(screen)

    def _end_run(self) -> None:
        if self._role == "watch":
            return self.refuse("a screen that only watches ends no run")
        self._stop()

    def _send_state(self) -> None:
        controls = self._screen_controls
        if controls is None or self.is_over:
            return
        state = State(
            seen=self._seen, wanted=controls.wanted, offered_per_s=controls.offered_per_s, spawn_rate=controls.spawn_rate,
            workers=controls.workers, autopilot=controls.autopilot, target_params=controls.target_params, holds=controls.holds,
            holder=controls.holder, asked_by=controls.asked_by, screens=controls.screens,
        )  # fmt: skip
        if state != self._sent:
            self._sent = state
            self.send(state)


def _carried_out(call: StartPlan | RestartTarget | ChangeWorkers | WatchPart, controls: Controls) -> str | None:
    """Perform the call. Returns what was wrong with it, in one line; None: nothing."""
    if isinstance(call, ChangeWorkers):
        return controls.change_workers(add=call.add) or None
    if isinstance(call, WatchPart):
        return controls.watch_part(call.part) or None
    try:
        _carry_out(call, controls)
    except InputError as error:
        return str(error)
    return None


def _carry_out(call: ControlsCall, controls: Controls) -> None:  # noqa: C901 - one case a call
    match call:
        case StepTo():
            controls.set_users(call.users)
        case StepToRate():
            controls.set_rate(call.per_s)
        case SetStep():
            controls.set_step(call.step)
        case SetSpawnRate():
            controls.set_spawn_rate(call.rate)
        case ChangeWorkers():
            controls.change_workers(add=call.add)
        case WatchPart():
            controls.watch_part(call.part)
        case SetAutopilot():
            controls.set_autopilot(call.on, finds_rate=call.finds_rate)
        case VerifyKnee():
            controls.verify_knee()
        case StartPlan():
            controls.start_plan(call.plan)
        case NewLevel():
            controls.new_level()
        case Zero():
            controls.zero()
        case AddNote():
            controls.note(call.text)
        case RestartTarget():
            controls.restart_target(call.params)
        case _:
            assert_never(call)
