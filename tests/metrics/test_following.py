"""A log that grows or is replayed, and threads that send what is new."""

from __future__ import annotations

import math
import threading
from pathlib import Path

import pytest
from kit.scenario import Scenario, log_lines, second

from capexplorer.metrics.following import FollowedSession, Sending, Stop
from capexplorer.model.events import Ended
from capexplorer.session.reader import open_session
from lab.kit.runs import wait_until


def last_s(session: FollowedSession) -> float:
    return session.read(lambda totals: totals.timeline.last_s)


def test_a_log_is_followed_while_it_grows_until_its_end(tmp_path: Path) -> None:
    scenario = Scenario().open(users=1)
    path = scenario.write(tmp_path / "live.jsonl")
    waiting = threading.Event()
    with open_session(path) as log:
        session = FollowedSession(log)
        thread = threading.Thread(target=session.follow, args=(Stop(), waiting.set))
        thread.start()
        assert waiting.wait(30)
        later = [second(2.0), second(3.0), Ended(t_s=3.5, reason="quit")]
        with path.open("ab") as file:
            file.write(b"".join(log_lines(later, first=len(scenario.events) + 1)))
        thread.join(30)
    assert not thread.is_alive()
    assert last_s(session) == 3.5


def test_following_ends_when_it_is_asked_to(tmp_path: Path) -> None:
    stop = Stop()

    def ask() -> None:
        stop.by = "SIGINT"

    with open_session(Scenario().write(tmp_path / "live.jsonl")) as log:
        FollowedSession(log).follow(stop, ask)
    assert stop.wait()


class Waits(Stop):
    """Takes no time."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def wait(self, seconds: float = math.inf) -> bool:
        self.now_s += seconds
        return False


def test_a_replay_takes_its_time_and_happens_now(tmp_path: Path) -> None:
    waits = Waits()
    session = Scenario().level(users=1, seconds=59).add(Ended(t_s=61.0, reason="quit"))
    with open_session(session.write(tmp_path / "saved.jsonl")) as log:
        followed = FollowedSession(log, speed=4.0, clock=lambda: waits.now_s)
        followed.follow(waits, lambda: None)
    assert waits.now_s == pytest.approx(1000.0 + 61.0 / 4)
    assert followed.unix_s(40.0) == 1010.0


def test_without_a_speed_all_is_there_at_the_time_of_the_recording(tmp_path: Path) -> None:
    waits = Waits()
    with open_session(Scenario().level(users=1).add(Ended(t_s=14.0, reason="quit")).write(tmp_path / "saved.jsonl")) as log:
        followed = FollowedSession(log)
        followed.follow(waits, lambda: None)
    assert waits.now_s == 1000.0
    assert followed.unix_s(10.0) == 1_767_265_210.0


class Failing:
    """A receiver that fails for these reasons, one a call, and then takes all."""

    name, every_s = "--otlp x", 0.001

    def __init__(self, *reasons: str) -> None:
        self.reasons, self.taken = list(reasons), 0

    def send(self) -> None:
        if self.reasons:
            raise OSError(self.reasons.pop(0))
        self.taken += 1

    def close(self) -> None:
        pass


def test_each_reason_of_a_failure_is_printed_once_while_it_lasts() -> None:
    lines: list[str] = []
    receiver = Failing("refused", "refused", "HTTP 500", "HTTP 500")
    sending = Sending(receiver, lines.append)
    wait_until(lambda: receiver.taken, "the receiver takes it")
    assert sending.end()
    assert lines == ["--otlp x: refused", "--otlp x: HTTP 500"]


def test_what_is_left_is_sent_at_the_end_and_a_failure_then_is_known() -> None:
    receiver, broken = Failing(), Failing("refused")
    receiver.every_s = broken.every_s = 3600.0
    assert Sending(receiver, print).end()
    assert receiver.taken == 1
    assert not Sending(broken, lambda line: None).end()
