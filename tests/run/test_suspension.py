"""A suspended process is detected, and distinguished from delays by a disk, by user code or by computation."""

from __future__ import annotations

import pytest

from capexplorer.load.lag import Lag
from capexplorer.run.pump import BEAT_S, SuspensionDetector

NO_LAG, LAG_OF_3_S = Lag(0.1, 0.3, 0.4), Lag(0.1, 0.3, 3_000.0)


class ProcessWithClocks:
    """A suspension detector with clocks that the test advances."""

    def __init__(self) -> None:
        self.with_sleep_s = self.awake_s = self.cpu_s = 100.0
        self.suspension = SuspensionDetector(lambda: self.with_sleep_s, lambda: self.awake_s, lambda: self.cpu_s)

    def pass_time(self, awake_s: float, *, asleep_s: float = 0.0, cpu_s: float = 0.0) -> None:
        """Let time pass, with this much CPU time, and then a heartbeat. `asleep_s`: time in which the machine sleeps."""
        self.with_sleep_s += awake_s + asleep_s
        self.awake_s += awake_s
        self.cpu_s += cpu_s
        self.suspension.beat()

    def run_normally(self) -> None:
        """Ten heartbeats in time."""
        for _ in range(10):
            self.pass_time(BEAT_S, cpu_s=BEAT_S)


@pytest.fixture
def process() -> ProcessWithClocks:
    return ProcessWithClocks()


def test_a_stop_is_detected_once_and_the_next_tick_is_void_too(process: ProcessWithClocks) -> None:
    process.pass_time(3.0 + BEAT_S)
    assert process.suspension.look(LAG_OF_3_S) == pytest.approx(3.0)
    process.run_normally()
    assert process.suspension.look(LAG_OF_3_S) == 0.0
    process.run_normally()
    assert process.suspension.look(NO_LAG) is None


def test_a_stop_is_detected_without_a_later_heartbeat(process: ProcessWithClocks) -> None:
    process.awake_s += 3.0
    process.with_sleep_s += 3.0
    assert process.suspension.look(LAG_OF_3_S) is not None


def test_sleep_of_the_machine_is_detected_although_no_timer_was_late(process: ProcessWithClocks) -> None:
    process.pass_time(BEAT_S, asleep_s=3600.0)
    assert process.suspension.look(NO_LAG) == pytest.approx(3600.0)


@pytest.mark.parametrize(
    ("lag", "awake_s", "cpu_s"),
    [(NO_LAG, 3.0, 0.0), (LAG_OF_3_S, 3.0, 2.9), (LAG_OF_3_S, BEAT_S, BEAT_S), (NO_LAG, BEAT_S, BEAT_S)],
    ids=["the pump waits for the disk", "a thread computes", "user code blocks the load thread", "nothing is late"],
)
def test_a_delay_of_one_thread_is_not_a_suspension(process: ProcessWithClocks, lag: Lag, awake_s: float, cpu_s: float) -> None:
    process.pass_time(awake_s, cpu_s=cpu_s)
    assert process.suspension.look(lag) is None
