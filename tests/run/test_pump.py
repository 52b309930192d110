"""The pump: a thread that runs posted calls in order and ticks at even times. Real threads, no wall-clock assertions."""

from __future__ import annotations

import threading
import time
from _queue import SimpleQueue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from capexplorer.load.engine import ShapeEnded
from capexplorer.run import pump as pump_module
from capexplorer.run.pump import Pump, Report

TIMEOUT_S = 20.0


class PumpInThread:
    """A pump and its work: its ticks (start and end of each), its reports, and the defects that it has reported."""

    def __init__(self) -> None:
        self.ticks: list[tuple[float, float]] = []
        self.defects: list[str] = []
        self.reports: list[Report] = []
        self.on_tick: Callable[[], None] = lambda: None
        self.alarm_s: float | None = None
        self.rung = threading.Event()
        self.pump = Pump()

    def report(self, report: Report) -> None:
        self.reports.append(report)

    def beat(self) -> None: ...

    def is_due(self, boundary_s: float) -> bool:
        return True

    def on_alarm(self) -> None:
        self.alarm_s = None
        self.rung.set()

    def on_defect(self, text: str) -> None:
        self.defects.append(text)

    def tick(self, started_s: float, ended_s: float) -> None:
        self.ticks.append((started_s, ended_s))
        self.on_tick()


@contextmanager
def running_pump() -> Iterator[PumpInThread]:
    """A pump that runs in a thread, and is ended afterwards."""
    pump_thread = PumpInThread()
    thread = threading.Thread(target=pump_thread.pump.run, args=(pump_thread,))
    thread.start()
    try:
        yield pump_thread
    finally:
        pump_thread.pump.end(lambda: None)
        assert pump_thread.pump.wait_until_left(TIMEOUT_S)
        thread.join(TIMEOUT_S)


@pytest.fixture(autouse=True)
def short_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ticks of 50 ms."""
    monkeypatch.setattr(pump_module, "INTERVAL_S", 0.05)


def test_calls_run_in_the_order_in_which_they_were_posted_in_the_pumps_thread() -> None:
    calls: list[int] = []
    threads: set[int | None] = set()

    def note(number: int) -> None:
        calls.append(number)
        threads.add(threading.get_native_id())

    with running_pump() as pump_thread:
        for number in range(500):
            pump_thread.pump.post(partial(note, number))
        pump_thread.pump.end(lambda: calls.append(-1))
        assert pump_thread.pump.wait_until_left(TIMEOUT_S)
    assert calls == [*range(500), -1]
    assert threads == {pump_thread.pump.thread_id}


def test_reports_come_to_the_work_between_the_calls_in_their_order() -> None:
    seen: list[int] = []
    with running_pump() as pump_thread:
        for count in range(3):
            pump_thread.pump.report(ShapeEnded(count))
            pump_thread.pump.post(lambda: seen.append(len(pump_thread.reports)))
    assert pump_thread.reports == [ShapeEnded(0), ShapeEnded(1), ShapeEnded(2)]
    assert seen == [1, 2, 3]


def test_no_call_runs_after_the_end() -> None:
    calls: list[str] = []
    with running_pump() as pump_thread:
        pump_thread.pump.end(lambda: calls.append("last"))
        pump_thread.pump.post(lambda: calls.append("too late"))
        assert pump_thread.pump.wait_until_left(TIMEOUT_S)
    assert calls == ["last"]


def test_ticks_begin_with_start_ticks_and_each_begins_where_the_last_ended() -> None:
    enough = threading.Event()
    with running_pump() as pump_thread:
        pump_thread.on_tick = lambda: enough.set() if len(pump_thread.ticks) >= 5 else None
        answered: SimpleQueue[int] = SimpleQueue()
        pump_thread.pump.post(lambda: answered.put(len(pump_thread.ticks)))
        assert answered.get(timeout=TIMEOUT_S) == 0
        pump_thread.pump.post(pump_thread.pump.start_ticks)
        assert enough.wait(TIMEOUT_S)
    assert all(before[1] == after[0] for before, after in zip(pump_thread.ticks, pump_thread.ticks[1:], strict=False))
    assert all(ended_s > started_s for started_s, ended_s in pump_thread.ticks)


def test_ticks_missed_during_a_long_tick_are_not_repeated() -> None:
    enough, pause = threading.Event(), threading.Event()
    with running_pump() as pump_thread:
        began: SimpleQueue[float] = SimpleQueue()

        def on_tick() -> None:
            if len(pump_thread.ticks) == 2:
                pause.wait(0.28)  # never set: this tick takes longer than five others
            if len(pump_thread.ticks) >= 5:
                enough.set()

        pump_thread.on_tick = on_tick
        pump_thread.pump.post(pump_thread.pump.start_ticks)
        pump_thread.pump.post(lambda: began.put(pump_thread.pump._ticked_s))
        assert enough.wait(TIMEOUT_S)
        start_s = began.get(timeout=TIMEOUT_S)
    lengths = [ended_s - started_s for started_s, ended_s in pump_thread.ticks]
    assert lengths[2] >= 0.28  # the next tick includes the missed ones
    assert all(ended_s >= start_s + 0.05 * (index + 1) for index, (_, ended_s) in enumerate(pump_thread.ticks))
    assert pump_thread.ticks[4][1] - pump_thread.ticks[2][1] > 0.05  # no burst of short ticks follows


def test_an_alarm_runs_without_ticks() -> None:
    with running_pump() as pump_thread:
        pump_thread.pump.post(setattr, pump_thread, "alarm_s", pump_thread.pump.now_s() + 0.02)
        assert pump_thread.rung.wait(TIMEOUT_S)
    assert pump_thread.ticks == []


def test_a_call_may_run_other_calls_until_a_condition_is_true_or_a_timeout() -> None:
    calls: list[str] = []
    answered: SimpleQueue[bool] = SimpleQueue()
    with running_pump() as pump_thread:
        drain_until = partial(pump_thread.pump.drain_until, pump_thread)
        pump_thread.pump.post(lambda: answered.put(drain_until(lambda: "stopped" in calls, TIMEOUT_S)))
        pump_thread.pump.post(lambda: calls.append("stopped"))
        assert answered.get(timeout=TIMEOUT_S) is True
        pump_thread.pump.post(lambda: answered.put(drain_until(lambda: False, 0.01)))
        assert answered.get(timeout=TIMEOUT_S) is False


def test_an_exception_in_a_call_is_reported_and_ends_the_thread() -> None:
    pump_thread = PumpInThread()
    thread = threading.Thread(target=pump_thread.pump.run, args=(pump_thread,))
    thread.start()

    def fail() -> None:
        raise ZeroDivisionError("division by zero")

    pump_thread.pump.post(fail)
    assert pump_thread.pump.wait_until_left(TIMEOUT_S)
    thread.join(TIMEOUT_S)
    assert len(pump_thread.defects) == 1
    assert pump_thread.defects[0].rstrip().endswith("ZeroDivisionError: division by zero")


def test_a_monotonic_time_is_converted_to_seconds_of_the_session() -> None:
    pump = Pump()
    before_s, at_s, after_s = pump.now_s(), pump.at_s(time.monotonic()), pump.now_s()
    assert before_s <= at_s <= after_s
