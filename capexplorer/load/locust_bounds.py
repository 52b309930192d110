"""Bounds of Locust: how long steps and stops wait for user code, so that an on_stop that never returns cannot block
the run; and the memory of its own statistics, which locustfiles read.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import gevent
from locust.stats import EntriesDict, RequestStats, StatsEntry, StatsError

from .bounded_keys import EndpointNames
from .user_code import UserCodeFault, UserErrors, place_in_user_code

STALLED_S = 20.0
"""Seconds, in which the hub is in time, after which a step continues without users whose on_stop has not returned (for
`__init__`: three times as long)."""
LAST_STOPS_S = 7.0
"""Seconds for which all users together may delay the end of the run."""


LOOK_S, LATE_S = 0.05, 0.02
"""Time does not count while the hub wakes later than this after it was due: users end late then because the generator has too
much to do, or no CPU. With 6% of a core 527 users without code of their own did not end within 7 s."""

_log = logging.getLogger(__name__)


class Stalled(UserCodeFault):
    """User code has not returned within the bound, though the hub ran."""


class BoundedWaits:
    """Bounded waits for user code, in greenlets of the load thread."""

    def __init__(self, runner: Any, errors: UserErrors) -> None:
        self._runner, self._errors = runner, errors

    def step(self, spawning: Any, spawn_rate: float) -> bool:
        """Wait until a step, the greenlet `spawning`, is done or replaced by another.

        False: it was given up, since users neither started nor ended for too long.
        """
        users, quiet_s = self._runner.user_count, 0.0
        while quiet_s < self._step_s(spawn_rate):
            ran_s = _joined(spawning, 1.0)
            if spawning.ready() or self._runner.spawning_greenlet is not spawning:
                return True
            quiet_s = quiet_s + ran_s if self._runner.user_count == users else 0.0
            users = self._runner.user_count
        self._give_up(spawning, "no user started", quiet_s, is_timely=True)
        spawning.kill(block=False)
        return False

    def _step_s(self, spawn_rate: float) -> float:
        if self._runner.user_greenlets.dying:
            return STALLED_S
        return 3 * STALLED_S + 2.0 / spawn_rate + float(self._runner.environment.stop_timeout or 0)

    def stop(self, stop: Callable[[], None], within_s: float) -> None:
        """Call `stop`, which ends all users, and wait for it at most `within_s`."""
        stopping = gevent.spawn(stop)
        ran_s = _joined(stopping, within_s)
        if not stopping.ready():
            self._give_up(stopping, "the load did not end", within_s, is_timely=ran_s >= within_s / 2)
            stopping.join(timeout=1.0)
            stopping.kill(block=False)

    def _give_up(self, waiting: Any, what: str, waited_s: float, *, is_timely: bool) -> None:
        """Report the user code in which users that do not end stand, or if all have ended the greenlet that is waited for, and
        kill the users once more, which interrupts an on_stop that sleeps. `what`: has happened without such users.
        `is_timely`: the hub ran meanwhile; else, and if none stands in user code, there is no fault of it.
        """
        stopping = list(self._runner.user_greenlets.dying)
        what = f"{len(stopping)} users did not end" if stopping else what
        places = Counter(filter(None, (place_in_user_code(each.gr_frame) for each in stopping or [waiting])))
        if is_timely and places:
            line = places.most_common(1)[0][0]
            held = f"{places.total()} of " if places.total() < len(stopping) else ""
            self._errors.add(Stalled(f"{held}{what} within {waited_s:.0f} s", line))
        else:
            why = "" if is_timely else ": the load thread is too busy, or has no CPU"
            _log.warning("%s within %.0f s%s", what, waited_s, why)
        for greenlet in stopping:
            greenlet.kill(block=False)


def _joined(greenlet: Any, within_s: float) -> float:
    """Wait for its end at most so long. Returns the seconds of it in which the hub was not late."""
    began_s = now_s = time.monotonic()
    ran_s = 0.0
    while not greenlet.ready() and now_s - began_s < within_s:
        greenlet.join(timeout=LOOK_S)
        woke_s = time.monotonic()
        ran_s += woke_s - now_s if woke_s - now_s <= LOOK_S + LATE_S else 0.0
        now_s = woke_s
    return ran_s


# -- statistics: Locust keeps an entry for each name, each second and each text of an error for ever. With an id in each path that
# is 2 GB an hour at 300 requests per second.


ERRORS_MOST = 500
"""Maximum number of different errors; the occurrences of further ones are counted together."""

SECONDS_MOST = 60
"""Latest seconds of an entry whose requests are counted one by one. Locust reads those of the last twelve."""

_Key = tuple[str, str]
"""(name, method), as Locust has it."""


class BoundedStats(RequestStats):
    """Statistics under the names by which requests are counted here (`EndpointNames`)."""

    def __init__(self) -> None:
        super().__init__()
        self.clear_all()

    def clear_all(self) -> None:
        """Remove all entries and errors."""
        super().clear_all()
        self.total = _Entry(self, "Aggregated", "", use_response_times_cache=True)
        self.entries = _Entries(self)

    def log_error(self, method: str, name: str, error: Exception | str | None) -> None:
        """Count an error by its text: an exception refers to its response, with its body."""
        super().log_error(method, self.entries[(name, method)].name, StatsError.parse_error(error))

    @property
    def errors(self) -> dict[str, StatsError]:
        """The errors by Locust's key."""
        return self._errors

    @errors.setter
    def errors(self, found: dict[str, StatsError]) -> None:
        self._errors = _Errors(found)


class _Entries(EntriesDict):
    """Gives the entry under whose name requests of a raw name are counted."""

    def __init__(self, stats: BoundedStats) -> None:
        super().__init__(stats)  # type: ignore[no-untyped-call]
        self._names = EndpointNames()

    def __missing__(self, key: _Key) -> StatsEntry:
        counted = self._counted(key)
        if not dict.__contains__(self, counted):
            self[counted] = _Entry(self.request_stats, *counted, use_response_times_cache=True)
        found: StatsEntry = self[counted]
        return found

    def __contains__(self, key: object) -> bool:
        """Whether there is an entry or `__missing__` gives one: Locust adds a worker's entry to it."""
        return True

    def _counted(self, key: _Key) -> _Key:
        name, method = key
        was_grouping = self._names.grouping
        method, name = self._names.canonical(str(method or ""), str(name or ""))
        if self._names.grouping and not was_grouping:
            for raw in list(self):
                entry = self.pop(raw)
                self[raw].extend(entry)
        return name, method


class _Entry(StatsEntry):
    """An entry that forgets single seconds."""

    def reset(self) -> None:
        """Set all counts to zero."""
        super().reset()  # type: ignore[no-untyped-call]
        self.num_reqs_per_sec, self.num_fail_per_sec = _Seconds(int), _Seconds(int)


class _Seconds(defaultdict[int, int]):
    """Counts of the SECONDS_MOST latest seconds."""

    def __setitem__(self, second: int, count: int) -> None:
        super().__setitem__(second, count)
        if len(self) > SECONDS_MOST:
            del self[next(iter(self))]


class _Errors(dict[str, StatsError]):
    """Up to ERRORS_MOST errors. Once it is full, all other keys have one common entry."""

    def __missing__(self, key: str) -> StatsError:
        if len(self) < ERRORS_MOST:
            raise KeyError(key)
        return self.setdefault("", StatsError("", "", "further kinds of errors"))

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or len(self) >= ERRORS_MOST

    def get(self, key: str, default: Any = None) -> Any:
        """The entry of this key, or the common one."""
        return self[key] if key in self else default
