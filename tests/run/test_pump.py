"""The pump: one thread that orders everything and ticks on a grid. Real threads, no wall-clock figures."""

from __future__ import annotations

import threading
import time
from _queue import SimpleQueue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from capexplorer.run import pump as pump_module
from capexplorer.run.pump import Pump

TIMEOUT_S = 20.0


class Ran:
    """A pump in a thread, and what it did."""

    def __init__(self) -> None:
        self.ticks: list[tuple[float, float]] = []
        self.defects: list[str] = []
        self.on_tick: Callable[[], None] = lambda: None
        self.pump = Pump(self._tick, self.defects.append)

    def _tick(self, started_s: float, ended_s: float) -> None:
        self.ticks.append((started_s, ended_s))
        self.on_tick()

    def wait(self, done: Callable[[], bool]) -> None:
        """Until the pump's own thread sees it done."""
        answered: SimpleQueue[bool] = SimpleQueue()
        self.pump.post(lambda: answered.put(self.pump.drain_until(done, TIMEOUT_S)))
        assert answered.get(timeout=TIMEOUT_S + 5)


@contextmanager
def running() -> Iterator[Ran]:
    ran = Ran()
    thread = threading.Thread(target=ran.pump.run)
    thread.start()
    try:
        yield ran
    finally:
        ran.pump.end(lambda: None)
        assert ran.pump.wait_until_left(TIMEOUT_S)
        thread.join(TIMEOUT_S)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ticks of 50 ms."""
    monkeypatch.setattr(pump_module, "INTERVAL_S", 0.05)


def test_calls_run_in_the_order_in_which_they_were_posted_in_the_pumps_thread() -> None:
    seen: list[int] = []
    threads: set[int | None] = set()

    def note(number: int) -> None:
        seen.append(number)
        threads.add(threading.get_native_id())

    with running() as ran:
        for number in range(500):
            ran.pump.post(partial(note, number))
        ran.pump.end(lambda: seen.append(-1))
        assert ran.pump.wait_until_left(TIMEOUT_S)
    assert seen == [*range(500), -1]
    assert threads == {ran.pump.thread_id}


def test_no_call_runs_after_the_end() -> None:
    seen: list[str] = []
    with running() as ran:
        ran.pump.end(lambda: seen.append("last"))
        ran.pump.post(lambda: seen.append("too late"))
        assert ran.pump.wait_until_left(TIMEOUT_S)
    assert seen == ["last"]


def test_the_pump_ticks_only_after_its_start_and_each_tick_begins_where_the_last_ended() -> None:
    enough = threading.Event()
    with running() as ran:
        ran.on_tick = lambda: enough.set() if len(ran.ticks) >= 5 else None
        answered: SimpleQueue[int] = SimpleQueue()
        ran.pump.post(lambda: answered.put(len(ran.ticks)))
        assert answered.get(timeout=TIMEOUT_S) == 0
        ran.pump.post(ran.pump.start_ticks)
        assert enough.wait(TIMEOUT_S)
    assert all(before[1] == after[0] for before, after in zip(ran.ticks, ran.ticks[1:], strict=False))
    assert all(ended_s > started_s for started_s, ended_s in ran.ticks)


def test_ticks_stay_on_the_grid_and_missed_ones_are_not_made_up() -> None:
    enough, pause = threading.Event(), threading.Event()
    with running() as ran:
        began: SimpleQueue[float] = SimpleQueue()

        def on_tick() -> None:
            if len(ran.ticks) == 2:
                pause.wait(0.28)  # more than five ticks long
            if len(ran.ticks) >= 5:
                enough.set()

        ran.on_tick = on_tick
        ran.pump.post(ran.pump.start_ticks)
        ran.pump.post(lambda: began.put(ran.pump._ticked_s))
        assert enough.wait(TIMEOUT_S)
        start_s = began.get(timeout=TIMEOUT_S)
    lengths = [ended_s - started_s for started_s, ended_s in ran.ticks]
    assert lengths[2] >= 0.28  # the missed seconds are in one long tick
    assert all(ended_s >= start_s + 0.05 * (n + 1) for n, (_, ended_s) in enumerate(ran.ticks))
    assert ran.ticks[4][1] - ran.ticks[2][1] > 0.05  # and no burst follows


def test_an_alarm_runs_beside_the_ticks() -> None:
    rung = threading.Event()
    with running() as ran:
        due: list[float | None] = [ran.pump.now_s() + 0.02]

        def ring() -> None:
            due[0] = None
            rung.set()

        def set_alarm() -> None:
            ran.pump.alarm, ran.pump.on_alarm = lambda: due[0], ring

        ran.pump.post(set_alarm)
        assert rung.wait(TIMEOUT_S)
    assert ran.ticks == []


def test_inside_the_thread_one_may_continue_with_calls_until_something_is_done() -> None:
    seen: list[str] = []
    answered: SimpleQueue[bool] = SimpleQueue()
    with running() as ran:
        ran.pump.post(lambda: answered.put(ran.pump.drain_until(lambda: "stopped" in seen, TIMEOUT_S)))
        ran.pump.post(lambda: seen.append("stopped"))
        assert answered.get(timeout=TIMEOUT_S) is True
        ran.pump.post(lambda: answered.put(ran.pump.drain_until(lambda: False, 0.01)))
        assert answered.get(timeout=TIMEOUT_S) is False


def test_a_defect_is_reported_and_ends_the_thread() -> None:
    ran = Ran()
    thread = threading.Thread(target=ran.pump.run)
    thread.start()

    def fail() -> None:
        raise ZeroDivisionError("division by zero")

    ran.pump.post(fail)
    assert ran.pump.wait_until_left(TIMEOUT_S)
    thread.join(TIMEOUT_S)
    assert len(ran.defects) == 1
    assert ran.defects[0].rstrip().endswith("ZeroDivisionError: division by zero")


def test_a_moment_of_another_thread_is_reported_in_seconds_of_the_session() -> None:
    pump = Pump(lambda started_s, ended_s: None, lambda text: None)
    before_s, at_s, after_s = pump.now_s(), pump.at_s(time.monotonic()), pump.now_s()
    assert before_s <= at_s <= after_s
