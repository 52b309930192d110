"""The pump: the thread that alone determines the order of events. Everything arrives as a call or a report through one queue;
once a second it drains the users' requests, reads the probes, and folds both into a sample.

A native thread: its queue and clock are those of C, which gevent does not patch.
"""

from __future__ import annotations

import time
import traceback
from _queue import Empty, SimpleQueue
from _thread import get_native_id
from collections.abc import Callable, Iterable
from functools import partial
from typing import ParamSpec, Protocol

from ..load import native
from ..load.engine import Report as LoadReport
from ..load.lag import Lag
from ..model.sources import Clock
from ..read import procfs
from ..target.supervisor import Report as TargetReport

INTERVAL_S = 1.0

LATE_S = 0.5
"""Seconds that a tick waits at most for the requests of its second: workers report them 5 to 50 ms after it ended."""

LOOK_S = 0.05
"""Seconds between checks for them, if no report wakes the thread."""


Report = LoadReport | TargetReport
"""What other threads report to the session."""

Post = Callable[[], object] | Report


class Inbox:
    """A queue of calls and reports: `put` from any thread, `take` from one, which waits with a timeout.

    `SimpleQueue.get(timeout)` is not used: where a signal reaches the waiting thread after the timeout has passed, as SIGCONT
    does to a process that was stopped, CPython 3.11 goes on waiting without any timeout. The pump then hung forever after `fg`.
    """

    def __init__(self) -> None:
        self._posts: SimpleQueue[Post] = SimpleQueue()
        self._news = native.allocate_lock()
        """Locked while nothing was put since the last `take`. A wait for this lock keeps its timeout even if signals arrive."""
        self._news.acquire()

    def put(self, post: Post) -> None:
        """Hand it over; never blocks."""
        self._posts.put(post)
        try:
            self._news.release()
        except RuntimeError:  # already released: the other thread has not taken it yet
            return

    def take(self, timeout_s: float) -> Post | None:
        """The next one, waiting up to `timeout_s`; None if there was none, possibly before the timeout."""
        found = self._next()
        if found is not None or timeout_s <= 0:
            return found
        self._news.acquire(timeout=timeout_s)
        return self._next()

    def _next(self) -> Post | None:
        try:
            return self._posts.get_nowait()
        except Empty:
            return None


P = ParamSpec("P")


class PumpWork(Protocol):
    """What a pump does besides the posted calls: its session. Every method is called in the pump's thread."""

    def report(self, report: Report) -> None:
        """A report of another thread."""

    def beat(self) -> None:
        """Called every BEAT_S, and after each posted call."""

    def is_due(self, boundary_s: float) -> bool:
        """Whether all requests up to this moment (`time.monotonic`) can be drained."""

    def tick(self, started_s: float, ended_s: float) -> None:
        """Called every INTERVAL_S, with the ends of the last tick and of this one."""

    @property
    def alarm_s(self) -> float | None:
        """Session time at which to call `on_alarm` next, in addition to ticks (a plan's next step)."""

    def on_alarm(self) -> None:
        """The alarm's time has come."""

    def on_defect(self, text: str) -> None:
        """A defect of capexplorer has ended the thread. `text`: the traceback."""


class Pump:
    """Runs posted calls and reports in order, and ticks. Times are seconds of the session."""

    def __init__(self) -> None:
        self.thread_id: int | None = None
        self._inbox = Inbox()
        self._ending = False
        self._began_s = time.monotonic()
        self._ticked_s = 0.0
        self._next_tick_s: float | None = None
        self.boundary_s = 0.0
        """`time.monotonic` of the whole second at which the latest tick was due."""
        self._running = native.allocate_lock()
        """A lock held until the loop has ended (see `Inbox` for why it is not a queue)."""
        self._running.acquire()

    def now_s(self) -> float:
        """Seconds of the session."""
        return time.monotonic() - self._began_s

    def at_s(self, monotonic_s: float) -> float:
        """A `time.monotonic` moment as seconds of the session."""
        return monotonic_s - self._began_s

    def post(self, call: Callable[P, object], /, *args: P.args, **named: P.kwargs) -> None:
        """From any thread: run this call in the pump's thread soon."""
        self._inbox.put(partial(call, *args, **named))

    def report(self, report: Report) -> None:
        """From any thread: hand a report to the session that the pump works for."""
        self._inbox.put(report)

    def end(self, last: Callable[[], None]) -> None:
        """From any thread: run `last` after the calls posted so far, then end the loop."""

        def leave() -> None:
            self._ending = True
            last()

        self._inbox.put(leave)

    def wait_until_left(self, timeout_s: float) -> bool:
        """From another thread: wait for the loop's end; False at the timeout."""
        has_left = self._running.acquire(timeout=timeout_s)
        if has_left:
            self._running.release()
        return has_left

    @property
    def until_tick_s(self) -> float | None:
        """Seconds to the next tick; None before the first one."""
        return None if self._next_tick_s is None else self._next_tick_s - self.now_s()

    def start_ticks(self) -> None:
        """Begin to tick: one tick at each whole second from now on."""
        self._ticked_s = self.now_s()
        self._next_tick_s = self._ticked_s + INTERVAL_S
        self.boundary_s = self._began_s + self._ticked_s

    def run(self, work: PumpWork) -> None:
        """The thread's body."""
        self.thread_id = get_native_id()
        try:
            while not self._ending:
                self._once(work)
        except BaseException:  # the thread's boundary: a defect of capexplorer goes to `on_defect`
            work.on_defect(traceback.format_exc())
        finally:
            self._running.release()

    def drain_until(self, work: PumpWork, done: Callable[[], bool], timeout_s: float) -> bool:
        """In the pump's thread: run posted calls, without ticks, until `done` is true. False at the timeout."""
        deadline_s = self.now_s() + timeout_s
        while not done():
            left_s = deadline_s - self.now_s()
            if left_s <= 0:
                return False
            self._take(work, min(left_s, 0.1))
        return True

    def _timeout_s(self, work: PumpWork) -> float:
        moments = [moment for moment in (self._next_tick_s, work.alarm_s) if moment is not None]
        if not moments:
            return BEAT_S
        left_s = min(moments) - self.now_s()
        return min(BEAT_S, left_s) if left_s > 0 else LOOK_S if self._waits(work) else 0.0

    def _waits(self, work: PumpWork) -> bool:
        """Whether a tick is due but still waits for the requests of its second."""
        now_s, next_s = self.now_s(), self._next_tick_s
        if next_s is None or not next_s <= now_s < next_s + LATE_S:
            return False
        return not work.is_due(self._began_s + next_s)

    def _once(self, work: PumpWork) -> None:
        self._take(work, self._timeout_s(work))
        work.beat()
        if self._ending:
            return
        if self._next_tick_s is not None and self.now_s() >= self._next_tick_s and not self._waits(work):
            self.tick(work)
        alarm_s = work.alarm_s
        if alarm_s is not None and self.now_s() >= alarm_s:
            work.on_alarm()

    def _take(self, work: PumpWork, timeout_s: float) -> None:
        found = self._inbox.take(timeout_s)
        if callable(found):
            found()
        elif found is not None:
            work.report(found)

    def tick(self, work: PumpWork) -> None:
        """Run one tick now. Later ticks stay at whole seconds since `start_ticks`; missed ticks are not repeated."""
        started_s, self._ticked_s = self._ticked_s, self.now_s()
        self.boundary_s = self._began_s + min(self._ticked_s, self._next_tick_s or self._ticked_s)
        work.tick(started_s, self._ticked_s)
        if self._next_tick_s is not None:
            missed = int(max(0.0, self.now_s() - self._next_tick_s) / INTERVAL_S)
            self._next_tick_s += (1 + missed) * INTERVAL_S


# -- suspension ----------------------------------------------------------------------------------------------------------------
# Detects that the process was suspended: stopped by a signal (ctrl+z), frozen, or asleep with its machine. In the pump's thread.
#
# The users are suspended too, so such seconds do not describe the service. A suspension has three signs, each of which alone may
# have another cause: the pump's beat is late (a slow disk delays it, too), the load thread's timer is late (user code that blocks
# delays it, too), and the process used almost no CPU meanwhile (it uses much when one thread computes and blocks all others).


BEAT_S = 0.1
STOPPED_LEAST_S = 0.5
"""Seconds from which a stop counts as a suspension; a shorter one is not distinct from a busy machine, and shows as loop lag."""

STOPPED_CPU_MOST = 0.5
"""Cores: a process that used or waited for more than that was not stopped."""


def _with_sleep_s() -> float:
    """Monotonic, and includes time in which the machine sleeps (Linux; sleep is not detected elsewhere)."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def waited_s(threads: Iterable[int | None]) -> float:
    """Seconds for which these threads of this process (native ids) were ready to run and got no CPU (Linux; 0 elsewhere).

    A thread that waits for the interpreter's lock sleeps, while the one that has it may wait for a CPU.
    """
    read = [procfs.schedstat(procfs.read_once(f"/proc/self/task/{tid}/schedstat")) for tid in threads if tid is not None]
    return sum(each.run_delay_ns for each in read if each is not None) / 1e9


class SuspensionDetector:
    """Call `beat` ten times a second, and `look` once a tick."""

    def __init__(
        self,
        clock_s: Clock = _with_sleep_s,
        awake_s: Clock = time.monotonic,
        cpu_s: Clock = time.process_time,
        waited_s: Clock = lambda: 0.0,
    ) -> None:
        self._clocks = clock_s, awake_s, cpu_s, waited_s
        self._beat = self._now()
        self._longest_s = self._asleep_s = 0.0
        """Since the last look."""
        self._is_suspended = False

    def _now(self) -> tuple[float, ...]:
        return tuple(clock() for clock in self._clocks)

    def beat(self) -> None:
        """Note that the pump runs."""
        before, self._beat = self._beat, self._now()
        passed_s, awake_s, cpu_s, waited_s = (now - then for now, then in zip(self._beat, before, strict=True))
        self._asleep_s += max(0.0, passed_s - awake_s)
        if cpu_s + waited_s <= STOPPED_CPU_MOST * passed_s:
            self._longest_s = max(self._longest_s, passed_s - BEAT_S)

    def look(self, lag: Lag) -> float | None:
        """The value of `Sample.suspended_s` for the tick that ends now. `lag`: that of the load thread in this tick."""
        self.beat()
        longest_s, asleep_s = self._longest_s, self._asleep_s
        self._longest_s = self._asleep_s = 0.0
        held_up = (lag.max_ms or 0.0) >= STOPPED_LEAST_S * 1000
        before, self._is_suspended = self._is_suspended, asleep_s >= STOPPED_LEAST_S or (held_up and longest_s >= STOPPED_LEAST_S)
        if self._is_suspended:
            return max(longest_s, asleep_s)
        return 0.0 if before else None
