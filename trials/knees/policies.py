"""The policies that other tools use, each in its smallest form on a closed loop of users.

Their tools let the user choose thresholds. Where a policy needs one for response time, it gets twice the p95 that one user sees,
which only a user who has measured that would choose: the comparison favours them.
"""

from __future__ import annotations

from collections.abc import Iterator

from .world import LIMIT_S, MAX_USERS, NO_KNEE, Answer, Window, World

P95_FACTOR = 2.0
FAILURES = 0.01
BASE_S = 10
"""One user is watched for so long, where a policy compares with an unloaded service."""


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
    """k6's breakpoint test: users grow evenly, 1 every 2 s, until a threshold fails; what ran then is the breaking point."""
    bad = _Thresholds(_at(world, 1, BASE_S))
    best_rps = 0.0
    while world.users < MAX_USERS and world.now_s < LIMIT_S:
        seen = _at(world, world.users + 2, 4)
        best_rps = max(best_rps, seen.goodput_rps)
        if bad.fail(seen):
            return Answer(world.users, best_rps)
    return NO_KNEE


def capacity_steps(world: World) -> Answer:
    """Gatling's incrementConcurrentUsers: 10 more users a level of 20 s, after 5 s of ramp; the last level within thresholds."""
    bad, last = _Thresholds(_at(world, 1, BASE_S)), None
    while world.users < MAX_USERS and world.now_s < LIMIT_S:
        world.step(min(world.users + 10, MAX_USERS) if last else 10)
        world.watch(5)
        seen = world.watch(20)
        if bad.fail(seen):
            return Answer(last.users, last.goodput_rps) if last else Answer(seen.users, seen.goodput_rps)
        last = seen
    return NO_KNEE


def exponential_search(world: World) -> Answer:
    """Nighthawk's adaptive load: twice as many every 10 s until a threshold fails, then halves, then 30 s of test."""
    bad = _Thresholds(_at(world, 1, BASE_S))
    found = _doubled(world, bad, 10)
    if found is None:
        return NO_KNEE
    low, _ = _halved(world, bad, *found, 10)
    return Answer(low, _at(world, low, 30).goodput_rps)


def short_trials_first(world: World) -> Answer:
    """MLRsearch: bounds by trials of 1 s, then of 5 s, then of 20 s; each bound counts once the longer trial has confirmed it.

    Loss has no meaning in a closed loop, so a trial fails by its thresholds.
    """
    bad = _Thresholds(_at(world, 1, BASE_S))
    found = _doubled(world, bad, 1)
    for seconds in (5, 20):
        found = None if found is None else _confirmed(world, bad, *found, seconds)
    if found is None:
        return NO_KNEE
    low, high = found
    return Answer((low + high) / 2, _at(world, low, 20).goodput_rps, low, high)


def _doubled(world: World, bad: _Thresholds, seconds: int) -> tuple[int, int] | None:
    """(within thresholds, beyond them), found by doubling; None: never beyond."""
    low = 1
    while 2 * low <= MAX_USERS and world.now_s < LIMIT_S:
        if bad.fail(_at(world, 2 * low, seconds)):
            return low, 2 * low
        low *= 2
    return None


def _halved(world: World, bad: _Thresholds, low: int, high: int, seconds: int) -> tuple[int, int]:
    """The interval by halves, down to 5%."""
    while high - low > max(1, 0.05 * low) and world.now_s < LIMIT_S:
        middle = (low + high) // 2
        low, high = (low, middle) if bad.fail(_at(world, middle, seconds)) else (middle, high)
    return low, high


def _confirmed(world: World, bad: _Thresholds, low: int, high: int, seconds: int) -> tuple[int, int] | None:
    """Bounds that trials of this length confirm; None: never beyond the thresholds."""
    while low > 1 and bad.fail(_at(world, low, seconds)) and world.now_s < LIMIT_S:
        low, high = max(1, low // 2), low
    while not bad.fail(_at(world, high, seconds)) and world.now_s < LIMIT_S:
        low, high = high, 2 * high
        if high > MAX_USERS:
            return None
    return _halved(world, bad, low, high, seconds)


def stair_step(world: World) -> Answer:
    """By hand: 5 more users every 30 s; the last step that added at least half of its share of throughput."""
    last = _at(world, 5, 30)
    while world.users < MAX_USERS and world.now_s < LIMIT_S:
        seen = _at(world, world.users + 5, 30)
        share_rps = last.goodput_rps * (seen.users - last.users) / last.users
        if seen.goodput_rps - last.goodput_rps < 0.5 * share_rps:
            return Answer(last.users, max(seen.goodput_rps, last.goodput_rps))
        last = seen
    return NO_KNEE


def kneedle(world: World) -> Answer:
    """`kneed` (Satopaa et al., 2011) on a ladder by 25% and 20 s, until three steps beyond the first that brings under 5%."""
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
    """Failures of 1%, or a p95 of twice the unloaded service's."""

    def __init__(self, base: Window) -> None:
        self.p95_ms = (base.p95_ms or float("inf")) * P95_FACTOR

    def fail(self, seen: Window) -> bool:
        return seen.failure_ratio > FAILURES or (seen.p95_ms or 0.0) > self.p95_ms


def _at(world: World, users: int, seconds: int) -> Window:
    """Step to that many users and measure from the first second on, as these policies do."""
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
