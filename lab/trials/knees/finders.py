"""Knee finders: the interface to a service, and the policies of other tools, in their simplest form.

A policy sets numbers of users in a closed loop. The tools let their users choose thresholds; a policy that needs a threshold of
response time gets twice the p95 of the unloaded service. Only somebody who has measured that p95 could choose this value, so the
comparison favours these policies. The sources named below were read; no code is theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np

MAX_USERS = 600
"""No finder goes beyond this."""

LIMIT_S = 1_800.0
"""No finder takes longer than this; it then answers with the results so far."""


@dataclass(frozen=True)
class Window:
    """What was seen at one load for some seconds."""

    load: float
    seconds: float
    took_ms: list[float]
    """Response times of successes."""
    failed: int

    @property
    def goodput_rps(self) -> float:
        return len(self.took_ms) / self.seconds

    @property
    def ended(self) -> int:
        return len(self.took_ms) + self.failed

    @property
    def failure_ratio(self) -> float:
        return self.failed / self.ended if self.ended else 0.0

    @cached_property
    def p95_ms(self) -> float:
        """0 without any success."""
        return float(np.quantile(self.took_ms, 0.95)) if self.took_ms else 0.0

    def slow(self, most_ms: float) -> int:
        """Successes that took longer than that."""
        return int(np.count_nonzero(np.asarray(self.took_ms) > most_ms))


Steps = list[tuple[float, float]]
"""Loads, each with the seconds for which it was there."""


class World(Protocol):
    steps: Steps

    @property
    def now_s(self) -> float:
        """Seconds since the exploration began."""

    def step(self, load: float) -> None:
        """Set the load."""

    def watch(self, seconds: float) -> Window:
        """Let that many seconds pass, and return their figures."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a finder, a load. `load` None: it found no knee."""

    load: float | None
    capacity_rps: float | None = None
    low: float | None = None
    high: float | None = None
    """The interval, where the policy has one."""


Finder = Callable[[World], Answer]

NO_KNEE = Answer(None)

P95_FACTOR = 2.0
MOST_FAILURES = 0.01
"""Largest failure ratio within the thresholds."""
BASE_S = 30
"""Seconds for which one user is measured, if a policy compares with an unloaded service."""


class Thresholds:
    """A failure ratio of 1%, and twice the p95 of the unloaded service."""

    def __init__(self, base: Window) -> None:
        self.p95_ms = P95_FACTOR * base.p95_ms or math.inf

    def exceeded(self, seen: Window) -> bool:
        return seen.failure_ratio > MOST_FAILURES or seen.p95_ms > self.p95_ms


def at(world: World, load: float, seconds: float) -> Window:
    """Step to that load and measure at once, without settling, as these policies do."""
    world.step(min(load, MAX_USERS))
    return world.watch(seconds)


# -- users in a closed loop: policies that are older ---------------------------------------------------------------------------


def vayu(world: World) -> Answer:
    """Concurrency grows by 25% every 10 s, until a step adds less than 5% of throughput."""
    users, last = 1, at(world, 1, 10)
    while users < MAX_USERS and world.now_s < LIMIT_S:
        users = max(users + 1, round(users * 1.25))
        seen = at(world, users, 10)
        if seen.goodput_rps < 1.05 * last.goodput_rps:
            return Answer(last.load, max(seen.goodput_rps, last.goodput_rps))
        last = seen
    return NO_KNEE


def breakpoint_ramp(world: World) -> Answer:
    """k6's breakpoint test: one more user every 2 s until a threshold is exceeded; that number of users is the breaking point."""
    thresholds = Thresholds(at(world, 1, BASE_S))
    users, best_rps = 1, 0.0
    while users < MAX_USERS and world.now_s < LIMIT_S:
        users += 2
        seen = at(world, users, 4)
        best_rps = max(best_rps, seen.goodput_rps)
        if thresholds.exceeded(seen):
            return Answer(users, best_rps)
    return NO_KNEE


def exponential_search(world: World) -> Answer:
    """Nighthawk's adaptive load: users double every 10 s until a threshold is exceeded, then bisection down to 5%, then a test of
    30 s."""
    thresholds, low = Thresholds(at(world, 1, BASE_S)), 1
    while not thresholds.exceeded(at(world, 2 * low, 10)):
        low *= 2
        if 2 * low > MAX_USERS or world.now_s >= LIMIT_S:
            return NO_KNEE
    high = 2 * low
    while high - low > max(1, 0.05 * low) and world.now_s < LIMIT_S:
        middle = (low + high) // 2
        low, high = (low, middle) if thresholds.exceeded(at(world, middle, 10)) else (middle, high)
    return Answer(low, at(world, low, 30).goodput_rps)


def stair_step(world: World) -> Answer:
    """By hand: 5 more users every 30 s; the answer is the last step that added at least half of its proportional throughput."""
    last = at(world, 5, 30)
    while last.load < MAX_USERS and world.now_s < LIMIT_S:
        seen = at(world, last.load + 5, 30)
        if not _scales(last, seen):
            return Answer(last.load, max(seen.goodput_rps, last.goodput_rps))
        last = seen
    return NO_KNEE


def _scales(last: Window, seen: Window) -> bool:
    """Whether a step added at least half of its proportional throughput."""
    return seen.goodput_rps - last.goodput_rps >= 0.5 * last.goodput_rps * (seen.load - last.load) / last.load


def kneedle(world: World) -> Answer:
    """`kneed` (Satopaa et al., 2011) on levels of 20 s that grow by 25%, up to three levels after the first that adds less
    than 5%."""
    from kneed import KneeLocator  # type: ignore[import-untyped, import-not-found, unused-ignore]

    seen = list(_ladder(world))
    users, rates = [window.load for window in seen], [window.goodput_rps for window in seen]
    if len(seen) < 4:
        return NO_KNEE
    found = KneeLocator(users, rates, S=1.0, curve="concave", direction="increasing").knee
    return NO_KNEE if found is None else Answer(float(found), max(rates))


def _ladder(world: World) -> Iterator[Window]:
    users, last, beyond = 1, at(world, 1, 20), 0
    yield last
    while beyond < 4 and users < MAX_USERS and world.now_s < LIMIT_S:
        users = max(users + 1, round(users * 1.25))
        seen = at(world, users, 20)
        yield seen
        beyond += beyond > 0 or seen.goodput_rps < 1.05 * last.goodput_rps
        last = seen


# -- users in a closed loop: policies of 2026 ----------------------------------------------------------------------------------


def usl_ramp(world: World) -> Answer:
    """`pepe ramp`: ten steps of 10 s, 10 to 100 concurrent; the Universal Scalability Law is fitted to the steps with less than
    1% of failures, if there are four, and dropped if it misses one by more than 25%. The answer is where the fit reaches its
    capacity; without a fit, the last step that was clean and still scaled. If the capacity is beyond the ramp, or no step failed
    to scale, the user repeats the ramp with twice its loads, as the tool advises.

    Source: docs/ramp.md and src/ramp.rs of omarmhaimdat/pepe, of 2026.
    """
    pace = 10
    while 10 * pace <= MAX_USERS and world.now_s < LIMIT_S:
        steps = [at(world, pace * number, 10) for number in range(1, 11)]
        clean = [step for step in steps if step.failure_ratio < MOST_FAILURES and step.took_ms]
        found = usl_capacity(clean) if len(clean) >= 4 else None
        found = found or _last_that_held(steps)
        if found.load is not None and found.load <= steps[-1].load:
            return found
        pace *= 2
    return NO_KNEE


USL_REACHED = 0.99
"""Share of its maximum at which the fit has reached its capacity."""


def usl_capacity(steps: Sequence[Window]) -> Answer | None:
    """Where the law fitted to these steps reaches its maximum, which is infinitely far without retrograde scaling; None: a poor
    fit."""
    users, rates = np.array([(step.load, step.goodput_rps) for step in steps]).T
    # users / rate = a + b (users - 1) + c users (users - 1) with b and c at least 0, by least squares of relative errors
    terms = np.stack([np.ones_like(users), users - 1, users * (users - 1)])
    for used in ([0, 1, 2], [0, 2], [0, 1], [0]):
        factors = np.zeros(3)
        factors[used] = np.linalg.lstsq((terms[used] * rates / users).T, np.ones_like(users), rcond=None)[0]
        if (factors >= 0).all():
            break
    if (np.abs(users / (factors @ terms) / rates - 1) > 0.25).any():
        return None
    a, b, c = factors
    if not c or a <= b:
        return Answer(math.inf)
    peak = math.sqrt((a - b) / c)
    loads = np.linspace(1, max(peak, 1), 1_000)
    curve = loads / (a + b * (loads - 1) + c * loads * (loads - 1))
    return Answer(float(loads[np.argmax(curve >= USL_REACHED * curve[-1])]), float(curve[-1]))


def _last_that_held(steps: Sequence[Window]) -> Answer:
    """The step before the first that failed or did not scale; beyond all, if all scale."""
    for last, seen in pairwise(steps):
        if seen.failure_ratio >= MOST_FAILURES or not _scales(last, seen):
            return Answer(last.load, max(last.goodput_rps, seen.goodput_rps))
    return Answer(math.inf)


PRESCALE_LEVELS = (1, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200)


def prescale(world: World) -> Answer:
    """`prescale run`: its levels of 5 s up to 200 users, until half of the requests of one fail. It "survives" the level before
    the first with 2% of failures or a p95 over the wall; the interval has the answers for the bounds (80%) of failures and p95.

    Source: prescale_cli/loadtest.py of PreScale 1.1.3. Its default wall is 2 s.
    """
    wall_ms = P95_FACTOR * at(world, 1, BASE_S).p95_ms
    levels = list(_prescale_levels(world))
    found, low, high = (_survived(levels, wall_ms, bound) for bound in (0.0, 1.2816, -1.2816))
    if found is None:
        return NO_KNEE
    most = max(level.goodput_rps for level in levels)
    return Answer(found, most, min(found, found if low is None else low), max(found, levels[-1].load if high is None else high))


def prescale_saturation(world: World) -> Answer:
    """The "saturation" of `prescale run`: the first level with 85% of the most requests a second, if the last has 1.5 times its
    users."""
    levels = list(_prescale_levels(world))
    most = max(level.ended for level in levels)
    first = next(level for level in levels if level.ended >= 0.85 * most)
    plateaued = len(levels) >= 3 and levels[-1].load >= 1.5 * first.load
    return Answer(first.load, most / first.seconds) if plateaued else NO_KNEE


def _prescale_levels(world: World) -> Iterator[Window]:
    for users in PRESCALE_LEVELS:
        yield (seen := at(world, users, 5))
        if seen.failure_ratio >= 0.5:
            return


def _survived(levels: Sequence[Window], wall_ms: float, bound: float) -> float | None:
    """The level before the first beyond its limits, 0 if that is the first; None: no level is. `bound`: standard errors by which
    failures and p95 are taken higher than measured."""
    survived = 0.0
    for level in levels:
        n, p = len(level.took_ms), level.failure_ratio
        failing = p and p + bound * math.sqrt(p * (1 - p) / level.ended)
        rank = min(max(0.95 + bound * math.sqrt(0.95 * 0.05 / n), 0.0), 1.0) if n else 0.0
        if failing >= 0.02 or (n and np.quantile(level.took_ms, rank) >= wall_ms):
            return survived
        survived = level.load
    return None


def adaptive_scale(world: World) -> Answer:
    """aiperf's `adaptive_scale`: users rise from 1 after each window of 30 s within the thresholds, by 10 to 40, more the farther
    p95 is from its threshold. The last value that passed is then sustained for a window; if it fails, one step back is tried. The
    interval reaches from the last value that passed to the first that failed.

    Source: aiperf/timing/strategies/adaptive_scale*.py of aiperf 0.13.0.
    """
    thresholds, users, passed = Thresholds(at(world, 1, BASE_S)), 1.0, None
    while not thresholds.exceeded(seen := at(world, users, 30)):
        passed = seen
        if users >= MAX_USERS or world.now_s >= LIMIT_S:
            return NO_KNEE
        users += _adaptive_step(seen, thresholds)
    if passed is None:
        return NO_KNEE
    held = at(world, passed.load, 30)
    if thresholds.exceeded(held):
        back = max(1.0, passed.load - _adaptive_step(held, thresholds))
        held = at(world, back, 30)
        if thresholds.exceeded(held):
            return NO_KNEE
    return Answer(held.load, held.goodput_rps, held.load, seen.load)


def _adaptive_step(seen: Window, thresholds: Thresholds) -> int:
    margin = min(1 - seen.p95_ms / thresholds.p95_ms, 1 - seen.failure_ratio / MOST_FAILURES)
    return 10 * max(1, int(4 * margin))


def brk(world: World) -> Answer:
    """`brk`: 5 more concurrent requests in each phase of 10 s, until less than 99% of its requests succeed within the timeout,
    which is twice the p95 of one user. The default is 99.99%; that stops at the first rare slow reply. The interval reaches from
    the last phase that was accepted to the one that was not.

    Source: README.md and src/run.rs of the crate `break` 0.1.0.
    """
    timeout_ms, last = P95_FACTOR * at(world, 1, BASE_S).p95_ms, None
    for users in range(5, MAX_USERS + 1, 5):
        seen = at(world, users, 10)
        if seen.failed + seen.slow(timeout_ms) > MOST_FAILURES * seen.ended:
            return NO_KNEE if last is None else Answer(last.load, last.goodput_rps, last.load, seen.load)
        last = seen
        if world.now_s >= LIMIT_S:
            break
    return NO_KNEE


POLICIES: dict[str, Finder] = {
    "pepe (USL fit)": usl_ramp,
    "PreScale (survives)": prescale,
    "PreScale (saturation)": prescale_saturation,
    "aiperf (adaptive_scale)": adaptive_scale,
    "brk": brk,
    "k6 (breakpoint ramp)": breakpoint_ramp,
    "vayu (+25%)": vayu,
    "Nighthawk (bisection)": exponential_search,
    "stair-step by hand": stair_step,
    "kneed on a ladder": kneedle,
}
