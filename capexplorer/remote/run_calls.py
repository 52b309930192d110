"""Numbered calls of a screen to a run in another process, and the run's answers. Replaces a connection that was lost."""

from __future__ import annotations

import time
from collections.abc import Callable

from .protocol import Answer, Call, KeptBriefs, KeptWhole, Refused, State
from .run_connection import RunConnection

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
