"""What limits a knee: the generator is examined before all other limits."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from capexplorer.analysis.knee.detector import judge
from capexplorer.analysis.ladder import LadderLevel

from ..ladders import ideal

USERS = [10, 20, 30, 40, 60, 80, 100]


def limit_of(levels: list[LadderLevel]) -> str | None:
    knee = judge(levels).knee
    assert knee is not None
    assert knee.kind == "knee"
    return knee.limit


def beyond(levels: list[LadderLevel], **changes: object) -> list[LadderLevel]:
    return [replace(level, **changes) if level.users > 50 else level for level in levels]


IDEAL, FEW = ideal(USERS), ideal([20, 60, 80, 100])
WAITS = [replace(level, wait_s=0.45) for level in FEW]
SHORT = {"latency_ms": 50.0, "response_ms": 50.0}
"""Responses beyond the knee that, with the pauses of low load, do not account for the users' time."""
REFUSED = {"failure_ratio": 0.4, "latency_ms": 60.0, "response_ms": 55.0, "loop_lag_ms": 40.0, "generator_saturated": False}

LIMITS = {
    "latency grows with users": (IDEAL, "queueing"),
    "the users' time is unexplained, and the generator was not measured": (beyond(IDEAL, **SHORT), "unknown"),
    "the same while a tenth fails": (beyond(IDEAL, latency_ms=60.0, response_ms=60.0, failure_ratio=0.1), "unknown"),
    "the same beside an idle generator": (beyond(IDEAL, **SHORT, generator_saturated=False), "unknown"),
    "and late timers": (beyond(IDEAL, **SHORT, generator_saturated=False, loop_lag_ms=40.0), "unknown"),
    "late timers, and failures that are no replies": (beyond(IDEAL, **REFUSED), "unknown"),
    "late timers, and failures with a status": (beyond(IDEAL, **REFUSED, replied_ratio=1.0), "errors"),
    "late timers, and half of the failures with a status": (beyond(IDEAL, **REFUSED, replied_ratio=0.5), "unknown"),
    "late timers, and few failures": (beyond(IDEAL, **{**REFUSED, "failure_ratio": 0.01}, replied_ratio=1.0), "unknown"),
    "queueing beside a busy neighbour": (beyond(IDEAL, generator_saturated=False, loop_lag_ms=30.0), "queueing"),
    "a saturated generator before failures": (beyond(IDEAL, generator_saturated=True, failure_ratio=0.4), "generator"),
    "a generator that saturates far beyond the knee": (
        [replace(level, generator_saturated=level.users >= 100) for level in IDEAL], "queueing",
    ),
    "failures three points above those of the baseline": (beyond(IDEAL, failure_ratio=0.03), "errors"),
    "the same failures at all levels": ([replace(level, failure_ratio=0.06) for level in IDEAL], "queueing"),
    "less work is finished than requests succeed": (
        [replace(level, work_is_metric=True, throughput_rps=6 * level.users, latency_ms=4.0, response_ms=4.0) for level in IDEAL],
        "queue_growth",
    ),
    "less work is finished than accepted": (
        [replace(level, work_is_metric=True, accepted_rps=2.0 * level.users) for level in IDEAL], "queue_growth",
    ),
    "no latency": ([replace(level, latency_ms=None, response_ms=None) for level in IDEAL], "unknown"),
    "one baseline level without think times": (beyond(FEW, **SHORT), "unknown"),
    "one baseline level, and failures": (beyond(WAITS, failure_ratio=0.1), "errors"),
    "one baseline level, failures, and unexplained time": (beyond(WAITS, **SHORT, failure_ratio=0.1), "unknown"),
    "requests longer than a level": (
        beyond(IDEAL, latency_ms=30_000.0, response_ms=30_000.0, seconds=20.0, throughput_rps=10.0), "queueing",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_a_knee_has_this_limit(name: str) -> None:
    levels, limit = LIMITS[name]
    assert limit_of(levels) == limit


EVEN, UNEVEN = {60: 0.7, 80: 0.7, 100: 0.7}, {60: 0.7, 80: 0.6, 100: 0.9}
"""By users: the share of its capacity that a rate limiter allows."""


def failing(shares: dict[int, float], refused_ratio: float) -> list[LadderLevel]:
    return [
        replace(
            level, goodput_rps=level.goodput_rps * shares[round(level.users)], failure_ratio=0.4, replied_ratio=1.0,
            refused_ratio=refused_ratio,
        )
        if level.users > 50
        else level
        for level in ideal(USERS)
    ]  # fmt: skip


def test_goodput_that_refusals_make_uneven_widens_the_interval() -> None:
    uneven, even = judge(failing(UNEVEN, 1.0)).knee, judge(failing(EVEN, 1.0)).knee
    assert uneven is not None
    assert even is not None
    assert uneven.users_high / uneven.users_low > 1.2 * even.users_high / even.users_low  # type: ignore[operator]


def test_with_refusals_the_capacity_does_not_exceed_the_highest_goodput_measured() -> None:
    knee = judge(failing({60: 0.8, 80: 0.65, 100: 0.9}, 1.0)).knee
    most_rps = max(level.goodput_rps + 2 * level.goodput_error_rps for level in failing({60: 0.8, 80: 0.65, 100: 0.9}, 1.0))
    assert knee is not None
    assert knee.capacity_rps is not None
    assert knee.capacity_rps <= most_rps


LATE_TIMERS = {  # users: (requests/s, response ms, loop lag p99 ms) of a generator with a third of a core beside busy processes
    4: (77, 1.6, 4.2), 8: (150, 1.9, 7.7), 16: (305, 1.4, 6.2), 24: (461, 1.2, 5.9), 32: (586, 2.2, 13.2), 40: (761, 1.4, 6.7),
    48: (913, 1.4, 7.0), 64: (1119, 4.3, 23.1), 80: (1386, 4.7, 26.4), 96: (1755, 2.3, 16.6), 128: (1655, 19.6, 64.4),
}  # fmt: skip


def test_responses_that_grow_by_no_more_than_the_lateness_of_the_generators_timers_are_not_queueing() -> None:
    levels = [
        LadderLevel(
            users=users,
            goodput_rps=rate,
            goodput_se_rps=0.02 * rate,
            throughput_rps=rate,
            response_ms=response_ms,
            latency_ms=response_ms,
            seconds=7.0,
            wait_s=0.05,
            generator_saturated=False,
            loop_lag_ms=lag_ms,
        )
        for users, (rate, response_ms, lag_ms) in LATE_TIMERS.items()
    ]
    assert limit_of(levels) == "unknown"
    assert limit_of([replace(level, generator_saturated=level.users >= 64) for level in levels]) == "generator"
