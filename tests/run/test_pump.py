"""The pump: a thread that runs posted calls in order and ticks at even times, also if its process was stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from _queue import SimpleQueue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic, sleep

import pytest
from processes import is_stopped

from capexplorer.load.engine import ShapeEnded
from capexplorer.load.lag import Lag
from capexplorer.run import pump as pump_module
from capexplorer.run.pump import BEAT_S, Inbox, Pump, Report, SuspensionDetector, waited_s


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


TIMEOUT_S = 60.0

WAITING_PROGRAM = """
import signal, sys, threading
from capexplorer.run.pump import Inbox

inbox, wait_count = Inbox(), 0

def wait():
    global wait_count
    while True:
        inbox.take(0.1)
        wait_count += 1
        print(wait_count, flush=True)

signal.signal(signal.SIGCONT, lambda *_: None)
threading.Thread(target=wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCONT})  # so that the kernel delivers it to the other thread, which waits
sys.stdin.read()
"""


@contextmanager
def waiting_process() -> Iterator[subprocess.Popen[str]]:
    """A process of WAITING_PROGRAM, which prints a line after each wait of 0.1 s."""
    process = subprocess.Popen([sys.executable, "-c", WAITING_PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_thread_that_was_stopped_beyond_its_timeout_still_waits_with_a_timeout() -> None:
    """With `SimpleQueue.get(timeout=...)` the thread never continued: CPython waits without a timeout then."""
    with waiting_process() as process:
        assert process.stdout is not None
        assert process.stdout.readline(), "the first wait ends"
        os.kill(process.pid, signal.SIGSTOP)
        deadline_s = monotonic() + TIMEOUT_S
        while not is_stopped(process.pid) and monotonic() < deadline_s:
            sleep(0.01)
        assert is_stopped(process.pid)
        sleep(0.5)  # five times the timeout: it passes while the process is stopped, which is the case under test
        os.kill(process.pid, signal.SIGCONT)
        reported = [process.stdout.readline() for _ in range(10)]
    assert all(reported), "ten more waits end"


def test_calls_are_taken_in_the_order_in_which_they_were_put() -> None:
    inbox, numbers = Inbox(), list[int]()
    for number in range(3):
        inbox.put(partial(numbers.append, number))
    while callable(call := inbox.take(0.0)):
        call()
    assert numbers == [0, 1, 2]
    assert inbox.take(0.01) is None


NO_LAG, LAG_OF_3_S = Lag(0.1, 0.3, 0.4), Lag(0.1, 0.3, 3_000.0)


class ProcessWithClocks:
    """A suspension detector with clocks that the test advances."""

    def __init__(self) -> None:
        self.with_sleep_s = self.awake_s = self.cpu_s = self.waited_s = 100.0
        self.suspension = SuspensionDetector(
            lambda: self.with_sleep_s, lambda: self.awake_s, lambda: self.cpu_s, lambda: self.waited_s
        )

    def pass_time(self, awake_s: float, *, asleep_s: float = 0.0, cpu_s: float = 0.0, waited_s: float = 0.0) -> None:
        """Let time pass, with this much CPU time, and then a heartbeat. `asleep_s`: time in which the machine sleeps.
        `waited_s`: time in which the threads of pump and load wait for a CPU.
        """
        self.with_sleep_s += awake_s + asleep_s
        self.awake_s += awake_s
        self.cpu_s += cpu_s
        self.waited_s += waited_s
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


def test_a_process_that_waits_for_a_cpu_is_not_suspended(process: ProcessWithClocks) -> None:
    """Other processes or a CPU quota take it: that lasts, so that a new level at each such second would never be measured."""
    process.pass_time(3.0, cpu_s=0.06, waited_s=2.9)
    assert process.suspension.look(LAG_OF_3_S) is None


def test_a_stop_on_a_busy_machine_is_a_suspension(process: ProcessWithClocks) -> None:
    process.pass_time(3.0, cpu_s=0.06, waited_s=0.5)
    assert process.suspension.look(LAG_OF_3_S) is not None


def test_the_time_for_which_a_thread_waits_for_a_cpu_is_known() -> None:
    """Two processes on one core."""
    threads, allowed = [threading.get_native_id()], os.sched_getaffinity(0)
    before_s = waited_s(threads)
    if not before_s:
        pytest.skip("this kernel does not say how long threads wait")
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            for pid in (other.pid, 0):  # 0: this thread alone
                os.sched_setaffinity(pid, {min(allowed)})
            deadline_s = monotonic() + TIMEOUT_S
            while waited_s(threads) < before_s + 0.01 and monotonic() < deadline_s:
                pass
        finally:
            os.sched_setaffinity(0, allowed)
            other.kill()
    assert waited_s(threads) >= before_s + 0.01
