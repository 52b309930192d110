"""The iterations of an offered rate: when they are due, which user runs each, and what became of them. Pure: times and random
numbers are passed in.

Each entry of the ledger moves an iteration from one state to another. So planned = finished + failed + dropped + queued + running
holds at any entry at which a tick ends. Each entry also has the load thread's own count of iterations in flight, which shows
missing entries.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Literal

from gevent import getcurrent

from ..model.histogram import LatencyHistogram
from ..model.load import NO_DROPS, Arrivals, Drops, OfferedTick
from .user_activity import spawning_user

# -- schedule: gaps are drawn in units of the mean gap and divided by the rate, so that a change of the rate scales the rest of a
# gap. For random arrivals this is time rescaling of a unit-rate Poisson process (Cinlar, Introduction to Stochastic Processes,
# section 4.7); evenly spaced arrivals keep their phase.


class ArrivalSchedule:
    """Times are seconds of one clock. `due` gives each arrival once."""

    def __init__(self, per_s: float, arrivals: Arrivals, began_s: float, random: Random) -> None:
        self.per_s = per_s
        self.arrivals = arrivals
        self._random = random
        self._at_s = began_s
        """Time from which `_left` counts."""
        first = self._gap() if arrivals == "poisson" else random.random()  # so that the arrivals of workers do not coincide
        self._left = first
        """Rest of the gap to the next arrival, in mean gaps."""

    def _gap(self) -> float:
        return self._random.expovariate(1.0) if self.arrivals == "poisson" else 1.0

    @property
    def next_s(self) -> float:
        """When the next iteration is due; infinite at rate 0."""
        return self._at_s + self._left / self.per_s if self.per_s > 0 else math.inf

    def due(self, now_s: float) -> Iterator[float]:
        """The moments planned up to now."""
        while self.next_s <= now_s:
            self._at_s, self._left = self.next_s, self._gap()
            yield self._at_s

    def change(self, per_s: float, at_s: float) -> None:
        """Change the rate at `at_s`. All arrivals due by then must have been taken."""
        self._left -= max(0.0, at_s - self._at_s) * self.per_s
        self._left = max(self._left, 0.0)
        self._at_s, self.per_s = max(at_s, self._at_s), per_s

    def skip_to(self, at_s: float) -> None:
        """Plan no arrival before `at_s`: the process was suspended until then."""
        self._at_s = max(at_s, self._at_s)


# -- ledger


Entry = tuple[str, float, int]
"""(what happened; seconds: how late an arrival was handled, or the time from plan of a finished iteration; iterations in flight
after it, as counted in the load thread)."""

_ARRIVALS = ("started", "queued", "max_users", "target", "starting", "late")
"""The outcomes of an arrival; all but the first two are reasons for which it was dropped."""


class Ledger:
    """`record` in the load thread, `drain` in the pump's."""

    def __init__(self) -> None:
        self.per_s: float | None = None
        """The rate of the schedule; None: no rate is offered. Set in the load thread."""
        self._entries: deque[Entry] = deque()
        self.record = self._entries.append
        self._queued = self._running = 0

    def drain(self) -> OfferedTick | None:
        """The iterations since the last call; None if no rate is offered and no iteration is or was in flight."""
        per_s = self.per_s
        entries = [self._entries.popleft() for _ in range(len(self._entries))]
        if per_s is None and not entries and not self._queued and not self._running:
            return None
        counts = Counter(what for what, _, _ in entries)
        started = counts["started"] + counts["dequeued"]
        self._queued += counts["queued"] - counts["dequeued"] - counts["unqueued"]
        self._running += started - counts["finished"] - counts["failed"] - counts["abandoned"]
        from_plan_ms = [seconds * 1000 for what, seconds, _ in entries if what == "finished"]
        late_ms = sorted(seconds * 1000 for what, seconds, _ in entries if what in _ARRIVALS)
        histogram = LatencyHistogram()
        histogram.record_us([value * 1000 for value in from_plan_ms])
        return OfferedTick(
            offered_per_s=per_s or 0.0,
            planned=sum(counts[what] for what in _ARRIVALS),
            started=started,
            finished=counts["finished"],
            failed=counts["failed"],
            beyond_limits=counts["beyond_limits"],
            dropped=_drops(counts),
            queued=self._queued,
            running=self._running,
            in_flight_counted=entries[-1][2] if entries else None,
            from_plan=histogram.encode() if histogram.count else None,
            from_plan_sum_ms=math.fsum(from_plan_ms),
            **histogram.of_tick(),
            late_p50_ms=_rank(late_ms, 0.50),
            late_p99_ms=_rank(late_ms, 0.99),
            late_max_ms=_rank(late_ms, 1.0),
        )


def _drops(counts: Counter[str]) -> Drops:
    found = Drops(
        max_users=counts["max_users"],
        target=counts["target"],
        starting=counts["starting"],
        late=counts["late"],
        stopped=counts["unqueued"] + counts["abandoned"],
    )
    return found if found.total else NO_DROPS


def _rank(values: Sequence[float], q: float) -> float | None:
    """The quantile `q` of sorted values by nearest rank; None without values."""
    return values[max(0, math.ceil(q * len(values)) - 1)] if values else None


# -- dispatch


class Iteration:
    """A task that is due. Kept on the greenlet of the user that runs it."""

    __slots__ = ("failed", "is_beyond_limits", "kind", "planned_s", "started_s")

    def __init__(self, planned_s: float, kind: str) -> None:
        self.planned_s = planned_s
        self.kind = kind
        """Name of the user class."""
        self.started_s = 0.0
        self.failed = False
        """Whether one of its requests has failed."""
        self.is_beyond_limits = False
        """Whether one has succeeded beyond a limit on a single request."""


def current_iteration() -> Iteration | None:
    """The iteration of the user whose greenlet runs now; None if there is none."""
    iteration: Iteration | None = getattr(getcurrent(), "iteration", None)
    return iteration


def iteration_of_request() -> Iteration | None:
    """The iteration that a request of the greenlet that runs now belongs to: its own, or that of the user that spawned it."""
    return current_iteration() or getattr(spawning_user(), "iteration", None)


class IdleUser:
    """An idle user. `waiter` is switched to with its iteration; with None where no rate is offered any more."""

    __slots__ = ("iteration", "kind", "waiter")

    def __init__(self, kind: str, waiter: Any) -> None:
        self.kind = kind
        self.waiter = waiter
        self.iteration: Iteration | None = None
        """The iteration that it was assigned, which it may not have begun yet."""


QUEUE_S = 1.0
QUEUE_LEAST = 10
"""An iteration for which no user is idle is queued while the queue has fewer than the arrivals of QUEUE_S (at least
QUEUE_LEAST), so that a stall of that length delays iterations without loss. Beyond that it is dropped, which bounds the
memory and the backlog of an overload."""

LATE_MOST_S = 1.0
"""An arrival for which no user is idle, and which the load thread handles later than this, is dropped with the reason `late`."""

TASKS = 20
"""Number of tasks whose mean duration is one measurement of the task time."""

Reason = Literal["max_users", "target", "starting", "late"]


class Dispatch:
    """Call `arrive` for arrivals and `park` for idle users, in any order; then `ended` or `abandoned` for each assigned
    iteration.
    """

    def __init__(self, record: Callable[[Entry], None], wake: Callable[[IdleUser], None]) -> None:
        """`wake`: lets an idle user run its iteration soon."""
        self.per_s = 0.0
        self.max_users = 0
        self.shares: Mapping[str, float] = {}
        """The share of each user class among the arrivals; one that is missing has all."""
        self.users: Callable[[], Mapping[str, int]] = dict
        """Returns the users of the pool by class, those that are starting included."""
        self.running: dict[str, int] = {}
        """Iterations that run, by user class."""
        self.idle: dict[str, dict[IdleUser, None]] = {}
        """Idle users by user class. The user that became idle last gets the next arrival, so that few connections carry most
        of the load."""
        self._record_entry, self._wake = record, wake
        self._under_way: set[Iteration] = set()
        self._queues: dict[str, deque[Iteration]] = {}
        self._queued = 0
        self._tasks: dict[str, _TaskTime] = {}
        """By user class."""

    @property
    def queued(self) -> int:
        """Iterations that wait for a user."""
        return self._queued

    @property
    def in_flight(self) -> int:
        """Iterations that queue or run, counted one by one."""
        return sum(map(len, self._queues.values())) + len(self._under_way)

    def _record(self, what: str, seconds: float = 0.0) -> None:
        self._record_entry((what, seconds, self.in_flight))

    def queued_of(self, kind: str) -> int:
        """Iterations of one user class that wait for a user."""
        return len(self._queues.get(kind, ()))

    # -- arrivals

    def arrive(self, planned_s: float, now_s: float, kind: str) -> None:
        """An iteration was due at `planned_s`."""
        iteration, late_s = Iteration(planned_s, kind), max(0.0, now_s - planned_s)
        idle_users = self.idle.get(kind)
        if idle_users:
            idle_user, _ = idle_users.popitem()
            self._start(iteration, now_s)
            self._record("started", late_s)
            idle_user.iteration = iteration
            self._wake(idle_user)
        elif self._queued < max(QUEUE_LEAST, self.per_s * QUEUE_S) and late_s < LATE_MOST_S:
            self._queues.setdefault(kind, deque()).append(iteration)
            self._queued += 1
            self._record("queued", late_s)
        else:
            self._record(self._why(kind, late_s), late_s)

    def _why(self, kind: str, late_s: float) -> Reason:
        """Why an arrival for this user class is dropped."""
        if late_s >= LATE_MOST_S:
            return "late"
        users = self.users()
        own = users.get(kind, 0)
        if sum(users.values()) < self.max_users or self.running.get(kind, 0) < own:  # none of the class is idle
            return "starting"
        needed = self.per_s * self.shares.get(kind, 1.0) * self._tasks.get(kind, _NO_TASKS).least_s  # Little's law
        return "max_users" if own < needed < math.inf else "target"

    # -- users

    def park(self, idle_user: IdleUser, now_s: float) -> Iteration | None:
        """Note that a user is idle. Returns the queued iteration that it must run now; None: it waits for an arrival."""
        queue = self._queues.get(idle_user.kind)
        if not queue:
            self.idle.setdefault(idle_user.kind, {})[idle_user] = None
            return None
        iteration = queue.popleft()
        self._queued -= 1
        self._start(iteration, now_s)
        self._record("dequeued")
        return iteration

    def _start(self, iteration: Iteration, now_s: float) -> None:
        iteration.started_s = now_s
        self.running[iteration.kind] = self.running.get(iteration.kind, 0) + 1
        self._under_way.add(iteration)

    def left(self, idle_user: IdleUser) -> None:
        """Note that a user has ended while it was idle, or before it began the iteration that it was assigned."""
        if idle_user.iteration is not None:
            self.abandoned(idle_user.iteration)
        else:
            self.idle.get(idle_user.kind, {}).pop(idle_user, None)

    def ended(self, iteration: Iteration, now_s: float) -> None:
        """Note that the iteration's task has ended."""
        self.running[iteration.kind] -= 1
        self._under_way.discard(iteration)
        if iteration.failed:
            self._record("failed")
            return
        self._record("finished", now_s - iteration.planned_s)
        if iteration.is_beyond_limits:
            self._record("beyond_limits")
        self._tasks.setdefault(iteration.kind, _TaskTime()).add(now_s - iteration.started_s)

    def abandoned(self, iteration: Iteration) -> None:
        """Note that the iteration's user has ended before its task did."""
        self.running[iteration.kind] -= 1
        self._under_way.discard(iteration)
        self._record("abandoned")

    # -- the end of a rate

    def clear(self) -> list[IdleUser]:
        """End the rate: drop the queued iterations. Returns the idle users."""
        for queue in self._queues.values():
            while queue:
                queue.popleft()
                self._queued -= 1
                self._record("unqueued")
        idle_users = [idle_user for of_class in self.idle.values() for idle_user in of_class]
        self.idle.clear()
        return idle_users


class _TaskTime:
    """The least mean time of TASKS tasks in turn; infinite before as many have ended."""

    def __init__(self) -> None:
        self.least_s = math.inf
        self._tasks, self._sum_s = 0, 0.0

    def add(self, seconds: float) -> None:
        """Add the time of a task that has finished."""
        self._tasks += 1
        self._sum_s += seconds
        if self._tasks == TASKS:
            self.least_s = min(self.least_s, self._sum_s / TASKS)
            self._tasks, self._sum_s = 0, 0.0


_NO_TASKS = _TaskTime()
