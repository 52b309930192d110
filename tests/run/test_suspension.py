"""A process that stood still is distinguished from one that a disk, user code or computing held up."""

from __future__ import annotations

import pytest

from capexplorer.load.lag import Lag
from capexplorer.run.suspension import BEAT_S, SuspensionDetector

SMOOTH, HELD_UP = Lag(0.1, 0.3, 0.4), Lag(0.1, 0.3, 3_000.0)


class Watched:
    """Clocks that are moved by hand, and a beat after each move."""

    def __init__(self) -> None:
        self.with_sleep_s = self.awake_s = self.cpu_s = 100.0
        self.suspension = SuspensionDetector(lambda: self.with_sleep_s, lambda: self.awake_s, lambda: self.cpu_s)

    def passes(self, awake_s: float, *, asleep_s: float = 0.0, cpu_s: float = 0.0) -> None:
        self.with_sleep_s += awake_s + asleep_s
        self.awake_s += awake_s
        self.cpu_s += cpu_s
        self.suspension.beat()

    def runs(self) -> None:
        """A second as it should be."""
        for _ in range(10):
            self.passes(BEAT_S, cpu_s=BEAT_S)


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_a_running_process_was_not_suspended(watched: Watched) -> None:
    watched.runs()
    assert watched.suspension.look(SMOOTH) is None


def test_a_stop_is_detected_once_and_the_tick_after_it_is_void_too(watched: Watched) -> None:
    watched.passes(3.0 + BEAT_S)
    assert watched.suspension.look(HELD_UP) == pytest.approx(3.0)
    watched.runs()
    assert watched.suspension.look(HELD_UP) == 0.0
    watched.runs()
    assert watched.suspension.look(SMOOTH) is None


def test_a_stop_is_detected_without_a_later_heartbeat(watched: Watched) -> None:
    watched.awake_s += 3.0
    watched.with_sleep_s += 3.0
    assert watched.suspension.look(HELD_UP) is not None


def test_a_machine_that_slept_is_detected_though_no_timer_was_late(watched: Watched) -> None:
    watched.passes(BEAT_S, asleep_s=3600.0)
    assert watched.suspension.look(SMOOTH) == pytest.approx(3600.0)


@pytest.mark.parametrize(
    ("lag", "cpu_s"),
    [(SMOOTH, 0.0), (HELD_UP, 2.9)],
    ids=["the pump waits for its disk", "something computes"],
)
def test_a_delay_of_one_thread_is_not_a_suspension(watched: Watched, lag: Lag, cpu_s: float) -> None:
    watched.passes(3.0, cpu_s=cpu_s)
    assert watched.suspension.look(lag) is None


def test_user_code_that_blocks_the_load_thread_is_not_a_suspension(watched: Watched) -> None:
    watched.runs()
    assert watched.suspension.look(HELD_UP) is None
