"""Knee finders: the interface to a service, and the policies of other tools, in their simplest form for closed loops.

The tools let their users choose thresholds. A policy that needs a threshold of response time gets twice the p95 of a single user.
Only somebody who has measured that p95 could choose this value, so the comparison favours these policies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

MAX_USERS = 1_000
"""No finder goes beyond this."""

LIMIT_S = 1_800.0
"""No finder takes longer than this; it then answers with the results so far."""


@dataclass(frozen=True, slots=True)
class Window:
    users: int
    seconds: int
    goodput_rps: float
    failure_ratio: float
    mean_ms: float | None
    """Mean and p95 are those of successes; None without any."""
    p95_ms: float | None


Steps = list[tuple[int, float]]
"""Numbers of users, each with the seconds for which they were there."""


class World(Protocol):
    steps: Steps

    @property
    def now_s(self) -> float:
        """Seconds since the exploration began."""

    @property
    def users(self) -> int:
        """Users now."""

    def step(self, users: int) -> None:
        """Set the number of users."""

    def watch(self, seconds: int) -> Window:
        """Let that many seconds pass, and return their figures."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a finder. `users` None: it found no knee."""

    users: float | None
    capacity_rps: float | None = None
    users_low: float | None = None
    users_high: float | None = None
    """The interval, where the policy has one."""


Finder = Callable[[World], Answer]

NO_KNEE = Answer(None)

P95_FACTOR = 2.0
MOST_FAILURES = 0.01
"""Largest failure ratio within the thresholds."""
BASE_S = 10
"""Seconds for which one user is measured, if a policy compares with an unloaded service."""


def vayu(world: World) -> Answer:
    """Concurrency grows by 25% every 10 s, until a step adds less than 5% of throughput."""
    users, last = 1, _at(world, 1, 10)
    while users < MAX_USERS and world.now_s < LIMIT_S:
        users = max(users + 1, round(users * 1.25))
        seen = _at(world, users, 10)
        if seen.goodput_rps < 1.05 * last.goodput_rps:
            return Answer(last.users, max(seen.goodput_rps, last.goodput_rps))
        last = seen
    return NO_KNEE


def breakpoint_ramp(world: World) -> Answer:
    """k6's breakpoint test: one more user every 2 s until a threshold is exceeded; that number of users is the breaking point."""
    thresholds = _Thresholds(_at(world, 1, BASE_S))
    best_rps = 0.0
    while world.users < MAX_USERS and world.now_s < LIMIT_S:
        seen = _at(world, world.users + 2, 4)
        best_rps = max(best_rps, seen.goodput_rps)
        if thresholds.exceeded(seen):
            return Answer(world.users, best_rps)
    return NO_KNEE


def capacity_steps(world: World) -> Answer:
    """Gatling's incrementConcurrentUsers: levels of 20 s with 10 more users each, after a ramp of 5 s; the last level within the
    thresholds is the answer."""
    thresholds, last = _Thresholds(_at(world, 1, BASE_S)), None
    while world.users < MAX_USERS and world.now_s < LIMIT_S:
        world.step(min(world.users + 10, MAX_USERS) if last else 10)
        world.watch(5)
        seen = world.watch(20)
        if thresholds.exceeded(seen):
            return Answer(last.users, last.goodput_rps) if last else Answer(seen.users, seen.goodput_rps)
        last = seen
    return NO_KNEE


def exponential_search(world: World) -> Answer:
    """Nighthawk's adaptive load: users double every 10 s until a threshold is exceeded, then bisection, then a test of 30 s."""
    thresholds = _Thresholds(_at(world, 1, BASE_S))
    found = _doubled(world, thresholds, 10)
    if found is None:
        return NO_KNEE
    low, _ = _halved(world, thresholds, *found, 10)
    return Answer(low, _at(world, low, 30).goodput_rps)


def short_trials_first(world: World) -> Answer:
    """MLRsearch: bounds from trials of 1 s, then of 5 s and of 20 s; a bound counts once the longer trial has confirmed it.

    A closed loop has no packet loss, so a trial fails if it exceeds the thresholds.
    """
    thresholds = _Thresholds(_at(world, 1, BASE_S))
    found = _doubled(world, thresholds, 1)
    for seconds in (5, 20):
        found = None if found is None else _confirmed(world, thresholds, *found, seconds)
    if found is None:
        return NO_KNEE
    low, high = found
    return Answer((low + high) / 2, _at(world, low, 20).goodput_rps, low, high)


def _doubled(world: World, thresholds: _Thresholds, seconds: int) -> tuple[int, int] | None:
    """(users within the thresholds, users beyond them), found by doubling; None: no number of users exceeds the thresholds."""
    low = 1
    while 2 * low <= MAX_USERS and world.now_s < LIMIT_S:
        if thresholds.exceeded(_at(world, 2 * low, seconds)):
            return low, 2 * low
        low *= 2
    return None


def _halved(world: World, thresholds: _Thresholds, low: int, high: int, seconds: int) -> tuple[int, int]:
    """The interval (low, high), bisected down to 5% of `low`."""
    while high - low > max(1, 0.05 * low) and world.now_s < LIMIT_S:
        middle = (low + high) // 2
        low, high = (low, middle) if thresholds.exceeded(_at(world, middle, seconds)) else (middle, high)
    return low, high


def _confirmed(world: World, thresholds: _Thresholds, low: int, high: int, seconds: int) -> tuple[int, int] | None:
    """Bounds that trials of this length confirm; None: no number of users exceeds the thresholds."""
    while low > 1 and thresholds.exceeded(_at(world, low, seconds)) and world.now_s < LIMIT_S:
        low, high = max(1, low // 2), low
    while not thresholds.exceeded(_at(world, high, seconds)) and world.now_s < LIMIT_S:
        low, high = high, 2 * high
        if high > MAX_USERS:
            return None
    return _halved(world, thresholds, low, high, seconds)


def stair_step(world: World) -> Answer:
    """By hand: 5 more users every 30 s; the answer is the last step that added at least half of its proportional throughput."""
    last = _at(world, 5, 30)
    while world.users < MAX_USERS and world.now_s < LIMIT_S:
        seen = _at(world, world.users + 5, 30)
        share_rps = last.goodput_rps * (seen.users - last.users) / last.users
        if seen.goodput_rps - last.goodput_rps < 0.5 * share_rps:
            return Answer(last.users, max(seen.goodput_rps, last.goodput_rps))
        last = seen
    return NO_KNEE


def kneedle(world: World) -> Answer:
    """`kneed` (Satopaa et al., 2011) on levels of 20 s that grow by 25%, up to three levels after the first that adds less
    than 5%."""
    from kneed import KneeLocator  # type: ignore[import-untyped, import-not-found, unused-ignore]

    seen = list(_ladder(world))
    users, rates = [window.users for window in seen], [window.goodput_rps for window in seen]
    if len(seen) < 4:
        return NO_KNEE
    found = KneeLocator(users, rates, S=1.0, curve="concave", direction="increasing").knee
    return NO_KNEE if found is None else Answer(float(found), max(rates))


def _ladder(world: World) -> Iterator[Window]:
    users, last, beyond = 1, _at(world, 1, 20), 0
    yield last
    while beyond < 4 and users < MAX_USERS and world.now_s < LIMIT_S:
        users = max(users + 1, round(users * 1.25))
        seen = _at(world, users, 20)
        yield seen
        beyond += beyond > 0 or seen.goodput_rps < 1.05 * last.goodput_rps
        last = seen


class _Thresholds:
    """A failure ratio of 1%, and twice the p95 of the unloaded service."""

    def __init__(self, base: Window) -> None:
        self.p95_ms = (base.p95_ms or float("inf")) * P95_FACTOR

    def exceeded(self, seen: Window) -> bool:
        return seen.failure_ratio > MOST_FAILURES or (seen.p95_ms or 0.0) > self.p95_ms


def _at(world: World, users: int, seconds: int) -> Window:
    """Step to that many users and measure at once, without settling, as these policies do."""
    world.step(min(users, MAX_USERS))
    return world.watch(seconds)


POLICIES = {
    "vayu (+25%, stop under 5%)": vayu,
    "breakpoint ramp (k6)": breakpoint_ramp,
    "capacity steps (Gatling)": capacity_steps,
    "exponential search (Nighthawk)": exponential_search,
    "short trials first (MLRsearch)": short_trials_first,
    "stair-step by hand": stair_step,
    "kneed on a ladder": kneedle,
}
