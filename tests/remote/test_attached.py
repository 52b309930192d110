"""The controls of an attached screen: what it shows between a key and the answer of the run."""

from __future__ import annotations

from collections import deque
from typing import cast

import pytest

from capexplorer.model.controls import AskControls, Control, SetAutopilot, State, StepTo, Zero
from capexplorer.model.load import Rate, Users
from capexplorer.remote.attached import RemoteControls, RunConnection
from capexplorer.remote.protocol import Answer, Do, FromRun, Message, Update


class FakeConnection:
    """A connection whose run answers when the test says so."""

    is_lost = is_over = False

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.arriving: deque[FromRun] = deque()

    def send(self, message: Message) -> None:
        self.sent.append(message)

    def wait_for_more(self) -> bool:
        return bool(self.arriving)

    def take(self) -> list[FromRun]:
        return [self.arriving.popleft() for _ in range(len(self.arriving))]


class AttachedScreen:
    """The controls of a screen on a fake connection."""

    def __init__(self) -> None:
        self.connection = FakeConnection()
        self.connection.arriving.append(Update(seen=0, state=State(load=Users(2))))
        self.controls = RemoteControls(cast("RunConnection", self.connection))

    def arrives(self, *messages: FromRun) -> State:
        """The state after these messages of the run."""
        self.connection.arriving += messages
        self.controls.poll()
        return self.controls.state


def test_a_screen_knows_whether_it_has_the_controls_before_its_first_key() -> None:
    assert AttachedScreen().controls.state == State(load=Users(2))


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        (StepTo(Users(40)), State(load=Users(40))),
        (StepTo(Rate(0.5)), State(load=Rate(0.5))),
        (Zero(), State()),
        (SetAutopilot(on=True), State(load=Users(2), autopilot=True)),
        (AskControls(), State(load=Users(2))),
    ],
)
def test_a_control_is_sent_and_its_effect_is_shown_at_once(control: Control, expected: State) -> None:
    screen = AttachedScreen()
    assert screen.controls.do(control) is None
    assert screen.connection.sent == [Do(number=1, control=control)]
    assert screen.controls.state == expected


def test_steps_that_the_run_has_not_taken_yet_are_added_to_what_it_reports() -> None:
    screen = AttachedScreen()
    screen.controls.do(StepTo(Users(3)))
    screen.controls.do(StepTo(Users(4)))
    assert screen.arrives(Update(seen=1, state=State(load=Users(3), workers=2))) == State(load=Users(4), workers=2)
    assert screen.arrives(Update(seen=2, state=State(load=Users(4), workers=2))) == State(load=Users(4), workers=2)


def test_a_step_that_the_run_refuses_is_taken_back_and_its_reason_is_a_notice() -> None:
    screen = AttachedScreen()
    screen.controls.do(StepTo(Users(3)))
    assert screen.arrives(Answer(number=1, wrong="no"), Update(seen=1, state=State(load=Users(2)))).load.users == 2
    assert (screen.controls.notices(), screen.controls.notices()) == (["no"], [])
