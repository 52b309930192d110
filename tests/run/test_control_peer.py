"""One connection to the socket of a run, as bytes: calls, answers and refusals, and its limits of memory and time."""

from __future__ import annotations

import random

import pytest
from tui.fake_controls import FakeControls

from capexplorer.remote.frames import FROM_RUN_MOST_BYTES, Frames, frame
from capexplorer.remote.protocol import (
    PROTOCOL,
    AddNote,
    Answer,
    AskControls,
    ChangeWorkers,
    FromRun,
    GiveControls,
    Hello,
    Message,
    NewLevel,
    Over,
    Refused,
    RestartTarget,
    Role,
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
    from_run,
)
from capexplorer.run.control_server import A_SECOND_MOST_BYTES, HELLO_WITHIN_S, UNREAD_MOST_BYTES, UNREAD_WITHIN_S, Peer
from capexplorer.run.request_store import RequestStore
from capexplorer.run.screens import Screen, Screens

WELCOME = Welcome(
    protocol=PROTOCOL, session="s", path="/x/s.jsonl", pid=7, max_users=2_000, can_restart=True, plans={}, unattended_s=300.0
)


class RunControls:
    """The controls of a run with its own screen, and connections that send the messages of a test. `own`: with its own screen."""

    def __init__(self, *, own: bool = True) -> None:
        self.controls, self.now_s, self.requests = FakeControls(), 0.0, RequestStore(lambda at_s: at_s)
        self.screens = Screens(lambda args: None, lambda: self.now_s)
        self.own, self.stops = Screen("pts/0", may_steer=True), 0
        if own:
            self.screens.begin(self.own)

    def _stop(self) -> None:
        self.stops += 1

    def peer(self, role: Role | None = "steer", name: str = "pts/1") -> Peer:
        """A connection that has said hello with this role, or nothing."""
        peer = Peer(WELCOME, self.controls, self.screens, self.requests, self._stop, self.now_s)
        if role is not None:
            self.send(peer, Hello(protocol=PROTOCOL, role=role, name=name))
            self.received(peer)
        return peer

    def send(self, peer: Peer, *messages: Message) -> None:
        for message in messages:
            peer.receive(frame(encode(message)), self.now_s)

    def received(self, peer: Peer) -> list[FromRun]:
        """The messages since the last call."""
        peer.look(self.now_s)
        data = bytes(peer.out)
        peer.has_read(len(data), self.now_s)
        return [from_run(each) for each in Frames(FROM_RUN_MOST_BYTES).feed(data)]


def test_a_hello_is_answered_with_a_welcome_and_then_with_the_state() -> None:
    run = RunControls()
    peer = run.peer(role=None)
    run.send(peer, Hello(protocol=PROTOCOL, role="steer", name="pts/1"))
    assert run.received(peer) == [WELCOME]
    (state,) = run.received(peer)
    assert isinstance(state, State)
    assert (state.holder, state.holds, state.screens) == ("pts/0", False, 2)
    assert (state.wanted, state.seen) == (1, 0)
    assert run.received(peer) == []  # the state has not changed


@pytest.mark.parametrize(
    ("call", "done"),
    [
        (StepTo(number=1, users=40), ("set_users", 40)),
        (StepToRate(number=1, per_s=200.0), ("set_rate", 200.0)),
        (SetStep(number=1, step=10), ("set_step", 10)),
        (SetSpawnRate(number=1, rate=2.5), ("set_spawn_rate", 2.5)),
        (ChangeWorkers(number=1, add=True), ("change_workers", True)),
        (WatchPart(number=1, part="db=pid 7"), ("watch_part", "db=pid 7")),
        (SetAutopilot(number=1, on=True), ("set_autopilot", True)),
        (SetAutopilot(number=1, on=True, finds_rate=True), ("set_autopilot", True, "rate")),
        (VerifyKnee(number=1), ("verify_knee",)),
        (StartPlan(number=1, plan="10:3m"), ("start_plan", "10:3m")),
        (NewLevel(number=1), ("new_level",)),
        (Zero(number=1), ("zero",)),
        (RestartTarget(number=1, params={"threads": "4"}), ("restart_target", {"threads": "4"})),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_call_is_carried_out_only_for_the_screen_that_has_the_controls(call: Message, done: tuple[object, ...]) -> None:
    run = RunControls()
    peer = run.peer()
    run.send(peer, call)
    assert run.controls.calls == []
    run.screens.leave(run.own)
    run.send(peer, call)
    assert run.controls.calls == [done]


def test_notes_are_accepted_from_screens_that_may_steer_only() -> None:
    run = RunControls()
    run.send(run.peer("watch"), AddNote(number=1, text="from a watcher"))
    run.send(run.peer("steer"), AddNote(number=1, text="from a colleague"))
    assert run.controls.calls == [("note", "from a colleague")]


def test_the_state_has_the_number_of_the_last_handled_call() -> None:
    run = RunControls(own=False)
    peer = run.peer()
    run.received(peer)
    run.send(peer, StepTo(number=1, users=4), StepTo(number=2, users=9))
    (state,) = run.received(peer)
    assert isinstance(state, State)
    assert (state.seen, state.wanted) == (2, 9)


def test_a_restart_by_a_screen_without_the_controls_is_refused() -> None:
    run = RunControls()
    peer = run.peer()
    run.received(peer)
    run.send(peer, RestartTarget(number=1, params={}))
    assert Answer(number=1, wrong="another screen has the controls") in run.received(peer)


@pytest.mark.parametrize(("threads", "wrong"), [("8", None), ("many", "threads: expected a whole number, got many")])
def test_a_restart_is_answered_with_its_error_or_none(threads: str, wrong: str | None) -> None:
    run = RunControls(own=False)
    peer = run.peer()
    run.received(peer)
    run.send(peer, RestartTarget(number=5, params={"threads": threads}))
    assert run.received(peer)[0] == Answer(number=5, wrong=wrong)


def test_a_screen_asks_for_the_controls_and_another_gives_them() -> None:
    run = RunControls(own=False)
    first, second = run.peer(name="pts/1"), run.peer(name="pts/2")
    run.send(second, AskControls(number=1))
    assert run.screens.asked_by == "pts/2"
    run.send(first, GiveControls(number=1))
    assert run.screens.holder == "pts/2"


def test_a_screen_whose_connection_closes_loses_the_controls() -> None:
    run = RunControls(own=False)
    peer = run.peer()
    peer.receive(b"", run.now_s)
    assert peer.is_over
    peer.leave()
    assert run.screens.holder is None


@pytest.mark.parametrize(("role", "stops"), [("stop", 1), ("steer", 1), ("watch", 0)])
def test_the_stop_command_and_a_screen_that_may_steer_end_the_run(role: Role, stops: int) -> None:
    run = RunControls()
    run.send(run.peer(role), Stop(number=1))
    assert run.stops == stops


def test_the_stop_command_is_not_counted_as_a_screen() -> None:
    run = RunControls()
    run.peer("stop")
    assert run.screens.count == 1


def refusals(run: RunControls, peer: Peer) -> list[str]:
    """The reasons of refusals that the peer has received."""
    return [each.why for each in run.received(peer) if isinstance(each, Refused)]


def test_another_protocol_is_refused_with_both_numbers() -> None:
    run = RunControls()
    peer = run.peer(role=None)
    run.send(peer, Hello(protocol=PROTOCOL + 1, role="steer", name="pts/1"))
    assert refusals(run, peer) == ["the run speaks protocol 3, this capexplorer 4: use the version that started the run"]
    assert peer.is_over


def test_a_call_before_the_hello_and_a_second_hello_are_refused() -> None:
    run = RunControls(own=False)
    call_first, hello_twice = run.peer(role=None), run.peer()
    run.send(call_first, StepTo(number=1, users=40))
    run.send(hello_twice, Hello(protocol=PROTOCOL, role="steer", name="pts/9"))
    assert refusals(run, call_first) == ["the first message of a connection is a hello"]
    assert refusals(run, hello_twice) == ["a second hello"]
    assert run.controls.calls == []


def test_a_megabyte_of_random_bytes_is_refused_with_a_line() -> None:
    run = RunControls()
    peer = run.peer(role=None)
    peer.receive(random.Random(1).randbytes(1 << 20), run.now_s)
    assert refusals(run, peer)[0].endswith("at most 65,536 are taken")
    assert peer.is_over


def test_calls_after_a_refusal_are_not_carried_out() -> None:
    run = RunControls(own=False)
    peer = run.peer()
    peer.receive(frame(b"\x00") + frame(encode(StepTo(number=1, users=40))), run.now_s)
    run.send(peer, StepTo(number=1, users=40))
    assert run.controls.calls == []


def test_a_peer_without_a_hello_is_dropped_at_the_time_limit() -> None:
    run = RunControls()
    peer = run.peer(role=None)
    run.now_s = HELLO_WITHIN_S
    peer.look(run.now_s)
    assert peer.is_over


def test_a_peer_that_reads_nothing_has_one_unread_state_until_it_is_dropped() -> None:
    run = RunControls()
    peer = run.peer()
    peer.look(run.now_s)
    unread = len(peer.out)
    while run.now_s < UNREAD_WITHIN_S:
        assert not peer.is_over
        run.controls.wanted += 1
        run.now_s += 1.0
        peer.look(run.now_s)
        assert len(peer.out) <= unread
    assert peer.is_over


def test_a_peer_that_does_not_read_its_answers_is_dropped() -> None:
    run = RunControls(own=False)
    peer = run.peer()
    call = frame(encode(RestartTarget(number=1, params={"threads": "x" * 9_000})))
    answered = UNREAD_MOST_BYTES // 10_000
    peer.receive(call * answered, run.now_s)
    assert not peer.is_over
    assert len(peer.out) <= UNREAD_MOST_BYTES
    peer.receive(call * 1_000, run.now_s)
    assert peer.is_over
    assert not peer.out
    assert len(run.controls.calls) < 2 * answered, "calls after it was dropped are not carried out"


def test_the_bytes_that_are_received_in_a_second_are_limited() -> None:
    run = RunControls(own=False)
    peer = run.peer()
    while peer.may_receive(run.now_s):
        run.send(peer, NewLevel(number=1))
    size = len(frame(encode(NewLevel(number=1))))
    assert len(run.controls.calls) <= A_SECOND_MOST_BYTES // size + 1
    run.now_s += 1.0
    assert peer.may_receive(run.now_s)


def test_at_the_end_of_a_run_each_screen_gets_a_last_message() -> None:
    run = RunControls()
    peer, without_hello = run.peer(), run.peer(role=None)
    for each in (peer, without_hello):
        each.end()
        assert each.is_over
    assert run.received(peer) == [Over()]
    assert run.received(without_hello) == []
