"""One connection to a run's socket, as bytes: what a screen may do, which messages it gets, and its bounds of memory and time."""

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
from capexplorer.run.control_peer import A_SECOND_MOST_BYTES, HELLO_WITHIN_S, UNREAD_MOST_BYTES, UNREAD_WITHIN_S, Peer
from capexplorer.run.request_store import RequestStore
from capexplorer.run.screens import Screen, Screens

WELCOME = Welcome(
    protocol=PROTOCOL, session="s", path="/x/s.jsonl", pid=7, max_users=2_000, can_restart=True, plans={}, unattended_s=300.0
)


class Rig:
    """A run with its own screen, and peers that say what a test lets them say."""

    def __init__(self, *, own: bool = True) -> None:
        self.controls, self.now_s, self.requests = FakeControls(), 0.0, RequestStore(lambda at_s: at_s)
        self.screens = Screens(lambda args: None, lambda: self.now_s)
        self.own, self.stops = Screen("pts/0", may_steer=True), 0
        if own:
            self.screens.begin(self.own)

    def _stop(self) -> None:
        self.stops += 1

    def peer(self, role: Role | None = "steer", name: str = "pts/1") -> Peer:
        peer = Peer(WELCOME, self.controls, self.screens, self.requests, self._stop, self.now_s)
        if role is not None:
            self.send(peer, Hello(protocol=PROTOCOL, role=role, name=name))
            self.received(peer)
        return peer

    def send(self, peer: Peer, *messages: Message) -> None:
        for message in messages:
            peer.receive(frame(encode(message)), self.now_s)

    def received(self, peer: Peer) -> list[FromRun]:
        """All messages that the peer has received."""
        peer.look(self.now_s)
        data = bytes(peer.out)
        peer.has_read(len(data), self.now_s)
        return [from_run(each) for each in Frames(FROM_RUN_MOST_BYTES).feed(data)]


def test_a_hello_is_answered_with_what_does_not_change_and_then_with_the_state() -> None:
    rig = Rig()
    peer = rig.peer(role=None)
    rig.send(peer, Hello(protocol=PROTOCOL, role="steer", name="pts/1"))
    assert rig.received(peer) == [WELCOME]
    (state,) = rig.received(peer)
    assert isinstance(state, State)
    assert (state.holder, state.holds, state.screens, state.wanted, state.seen) == ("pts/0", False, 2, 1, 0)
    assert rig.received(peer) == []  # nothing has changed


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
        (SetAutopilot(number=1, on=True, at_rate=True), ("set_autopilot", True, "rate")),
        (VerifyKnee(number=1), ("verify_knee",)),
        (StartPlan(number=1, plan="10:3m"), ("start_plan", "10:3m")),
        (NewLevel(number=1), ("new_level",)),
        (Zero(number=1), ("zero",)),
        (RestartTarget(number=1, params={"threads": "4"}), ("restart_target", {"threads": "4"})),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_call_acts_for_the_screen_that_has_the_controls_and_for_no_other(call: Message, done: tuple[object, ...]) -> None:
    rig = Rig()
    peer = rig.peer()
    rig.send(peer, call)
    assert rig.controls.calls == []
    rig.screens.leave(rig.own)
    rig.send(peer, call)
    assert rig.controls.calls == [done]


def test_notes_come_from_every_screen_but_those_that_only_watch() -> None:
    rig = Rig()
    rig.send(rig.peer("watch"), AddNote(number=1, text="from a watcher"))
    rig.send(rig.peer("steer"), AddNote(number=1, text="from a colleague"))
    assert rig.controls.calls == [("note", "from a colleague")]


def test_the_state_has_the_number_of_the_last_handled_call() -> None:
    rig = Rig(own=False)
    peer = rig.peer()
    rig.received(peer)
    rig.send(peer, StepTo(number=1, users=4), StepTo(number=2, users=9))
    (state,) = rig.received(peer)
    assert isinstance(state, State) and (state.seen, state.wanted) == (2, 9)


def test_a_restart_by_a_screen_that_lost_the_controls_is_refused_with_a_line() -> None:
    rig = Rig()
    peer = rig.peer()
    rig.received(peer)
    rig.send(peer, RestartTarget(number=1, params={}))
    assert Answer(number=1, wrong="another screen has the controls") in rig.received(peer)


@pytest.mark.parametrize(("threads", "wrong"), [("8", None), ("many", "threads: expected a whole number, got many")])
def test_a_failed_restart_is_answered_with_its_error(threads: str, wrong: str | None) -> None:
    rig = Rig(own=False)
    peer = rig.peer()
    rig.received(peer)
    rig.send(peer, RestartTarget(number=5, params={"threads": threads}))
    assert rig.received(peer)[0] == Answer(number=5, wrong=wrong)


def test_the_controls_are_asked_for_and_given_over_the_connection() -> None:
    rig = Rig(own=False)
    first, second = rig.peer(name="pts/1"), rig.peer(name="pts/2")
    rig.send(second, AskControls(number=1))
    assert rig.screens.asked_by == "pts/2"
    rig.send(first, GiveControls(number=1))
    assert rig.screens.holder == "pts/2"


def test_a_connection_that_closes_gives_its_controls_back() -> None:
    rig = Rig(own=False)
    peer = rig.peer()
    peer.receive(b"", rig.now_s)
    assert peer.is_over
    peer.leave()
    assert rig.screens.holder is None


@pytest.mark.parametrize(("role", "stops"), [("stop", 1), ("steer", 1), ("watch", 0)])
def test_a_run_is_ended_by_the_stop_command_and_by_a_screen_but_not_by_one_that_watches(role: Role, stops: int) -> None:
    rig = Rig()
    rig.send(rig.peer(role), Stop(number=1))
    assert rig.stops == stops


def test_the_stop_command_is_not_a_screen() -> None:
    rig = Rig()
    rig.peer("stop")
    assert rig.screens.count == 1


def refusals(rig: Rig, peer: Peer) -> list[str]:
    return [each.why for each in rig.received(peer) if isinstance(each, Refused)]


def test_another_protocol_is_refused_with_both_numbers() -> None:
    rig = Rig()
    peer = rig.peer(role=None)
    rig.send(peer, Hello(protocol=PROTOCOL + 1, role="steer", name="pts/1"))
    assert refusals(rig, peer) == ["the run speaks protocol 3, this capexplorer 4: use the version that started the run"]
    assert peer.is_over


def test_a_call_before_the_hello_and_a_second_hello_are_refused() -> None:
    rig = Rig(own=False)
    early, twice = rig.peer(role=None), rig.peer()
    rig.send(early, StepTo(number=1, users=40))
    rig.send(twice, Hello(protocol=PROTOCOL, role="steer", name="pts/9"))
    assert refusals(rig, early) == ["the first message of a connection is a hello"]
    assert refusals(rig, twice) == ["a second hello"]
    assert rig.controls.calls == []


def test_a_megabyte_of_garbage_is_refused_with_a_line() -> None:
    rig = Rig()
    peer = rig.peer(role=None)
    peer.receive(random.Random(1).randbytes(1 << 20), rig.now_s)
    assert refusals(rig, peer)[0].endswith("at most 65,536 are taken")
    assert peer.is_over


def test_nothing_after_a_refusal_is_carried_out() -> None:
    rig = Rig(own=False)
    peer = rig.peer()
    peer.receive(frame(b"\x00") + frame(encode(StepTo(number=1, users=40))), rig.now_s)
    rig.send(peer, StepTo(number=1, users=40))
    assert rig.controls.calls == []


def test_a_peer_without_a_hello_is_dropped() -> None:
    rig = Rig()
    peer = rig.peer(role=None)
    rig.now_s = HELLO_WITHIN_S
    peer.look(rig.now_s)
    assert peer.is_over


def test_a_peer_that_reads_nothing_gets_one_state_and_is_dropped_at_the_time_limit() -> None:
    rig = Rig()
    peer = rig.peer()
    peer.look(rig.now_s)
    unread = len(peer.out)
    while rig.now_s < UNREAD_WITHIN_S:
        assert not peer.is_over
        rig.controls.wanted += 1
        rig.now_s += 1.0
        peer.look(rig.now_s)
        assert len(peer.out) <= unread
    assert peer.is_over


def test_a_peer_that_requests_more_answers_than_it_reads_is_dropped() -> None:
    rig = Rig(own=False)
    peer = rig.peer()
    call = frame(encode(RestartTarget(number=1, params={"threads": "x" * 9_000})))
    answered = UNREAD_MOST_BYTES // 10_000
    peer.receive(call * answered, rig.now_s)
    assert not peer.is_over and len(peer.out) <= UNREAD_MOST_BYTES
    peer.receive(call * 1_000, rig.now_s)
    assert peer.is_over and not peer.out
    assert len(rig.controls.calls) < 2 * answered, "calls after that are not carried out"


def test_bytes_beyond_the_limit_of_a_second_are_received_in_the_next_one() -> None:
    rig = Rig(own=False)
    peer = rig.peer()
    while peer.may_receive(rig.now_s):
        rig.send(peer, NewLevel(number=1))
    size = len(frame(encode(NewLevel(number=1))))
    assert len(rig.controls.calls) <= A_SECOND_MOST_BYTES // size + 1
    rig.now_s += 1.0
    assert peer.may_receive(rig.now_s)


def test_at_the_end_of_a_run_its_screens_get_a_last_message() -> None:
    rig = Rig()
    peer, stranger = rig.peer(), rig.peer(role=None)
    for each in (peer, stranger):
        each.end()
        assert each.is_over
    assert rig.received(peer) == [Over()]
    assert rig.received(stranger) == []
