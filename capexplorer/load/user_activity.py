"""What users do besides requests: waits between tasks, sleeps and time inside tasks, how many users are warm, and which of their
events are metrics.

The load thread adds up, the pump's thread drains. The state of one user (`user_cycle`, `request_events`) is an attribute of its
greenlet.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import astuple, dataclass
from fnmatch import fnmatchcase
from typing import Any, ParamSpec, TypeVar
from weakref import ref

from gevent import get_hub, getcurrent
from gevent.event import Event

from ..model.experiments import Experiment

# -- metrics -------------------------------------------------------------------------------------------------------------------
# Request events of user code that are no requests, but metrics: a token counter, the time to a first byte, a flow of requests.
#
# What Locust's clients and LeanHttpUser fire is a request. What user code fires is a request of a client of its own, such as
# gRPC, or a figure about a request that counts already. One user's requests follow each other, so it is the latter if
# - its time lies within a request of such a client of the same user, or within the reading of its reply, or
# - it has no time, and since then, or since its task began, the user has waited for nothing: no reply can have come.
# Users who never use such a client have only requests of their own. Times are rounded and user code may be slow, so single
# events may be taken wrongly: a name is what most of its events are.


P = ParamSpec("P")
T = TypeVar("T")

ROUNDED_S = 0.001
"""Events of user code may be longer than they were by this, since many round to milliseconds."""

NAMES_MOST = 10_000
"""Names of events that are remembered; with ids in names each event is judged by itself."""

_CLIENTS = frozenset(
    ("locust.clients", "capexplorer.load.lean.session", "capexplorer.load.lean.response")
    + tuple(f"locust.contrib.{name}" for name in ("dns", "fasthttp", "milvus", "mongodb", "oai", "postgres", "qdrant"))
)
"""Modules whose code fires requests of clients that wait for their reply in the user's own greenlet. User code may pass any
arguments, so they do not tell who fired an event."""


class RequestEvents:
    """The events of one user. Pure: times are passed in, in seconds. `turn`: how often the event loop has waited, which does not
    change while a greenlet runs.
    """

    __slots__ = ("_client_ended_s", "_has_waited", "_is_held", "_turn")

    def __init__(self) -> None:
        self._client_ended_s = 0.0
        """When the latest request of a client, or the reading of its reply, ended."""
        self._is_held = False
        """Whether that request is reported later, at the end of its with-block."""
        self._turn = -1
        self._has_waited = True
        """Whether the user had waited, but not asleep, up to `_turn`, since its latest event or the begin of its task."""

    def task_begins(self, turn: int) -> None:
        """What the user has waited for until now was its next task."""
        self._turn, self._has_waited, self._is_held = turn, False, False

    def sleeps(self, turn: int) -> None:
        """The user goes to sleep."""
        self._has_waited = self._has_waited or turn != self._turn

    def wakes(self, turn: int) -> None:
        """The user has slept."""
        self._turn = turn

    def reads(self, now_s: float, turn: int) -> None:
        """The user has read a part of a client's reply."""
        self._client_ended_s, self._turn, self._has_waited = now_s, turn, False

    def holds(self, now_s: float, turn: int) -> None:
        """A client has the reply, or its head, and reports the request at the end of its with-block."""
        self.reads(now_s, turn)
        self._is_held = True

    def of_client(self, now_s: float, turn: int) -> None:
        """A client reports a request."""
        self.reads(now_s, turn)
        self._is_held = False

    def is_metric(self, began_s: float, fired_s: float, turn: int) -> bool | None:
        """Whether an event that user code fires is no request; None: not known, since the user has used no client yet."""
        has_waited = self._has_waited or turn != self._turn
        self._turn, self._has_waited = turn, False
        has_time = began_s < fired_s
        if not self._client_ended_s:
            return None if not (has_time or has_waited) else False
        rounded_s = 0.0 if self._is_held and not has_waited else ROUNDED_S  # in the with-block nothing else can have come
        return began_s + rounded_s < self._client_ended_s or not (has_time or has_waited)


class MetricNames:
    """Which events of user code are metrics, by their names."""

    def __init__(self, named: Sequence[str] = ()) -> None:
        """`named`: patterns of `METHOD name`, of which the first that matches decides; with `!` in front it names requests."""
        self._named = [(pattern.removeprefix("!"), not pattern.startswith("!")) for pattern in named]
        self._most: dict[tuple[str, str], float] = {}
        """Number of events that were recognised as metrics, less those that were not, by method and name."""

    def has(self, method: str, name: str) -> bool:
        """Whether this name is a metric's."""
        return self._most.get((method, name), 0) > 0

    def takes(self, method: str, name: str, recognised: bool | None) -> bool:
        """Whether an event of this name is a metric, which by itself was `recognised` as one; None: it says nothing."""
        key, most = (method, name), self._most
        seen = most.get(key)
        if seen is None:
            shown = f"{method} {name}".strip()
            named = next((is_metric for pattern, is_metric in self._named if fnmatchcase(shown, pattern)), None)
            seen = 0 if named is None else math.inf if named else -math.inf
            if len(most) >= NAMES_MOST:
                return seen > 0 or (not seen and bool(recognised))
        most[key] = seen + (0 if recognised is None else 1 if recognised else -1)
        return most[key] > 0


def reading_parts(parts: Callable[P, Iterator[T]]) -> Callable[P, Iterator[T]]:
    """`iter_content` of a client's reply, which notes each part that user code reads."""

    def noting(*args: P.args, **options: P.kwargs) -> Iterator[T]:
        for part in parts(*args, **options):
            reads()
            yield part
        reads()

    return noting


def reading(read: Callable[P, T]) -> Callable[P, T]:
    """`read` of a client's reply, which notes that user code reads it."""

    def noting(*args: P.args, **options: P.kwargs) -> T:
        try:
            return read(*args, **options)
        finally:
            reads()

    return noting


def reads() -> None:
    """The user of this greenlet has read a part of a reply."""
    of_this_user().reads(time.time(), turn())


def of_this_user() -> RequestEvents:
    """The events of the greenlet that runs now."""
    greenlet = getcurrent()
    events: RequestEvents | None = getattr(greenlet, "request_events", None)
    if events is None:
        events = greenlet.request_events = RequestEvents()
    return events


_USER = "capexplorer_user"
"""Key of gevent's `spawn_tree_locals`, which all greenlets share that a greenlet has spawned, or that these have."""


def begins_life() -> None:
    """The greenlet that runs now is a user, and so all that it spawns is of this user."""
    greenlet = getcurrent()
    greenlet.spawn_tree_locals = {_USER: ref(greenlet)}


def spawning_user() -> Any:
    """The greenlet of the user that has spawned the one that runs now, such as a loop that receives; None: no user has, or it has
    ended."""
    tree = getattr(getcurrent(), "spawn_tree_locals", None) or {}
    return tree[_USER]() if _USER in tree else None


def turn() -> int:
    """How often the event loop of this thread has waited; 0 where it does not count (libuv)."""
    return int(getattr(get_hub().loop, "iteration", 0))


def _is_sent_by_call() -> bool:
    """Whether `call` of SocketIOUser fires the event, which is a request itself, but sends by `emit`, which fires one, too."""
    try:
        firing = sys._getframe(4)
    except ValueError:
        return False
    is_socketio = firing.f_globals.get("__name__") == "locust.contrib.socketio"
    return is_socketio and firing.f_back is not None and firing.f_back.f_code.co_name == "call"


def holds() -> None:
    """A client returns a reply whose request it reports later, at the end of its with-block."""
    of_this_user().holds(time.time(), turn())


def is_fired_by_client() -> bool:
    """Whether a client reports a request of this user. To be called in a listener of Locust's request event itself."""
    try:
        fired_by = sys._getframe(3).f_globals.get("__name__")  # what called `fire`, which called the listener
    except ValueError:  # the listener was called by itself
        fired_by = None
    is_client = fired_by in _CLIENTS
    if is_client:
        of_this_user().of_client(time.time(), turn())
    return is_client


def recognised(response_ms: float, start_time: object) -> bool | None:
    """Whether an event that user code of this user fires is a metric; None: not known. In the same listener. `start_time`: as it
    was passed to the event (`time.time`); None: it was not.
    """
    if _is_sent_by_call():
        return True
    now_s = time.time()
    began_s = start_time if isinstance(start_time, float) else now_s - response_ms / 1000
    return of_this_user().is_metric(began_s if response_ms else now_s, now_s, turn())


# -- user cycle ----------------------------------------------------------------------------------------------------------------
# Whether one user is warm, and how long it sleeps between its requests. Pure: times are passed in.
#
# A user is *warm* once it has completed a task cycle; only from then on its requests count in figures: `on_start`, and the first
# request that all new users make at once, are not steady load. Its first wait ends such a cycle. A task of many requests may take
# minutes until then, so a user that is inside its first task is warm after WARM_RESPONSES times its longest response. A user that
# replaces one which has ended by itself, after one flow, is warm from the start.


WARM_LEAST_S = 2.0
"""Least seconds in its tasks after which a user that has not waited yet is warm: as long as a level takes to settle at least."""

WARM_RESPONSES = 2.0
"""Multiple of its longest response that such a user must have been in its tasks: as many cycles as a level takes to settle."""

WARM_MOST_S = 30.0
"""Seconds in its tasks after which it is warm in any case: a service that stalls must not keep a level unsettled without limit.
"""


class UserCycle:
    """One user's state, kept on its greenlet. A request of a warm user that does not sleep costs two reads of attributes."""

    __slots__ = ("_longest_s", "_slept_since_s", "began_s", "is_warm", "slept_s")

    def __init__(self, *, is_warm: bool = False) -> None:
        self.is_warm = is_warm
        self.slept_s = 0.0
        """Slept since its last request."""
        self._slept_since_s = 0.0
        """When the first of these sleeps began."""
        self.began_s: float | None = None
        """When its first task began; None in `on_start`."""
        self._longest_s = 0.0

    def task_begins(self, now_s: float) -> None:
        """A task begins; the first one ends `on_start`."""
        if self.began_s is None:
            self.began_s, self.slept_s = now_s, 0.0

    def sleeps(self, now_s: float, seconds: float) -> None:
        """User code sleeps."""
        if not self.slept_s:
            self._slept_since_s = now_s
        self.slept_s += seconds

    def warms_up(self, now_s: float, response_s: float) -> bool:
        """A request of a user that was not warm has ended: whether it is warm now, and the request counts."""
        if self.began_s is None:
            return False
        self._longest_s = max(self._longest_s, response_s)
        needed_s = min(WARM_MOST_S, max(WARM_LEAST_S, WARM_RESPONSES * self._longest_s))
        self.is_warm = now_s - self.began_s >= needed_s
        return self.is_warm

    def is_warm_at(self, now_s: float) -> bool:
        """Whether it is warm, even if it has been in a request or asleep for a long time."""
        return self.is_warm or (self.began_s is not None and now_s - self.began_s >= WARM_MOST_S)

    def think_s(self, now_s: float, response_s: float) -> float:
        """Think time before a request that has ended: the time slept before it began. Sleeps during the request (of a client that
        polls) do not count.
        """
        slept_s, self.slept_s = self.slept_s, 0.0
        return min(slept_s, max(0.0, now_s - self._slept_since_s - response_s))


@dataclass(slots=True)
class ActivitySums:
    """Sums over a tick, or since the beginning."""

    waits: int = 0
    """Waits between two tasks."""
    wait_sum_s: float = 0.0
    sleeps: int = 0
    """Pauses between two requests in which user code slept."""
    sleep_sum_s: float = 0.0
    tasks: int = 0
    """Tasks that ended."""
    task_sum_s: float = 0.0
    """Sum of their durations, requests and sleeps included."""
    users_stopped: int = 0
    """Users that stopped themselves (StopUser)."""


class UserActivity:
    """`drain` and `warm_users` are called in the pump's thread, all others in the load thread."""

    def __init__(self, greenlets: Callable[[], Collection[object]] = tuple) -> None:
        """`greenlets`: those of the users: the runner's gevent Group."""
        self._greenlets = greenlets
        self._sums, self._drained = ActivitySums(), ActivitySums()
        self.experiment: Experiment | None = None
        """What users do otherwise in this level; None: nothing."""
        self.ended = Event()
        """Set where a user has ended by itself."""
        self.successors = 0
        """Users that have stopped themselves inside a task and are about to be replaced: flows follow each other at once, so
        they count as running and warm."""

    def on_task(self) -> float:
        """A task begins; returns its start (`time.monotonic`)."""
        cycle, now_s = getcurrent().__dict__.get("user_cycle") or self._cycle(), time.monotonic()
        if cycle is not None and cycle.began_s is None:
            cycle.task_begins(now_s)
        return now_s

    def on_task_end(self, began_s: float) -> None:
        """A task that began at `began_s` has ended."""
        self._sums.tasks += 1
        self._sums.task_sum_s += time.monotonic() - began_s

    def on_user_end(self) -> None:
        """The user whose greenlet runs now ends. If it has stopped itself inside a task, its whole flow is a cycle, and whoever
        replaces it is warm from the start.
        """
        greenlet = getcurrent()
        if not getattr(greenlet, "has_stopped", False):
            return
        self._sums.users_stopped += 1
        cycle: UserCycle | None = getattr(greenlet, "user_cycle", None)
        if cycle is not None and cycle.began_s is not None:
            greenlet.user_cycle = None  # it does not count beside its successor
            self.successors += 1
            self.ended.set()

    def on_idle(self) -> None:
        """A user of a rate level waits for an arrival. Its requests count from now on, since arrivals do not start all new
        users at once.
        """
        cycle = self._cycle()
        if cycle is not None:
            cycle.is_warm = True

    def on_wait(self, seconds: float) -> None:
        """A user waits: its first cycle has ended, and its requests count from now on."""
        cycle = getcurrent().__dict__.get("user_cycle") or self._cycle()
        if cycle is not None:
            cycle.is_warm = True
        self._sums.waits += 1
        self._sums.wait_sum_s += seconds

    def on_sleep(self, seconds: object) -> None:
        """A greenlet sleeps; `seconds` may be any value that user code passes. Only users' sleeps are think time."""
        cycle = self._cycle()
        if cycle is not None and isinstance(seconds, int | float) and seconds > 0:
            cycle.sleeps(time.monotonic(), seconds)

    def is_warm(self) -> bool:
        """Whether what the user does now counts in figures; False: it is new."""
        cycle = self._cycle()
        return cycle is None or cycle.is_warm

    def on_request(self, response_ms: float) -> bool:
        """A request ends. Returns whether it counts in figures; False: it is a new user's warm-up."""
        cycle = getcurrent().__dict__.get("user_cycle") or self._cycle()
        if cycle is None:  # in a greenlet that a user spawned it is that user's, whose sleeps are not before it
            cycle = self._cycle_of(spawning_user())
            return cycle is None or cycle.is_warm or cycle.warms_up(time.monotonic(), response_ms / 1000)
        if cycle.is_warm and not cycle.slept_s:
            return True
        now_s, response_s = time.monotonic(), response_ms / 1000
        if cycle.slept_s:
            self._sums.sleeps += 1
            self._sums.sleep_sum_s += cycle.think_s(now_s, response_s)
        return cycle.is_warm or cycle.warms_up(now_s, response_s)

    def _cycle(self) -> UserCycle | None:
        """The cycle of the user whose greenlet runs now; None in other greenlets, such as those that a user spawned."""
        return self._cycle_of(getcurrent())

    def _cycle_of(self, greenlet: Any) -> UserCycle | None:
        cycle: UserCycle | None = getattr(greenlet, "user_cycle", None)
        if cycle is None and greenlet in self._greenlets():
            cycle = greenlet.user_cycle = UserCycle()
        return cycle

    def drain(self) -> ActivitySums:
        """The sums since the last call. Additions of the load thread during this call may be in the next one."""
        now = ActivitySums(*astuple(self._sums))
        before, self._drained = self._drained, now
        return ActivitySums(*(new - old for new, old in zip(astuple(now), astuple(before), strict=True)))

    def warm_users(self) -> int:
        """Number of running users that are warm."""
        now_s = time.monotonic()
        users = tuple(getattr(self._greenlets(), "greenlets", ()))  # copied at once: the load thread changes the set
        cycles = (getattr(greenlet, "user_cycle", None) for greenlet in users)
        return self.successors + sum(1 for cycle in cycles if cycle is not None and cycle.is_warm_at(now_s))
