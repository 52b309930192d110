"""One connection to the socket of a run, as bytes: calls, answers and refusals, and its limits of memory and time."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tui.fake_controls import FakeControls

from capexplorer.model.controls import (
    ChangeWorkers,
    Control,
    EndRun,
    NewLevel,
    RestartTarget,
    Setup,
    StartPlan,
    StepTo,
)
from capexplorer.model.load import Users
from capexplorer.remote.protocol import (
    FROM_RUN_MOST_BYTES,
    PROTOCOL,
    Answer,
    Do,
    Frames,
    FromRun,
    Hello,
    Message,
    Over,
    Refused,
    Role,
    Update,
    Welcome,
    encode,
    frame,
    from_run,
)
from capexplorer.run.control_server import A_SECOND_MOST_BYTES, HELLO_WITHIN_S, UNREAD_MOST_BYTES, UNREAD_WITHIN_S, Peer
from capexplorer.run.sampling import RequestStore
from capexplorer.run.screens import ELSEWHERE, Screens

from .bare_context import VirtualPump, bare_context

SETUP = Setup(max_users=2_000, can_restart=True, plans={}, unattended_s=300.0)
WELCOME = Welcome(protocol=PROTOCOL, session="s", path="/x/s.jsonl", pid=7, setup=SETUP)


class RunWithPeers:
    """The controls of a run with its own screen, and connections that send the messages of a test. `own`: with its own screen."""

    def __init__(self, *, own: bool = True) -> None:
        self.controls, self.pump = FakeControls(), VirtualPump()
        self.requests, self.screens = RequestStore(self.pump), Screens(self.controls, bare_context(self.pump))
        self.own, self.stops = self.screens.begin("pts/0") if own else None, 0

    def _stop(self) -> None:
        self.stops += 1

    def peer(self, role: Role | None = "steer", name: str = "pts/1") -> Peer:
        """A connection that has said hello with this role, or nothing."""
        peer = Peer(WELCOME, self.screens, self.requests, self._stop, self.pump.seconds)
        if role is not None:
            self.send(peer, Hello(protocol=PROTOCOL, role=role, name=name))
            self.received(peer)
        return peer

    def send(self, peer: Peer, *messages: Message | Control) -> None:
        """Controls are numbered from 1."""
        for number, each in enumerate(messages, 1):
            message = each if isinstance(each, Message) else Do(number=number, control=each)
            peer.receive(frame(encode(message)), self.pump.seconds)

    def received(self, peer: Peer) -> list[FromRun]:
        """The messages since the last call."""
        peer.serve(self.pump.seconds)
        data = bytes(peer.out)
        peer.has_read(len(data), self.pump.seconds)
        return [from_run(each) for each in Frames(FROM_RUN_MOST_BYTES).feed(data)]


def test_a_hello_is_answered_with_a_welcome_and_then_with_the_state() -> None:
    run = RunWithPeers()
    peer = run.peer(role=None)
    run.send(peer, Hello(protocol=PROTOCOL, role="steer", name="pts/1"))
    assert run.received(peer) == [WELCOME]
    (state,) = run.received(peer)
    assert state == Update(seen=0, state=replace(run.controls.state, holds=False, holder="pts/0", screens=2))
    assert run.received(peer) == []  # the state has not changed


def test_a_control_is_done_only_for_the_screen_that_has_the_controls_and_the_others_are_told() -> None:
    run, step = RunWithPeers(), StepTo(Users(40))
    peer = run.peer()
    run.send(peer, step)
    assert run.controls.calls == []
    assert run.received(peer)[0] == Answer(number=1, wrong=ELSEWHERE)
    assert run.own is not None
    run.own.leave()
    run.send(peer, step)
    assert run.controls.calls == [step]
    assert [type(each) for each in run.received(peer)] == [Update], "nobody waits for the answer to a step"


def test_the_state_has_the_number_of_the_last_handled_call() -> None:
    run = RunWithPeers(own=False)
    peer = run.peer()
    run.received(peer)
    run.send(peer, StepTo(Users(4)), StepTo(Users(9)))
    (update,) = run.received(peer)
    assert isinstance(update, Update)
    assert (update.seen, update.state.load.users) == (2, 9)


@pytest.mark.parametrize(
    ("control", "wrong"),
    [
        (RestartTarget({"threads": "8"}), None),
        (RestartTarget({"threads": "many"}), "threads: expected a whole number, got many"),
        (StartPlan("short"), None),
        (StartPlan("long"), "plan: expected USERS:DURATION like 10:30s, got 'long'"),
        (ChangeWorkers(add=False), "there is no worker: users run in this process"),
    ],
)
def test_a_refused_control_is_answered_and_one_for_which_a_dialog_waits(control: Control, wrong: str | None) -> None:
    run = RunWithPeers(own=False)
    peer = run.peer()
    run.received(peer)
    run.send(peer, Do(number=5, control=control))
    assert run.received(peer)[0] == Answer(number=5, wrong=wrong)


def test_a_screen_whose_connection_closes_loses_the_controls() -> None:
    run = RunWithPeers(own=False)
    peer = run.peer()
    peer.receive(b"", run.pump.seconds)
    assert peer.is_over
    peer.leave()
    assert run.screens.holder is None


@pytest.mark.parametrize(("role", "stops"), [("stop", 1), ("steer", 1), ("watch", 0)])
def test_the_stop_command_and_a_screen_that_may_steer_end_the_run(role: Role, stops: int) -> None:
    run = RunWithPeers()
    run.send(run.peer(role), EndRun())
    assert run.stops == stops


def test_the_stop_command_is_not_counted_as_a_screen() -> None:
    run = RunWithPeers()
    run.peer("stop")
    assert run.own is not None
    assert run.own.state.screens == 1


def refusals(run: RunWithPeers, peer: Peer) -> list[str]:
    """The reasons of refusals that the peer has received."""
    return [each.why for each in run.received(peer) if isinstance(each, Refused)]


def test_another_protocol_is_refused_with_both_numbers() -> None:
    run = RunWithPeers()
    peer = run.peer(role=None)
    run.send(peer, Hello(protocol=PROTOCOL + 1, role="steer", name="pts/1"))
    assert refusals(run, peer) == [
        f"the run speaks protocol {PROTOCOL}, this capexplorer {PROTOCOL + 1}: use the version that started the run"
    ]
    assert peer.is_over


def test_a_call_before_the_hello_and_a_second_hello_are_refused() -> None:
    run = RunWithPeers(own=False)
    call_first, hello_twice = run.peer(role=None), run.peer()
    run.send(call_first, StepTo(Users(40)))
    run.send(hello_twice, Hello(protocol=PROTOCOL, role="steer", name="pts/9"))
    assert refusals(run, call_first) == ["the first message of a connection is a hello"]
    assert refusals(run, hello_twice) == ["a second hello"]
    assert run.controls.calls == []


def test_calls_after_a_refusal_are_not_carried_out() -> None:
    run = RunWithPeers(own=False)
    peer = run.peer()
    peer.receive(frame(b"\x00") + frame(encode(Do(number=1, control=StepTo(Users(40))))), run.pump.seconds)
    run.send(peer, StepTo(Users(40)))
    assert run.controls.calls == []


def test_a_peer_without_a_hello_is_dropped_at_the_time_limit() -> None:
    run = RunWithPeers()
    peer = run.peer(role=None)
    run.pump.seconds = HELLO_WITHIN_S
    peer.serve(run.pump.seconds)
    assert peer.is_over


def test_a_peer_that_reads_nothing_has_one_unread_state_until_it_is_dropped() -> None:
    run = RunWithPeers()
    peer = run.peer()
    peer.serve(run.pump.seconds)
    unread = len(peer.out)
    while run.pump.seconds < UNREAD_WITHIN_S:
        assert not peer.is_over
        run.controls.change(load=Users(run.controls.state.load.users + 1))
        run.pump.seconds += 1.0
        peer.serve(run.pump.seconds)
        assert len(peer.out) <= unread
    assert peer.is_over


def test_a_peer_that_does_not_read_its_answers_is_dropped() -> None:
    run = RunWithPeers(own=False)
    peer = run.peer()
    call = frame(encode(Do(number=1, control=RestartTarget({"threads": "x" * 9_000}))))
    answered = UNREAD_MOST_BYTES // 10_000
    peer.receive(call * answered, run.pump.seconds)
    assert not peer.is_over
    assert len(peer.out) <= UNREAD_MOST_BYTES
    peer.receive(call * 1_000, run.pump.seconds)
    assert peer.is_over
    assert not peer.out
    assert len(run.controls.calls) < 2 * answered, "calls after it was dropped are not carried out"


def test_the_bytes_that_are_received_in_a_second_are_limited() -> None:
    run = RunWithPeers(own=False)
    peer = run.peer()
    while peer.may_receive(run.pump.seconds):
        run.send(peer, NewLevel())
    size = len(frame(encode(Do(number=1, control=NewLevel()))))
    assert len(run.controls.calls) <= A_SECOND_MOST_BYTES // size + 1
    run.pump.seconds += 1.0
    assert peer.may_receive(run.pump.seconds)


def test_at_the_end_of_a_run_each_screen_gets_a_last_message() -> None:
    run = RunWithPeers()
    peer, without_hello = run.peer(), run.peer(role=None)
    for each in (peer, without_hello):
        each.end()
        assert each.is_over
    assert run.received(peer) == [Over()]
    assert run.received(without_hello) == []
