"""The controls of a run in another process. Each call is sent; its effect is seen in the next `State` that the run sends.

A step counts as taken as soon as it is sent, so that steps typed quickly add up. All other properties are those of the last
state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from ..errors import InputError
from ..model.offered import clamped_rate
from ..model.param import Param
from .protocol import (
    AddNote,
    Answer,
    AskControls,
    Call,
    ChangeWorkers,
    GiveControls,
    KeptBriefs,
    KeptWhole,
    NewLevel,
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
    Zero,
)
from .run_connection import RunConnection

# -- run calls -----------------------------------------------------------------------------------------------------------------
# Numbered calls of a screen to a run in another process, and the run's answers. Replaces a connection that was lost.


RECONNECT_S = 1.0
"""Seconds after which a lost connection is replaced, and between two attempts: the run drops a screen that was stopped, or whose
terminal took nothing, for 10 s."""


class RunCalls:
    """`send` a call with the number `next`; `poll` processes the messages that have arrived."""

    def __init__(self, connection: RunConnection, on_state: Callable[[State], None]) -> None:
        """`on_state` is called with each state of the run as it arrives."""
        self._connection, self._on_state = connection, on_state
        self._refused = self._reconnecting = False
        self._connected_s = time.monotonic()
        """When the connection last existed, or was last tried."""
        self._sent = 0
        self._answers: dict[int, str | None] = {}
        """What was wrong with each call that was answered; None: nothing."""
        self._notices: list[str] = []
        self._request_answers: dict[int, KeptBriefs | KeptWhole] = {}

    @property
    def connected(self) -> bool:
        """Whether the run can be reached, and its present state is known."""
        return not (self._connection.is_lost or self._reconnecting)

    @property
    def next(self) -> int:
        """The number of the next call."""
        return self._sent + 1

    def send(self, call: Call) -> None:
        """Send one call, without waiting for its answer."""
        self._sent = call.number
        self._connection.send(call)

    def includes_all(self, state: State) -> bool:
        """Whether the run had taken all calls when it sent this state."""
        return state.seen == self._sent

    def poll(self) -> bool:
        """Process the messages that have arrived. Returns whether the state may have changed."""
        was_connected = self.connected
        arrived = self._connection.take()
        for message in arrived:
            match message:
                case State():
                    self._reconnecting = False
                    self._on_state(message)
                case Answer(number=number, wrong=wrong):
                    self._answers[number] = wrong
                    if wrong is not None:
                        self._notices.append(wrong)
                case KeptBriefs(number=number) | KeptWhole(number=number):
                    self._request_answers[number] = message
                case Refused(why=why):
                    self._refused = True
                    self._notices.append(f"the run refuses this screen: {why}")
        self._stay_connected()
        return bool(arrived) or was_connected != self.connected

    def _stay_connected(self) -> None:
        """Replace a connection that has been lost for RECONNECT_S, unless the run has ended or refuses this screen."""
        now_s = time.monotonic()
        if not self._connection.is_lost or self._connection.is_over or self._refused:
            self._connected_s = now_s
        elif now_s - self._connected_s >= RECONNECT_S:
            self._connected_s, self._reconnecting = now_s, True
            self._sent = 0  # calls are numbered anew on each connection
            self._answers.clear()
            self._request_answers.clear()
            self._connection.reconnect()

    def notices(self) -> list[str]:
        """Messages of the run for the user; each is returned once."""
        notices, self._notices = self._notices, []
        return notices

    def wrong_with(self, number: int) -> str | None:
        """Wait for the answer to a call: what is wrong with it, None if it was carried out. Drops all notices."""
        self._wait(lambda: number in self._answers)
        wrong = self._answers.pop(number, "the run did not answer")
        self._notices.clear()
        return wrong

    def answer_to(self, ask: Callable[[int], Call]) -> KeptBriefs | KeptWhole | None:
        """The run's answer about kept requests; `ask` makes the call, given its number. None: no answer."""
        number = self.next
        self.send(ask(number))
        self._wait(lambda: number in self._request_answers)
        return self._request_answers.pop(number, None)

    def _wait(self, has_arrived: Callable[[], bool]) -> None:
        """Wait until `has_arrived`, or until the run is gone or does not answer in time."""
        while not has_arrived() and self.connected and self._connection.wait_for_more():
            self.poll()


_UNKNOWN = State(
    seen=0,
    wanted=0,
    offered_per_s=None,
    spawn_rate=None,
    workers=0,
    autopilot=False,
    target_params={},
    holds=False,
    holder=None,
    asked_by=None,
    screens=1,
)


class RemoteControls:
    """`Controls` and `ControlsLock` over a connection. `poll` processes the messages that have arrived."""

    def __init__(self, connection: RunConnection, plan_wrong: Callable[[str, Mapping[str, str], int], str | None]) -> None:
        """`plan_wrong(plan, plans, max_users)`: what is wrong with a plan, as a sentence; None if it is valid."""
        self._connection, self._plan_wrong = connection, plan_wrong
        self._calls = RunCalls(connection, self._update)
        self._state = _UNKNOWN
        self._wanted = 0
        self._offered_per_s: float | None = None
        self._autopilot = False

    def poll(self) -> bool:
        """Process the messages that have arrived. Returns whether the state may have changed."""
        return self._calls.poll()

    def notices(self) -> list[str]:
        """Messages of the run for the user; each is returned once."""
        return self._calls.notices()

    def answer_to(self, ask: Callable[[int], Call]) -> KeptBriefs | KeptWhole | None:
        """The run's answer about kept requests; `ask` makes the call, given its number. None: no answer."""
        return self._calls.answer_to(ask)

    def _update(self, state: State) -> None:
        self._state = state
        if self._calls.includes_all(state):  # an older state does not include the last calls
            self._wanted, self._autopilot, self._offered_per_s = state.wanted, state.autopilot, state.offered_per_s

    # -- ControlsLock

    @property
    def connected(self) -> bool:
        """Whether the run can be reached, and its present state is known."""
        return self._calls.connected

    @property
    def holds(self) -> bool:
        """Whether this screen has the controls."""
        return self._state.holds and self.connected

    @property
    def holder(self) -> str | None:
        """Name of the screen that has the controls; None: no screen does."""
        return self._state.holder

    @property
    def asked_by(self) -> str | None:
        """Name of the screen that asks for the controls; None: no screen does."""
        return self._state.asked_by

    @property
    def screens(self) -> int:
        """Number of screens of the run."""
        return self._state.screens

    def ask(self) -> None:
        """Ask for the controls."""
        self._calls.send(AskControls(number=self._calls.next))

    def give(self) -> None:
        """Hand the controls to the screen that asks for them."""
        self._calls.send(GiveControls(number=self._calls.next))

    # -- Controls

    @property
    def wanted(self) -> int:
        """Users wanted as of the last key."""
        return self._wanted

    @property
    def offered_per_s(self) -> float | None:
        """Iterations offered each second as of the last key; None: users are set."""
        return self._offered_per_s

    @property
    def max_users(self) -> int:
        """The most users that the profile's guard allows."""
        return self._connection.welcome.max_users

    @property
    def spawn_rate(self) -> float | None:
        """Users a second; None: automatic."""
        return self._state.spawn_rate

    @property
    def target_params(self) -> Mapping[str, Param]:
        """Parameters of the target."""
        return self._state.target_params

    @property
    def can_restart(self) -> bool:
        """Whether capexplorer started the target."""
        return self._connection.welcome.can_restart

    @property
    def autopilot(self) -> bool:
        """Whether the autopilot steps, as of the last key."""
        return self._autopilot

    @property
    def plans(self) -> Mapping[str, str]:
        """Plans of the profile by name."""
        return self._connection.welcome.plans

    def plan_wrong(self, plan: str) -> str | None:
        """Why a plan is invalid, as a sentence; None if it is valid."""
        return self._plan_wrong(plan, self.plans, self.max_users)

    def set_users(self, users: int) -> int:
        """Step to `users`. Returns the count that is wanted now."""
        self._wanted, self._autopilot, self._offered_per_s = max(0, min(users, self.max_users)), False, None
        self._calls.send(StepTo(number=self._calls.next, users=self._wanted))
        return self._wanted

    def set_rate(self, per_s: float) -> float:
        """Offer iterations at this rate. Returns the rate that is wanted now."""
        self._wanted, self._autopilot, self._offered_per_s = 0, False, (rate := clamped_rate(per_s))
        self._calls.send(StepToRate(number=self._calls.next, per_s=rate))
        return rate

    def set_step(self, step: int) -> None:
        """Record the step size."""
        if self.holds:
            self._calls.send(SetStep(number=self._calls.next, step=step))

    def set_spawn_rate(self, rate: float | None) -> None:
        """Users a second from the next step on."""
        self._calls.send(SetSpawnRate(number=self._calls.next, rate=rate))

    @property
    def workers(self) -> int:
        """Worker processes that make load now; 0: users run in the run's process."""
        return self._state.workers

    def change_workers(self, *, add: bool) -> str:
        """Start one more worker, or end one. If the run refuses, its reason arrives as a notice."""
        self._calls.send(ChangeWorkers(number=self._calls.next, add=add))
        return ""

    def watch_part(self, part: str) -> str:
        """Watch one more part. If the run refuses, its reason arrives as a notice."""
        self._calls.send(WatchPart(number=self._calls.next, part=part))
        return ""

    def set_autopilot(self, on: bool, *, finds_rate: bool = False) -> None:
        """Start or end the autopilot."""
        self._autopilot = on
        self._calls.send(SetAutopilot(number=self._calls.next, on=on, finds_rate=finds_rate))

    def verify_knee(self) -> None:
        """Start the autopilot to verify the knee."""
        self._autopilot = True
        self._calls.send(VerifyKnee(number=self._calls.next))

    def start_plan(self, plan: str) -> None:
        """Start a plan."""
        self._autopilot = False
        self._calls.send(StartPlan(number=self._calls.next, plan=plan))

    def new_level(self) -> None:
        """Begin a new level at the same load."""
        self._calls.send(NewLevel(number=self._calls.next))

    def zero(self) -> None:
        """Stop all users."""
        self._wanted, self._autopilot, self._offered_per_s = 0, False, None
        self._calls.send(Zero(number=self._calls.next))

    def note(self, text: str) -> None:
        """Record a note at this moment."""
        self._calls.send(AddNote(number=self._calls.next, text=text))

    def restart_target(self, params: Mapping[str, str]) -> None:
        """Restart the target; waits for the run's answer. Raises InputError."""
        number = self._calls.next
        self._calls.send(RestartTarget(number=number, params=dict(params)))
        wrong = self._calls.wrong_with(number)
        if wrong is not None:
            raise InputError(wrong)

    def quit(self) -> None:
        """End the run."""
        self._calls.send(Stop(number=self._calls.next))
