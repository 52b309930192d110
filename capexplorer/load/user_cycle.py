"""Whether one user is warm, and how long it sleeps between its requests. Pure: times are passed in.

A user is *warm* once it has completed a task cycle; only from then on its requests count in figures: `on_start`, and
the first request that all new users make at once, are not steady load. Its first wait ends such a cycle. A task of many requests
may take minutes until then, so a user that is inside its first task is warm after WARM_RESPONSES times its longest response.
A user that replaces one which has ended by itself, after one flow, is warm from the start.
"""

from __future__ import annotations

WARM_LEAST_S = 2.0
"""Least seconds in its tasks after which a user that has not waited yet is warm: as long as a level takes to settle at least."""

WARM_RESPONSES = 2.0
"""Multiple of its longest response that such a user must have been in its tasks: as many cycles as a level takes to settle."""

WARM_MOST_S = 30.0
"""Seconds in its tasks after which it is warm in any case: a service that stalls must not keep a level unsettled without limit.
"""


class UserCycle:
    """One user's state, kept on its greenlet. A request of a warm user that does not sleep costs two reads of attributes."""

    __slots__ = ("_began_s", "_longest_s", "_slept_since_s", "is_warm", "slept_s")

    def __init__(self, *, is_warm: bool = False) -> None:
        self.is_warm = is_warm
        self.slept_s = 0.0
        """Slept since its last request."""
        self._slept_since_s = 0.0
        """When the first of these sleeps began."""
        self._began_s: float | None = None
        """When its first task began; None in `on_start`."""
        self._longest_s = 0.0

    @property
    def has_begun(self) -> bool:
        """Whether its first task has begun."""
        return self._began_s is not None

    def task_begins(self, now_s: float) -> None:
        """A task begins; the first one ends `on_start`."""
        if self._began_s is None:
            self._began_s, self.slept_s = now_s, 0.0

    def waits(self) -> None:
        """A task has ended, and the user waits for the next."""
        self.is_warm = True

    def sleeps(self, now_s: float, seconds: float) -> None:
        """User code sleeps."""
        if not self.slept_s:
            self._slept_since_s = now_s
        self.slept_s += seconds

    def warms_up(self, now_s: float, response_s: float) -> bool:
        """A request of a user that was not warm has ended: whether it is warm now, and the request counts."""
        if self._began_s is None:
            return False
        self._longest_s = max(self._longest_s, response_s)
        needed_s = min(WARM_MOST_S, max(WARM_LEAST_S, WARM_RESPONSES * self._longest_s))
        self.is_warm = now_s - self._began_s >= needed_s
        return self.is_warm

    def is_warm_at(self, now_s: float) -> bool:
        """Whether it is warm, even if it has been in a request or asleep for a long time."""
        return self.is_warm or (self._began_s is not None and now_s - self._began_s >= WARM_MOST_S)

    def think_s(self, now_s: float, response_s: float) -> float:
        """Think time before a request that has ended: the time slept before it began. Sleeps during the request (of a client that
        polls) do not count.
        """
        slept_s, self.slept_s = self.slept_s, 0.0
        return min(slept_s, max(0.0, now_s - self._slept_since_s - response_s))
