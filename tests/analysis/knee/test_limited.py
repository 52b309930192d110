"""Knees and capacities where only requests within limits on a single one are goodput."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from capexplorer.analysis.knee.detector import judge
from capexplorer.analysis.knee.rate_capacity import judge_rates
from capexplorer.analysis.knee.rate_level import LowLoad, RateLevel, state_of
from capexplorer.analysis.ladder import LadderLevel
from capexplorer.model.stages import LimitName
from capexplorer.model.verdicts import KneeVerdict, RateCapacity

from ..ladders import ideal

USERS = [5, 10, 15, 20, 25, 30, 35, 40]
SECONDS = 60.0


def falls_at(middle: float, width: float = 0.05) -> Callable[[float], float]:
    return lambda load: 1 / (1 + math.exp(math.log(load / middle) / width))


def under_limits(levels: list[LadderLevel], within: Callable[[float], float], limit: LimitName = "tpot") -> list[LadderLevel]:
    """These levels, of which such a share of the requests meets the limits."""
    return [
        replace(
            level,
            served_rps=level.goodput_rps,
            served_se_rps=level.goodput_se_rps,
            within_limits_rps=within(level.users) * level.goodput_rps,
            within_limits_se_rps=level.goodput_se_rps,
            beyond_limits=((limit, 1 - within(level.users)),),
        )
        for level in levels
    ]


def slowing(users: list[int], slots: float = 60.0) -> list[LadderLevel]:
    """A service whose replies slow down with the load, so that throughput grows less than users do."""
    rates = {count: count / (1 + count / slots) for count in users}
    return [
        LadderLevel(
            users=float(count),
            goodput_rps=rate,
            goodput_se_rps=0.01 * rate,
            throughput_rps=rate,
            response_ms=1000 * (count / rate - 0.5),
            latency_ms=1000 * (count / rate - 0.5),
            failure_ratio=0.0,
            requests=round(SECONDS * rate),
            seconds=SECONDS,
            wait_s=0.5,
            wait_includes_sleeps=True,
            generator_saturated=False,
        )
        for count, rate in rates.items()
    ]


def knee_of(levels: list[LadderLevel]) -> KneeVerdict:
    knee = judge(levels).knee
    assert knee is not None
    return knee


@pytest.mark.parametrize("middle", [18.0, 24.0, 31.0])
def test_the_knee_is_where_goodput_within_limits_is_greatest(middle: float) -> None:
    within = falls_at(middle)
    knee = knee_of(under_limits(slowing(USERS), within))
    goodput = {users / 10: users / 10 / (1 + users / 600) * within(users / 10) for users in range(50, 400)}
    peak = max(goodput, key=lambda users: goodput[users])
    assert (knee.kind, knee.limit, knee.within_limits) == ("knee", "tpot", True)
    assert knee.users == pytest.approx(peak, rel=0.1)
    assert knee.capacity_rps == pytest.approx(goodput[peak], rel=0.08)
    assert knee.users_low is not None and knee.users_high is not None and knee.users_low < peak < knee.users_high


def test_the_limit_that_most_requests_exceed_beyond_the_knee_broke_first() -> None:
    within = falls_at(24.0)
    levels = [
        replace(level, beyond_limits=(("ttft", 0.3 * (1 - within(level.users))), ("total", 1 - within(level.users))))
        for level in under_limits(slowing(USERS), within)
    ]
    assert knee_of(levels).limit == "total"


def test_limits_that_no_request_exceeds_change_no_figure() -> None:
    levels = ideal([10, 20, 30, 40, 60, 80, 100])
    free, limited = judge(levels), judge(under_limits(levels, lambda load: 1.0))
    assert free.knee is not None and limited.knee is not None
    assert replace(limited.knee, within_limits=False, evidence=free.knee.evidence) == free.knee
    assert limited.curve == free.curve


def test_a_share_that_exceeds_a_limit_at_any_load_makes_no_knee() -> None:
    assert knee_of(under_limits(slowing(USERS, 1e6), lambda load: 0.9)).kind == "no_knee"


def test_no_request_within_limits_at_any_level_is_no_capacity() -> None:
    assert judge(under_limits(slowing(USERS), lambda load: 0.0)).knee is None


def test_failures_are_the_limit_where_they_cost_more_than_limits_do() -> None:
    levels = [
        replace(level, failure_ratio=0.4, goodput_rps=0.6 * level.goodput_rps) if level.users > 50 else level
        for level in ideal([10, 20, 30, 40, 60, 80, 100])
    ]
    assert knee_of(under_limits(levels, lambda load: 0.97 if load > 50 else 1.0)).limit == "errors"


# -- at rates


def at_rates(*levels: tuple[float, float]) -> RateCapacity | None:
    """The verdict on levels of (rate, share within limits)."""
    return judge_rates(
        [
            RateLevel(
                index=index,
                rate_per_s=per_s,
                seconds=100.0,
                due=round(100 * per_s),
                succeeded=round(100 * per_s * share),
                failed=round(100 * per_s) - round(100 * per_s * share),
                beyond_limits=round(100 * per_s) - round(100 * per_s * share),
                beyond_each=(("ttft", 1 - share),),
                tokens=100 * per_s * share * 50,
                from_plan_ms=500.0,
                service_ms=500.0,
                started_s=100.0 * index,
                ended_s=100.0 * (index + 1),
            )
            for index, (per_s, share) in enumerate(levels)
        ]
    )


def test_the_capacity_as_a_rate_is_the_greatest_goodput_within_limits() -> None:
    within = falls_at(8.0)
    found = at_rates(*((per_s, within(per_s)) for per_s in (2.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)))
    greatest = max(per_s / 100 * within(per_s / 100) for per_s in range(200, 1000))
    assert found is not None and (found.kind, found.limit, found.within_limits) == ("capacity", "ttft", True)
    assert found.per_s == pytest.approx(greatest, rel=0.08)
    assert found.tokens_per_s == pytest.approx(50 * found.per_s, rel=1e-3)
    assert found.overload is not None and found.overload.kind == "beyond_limits"
    assert found.overload.failure_ratio == 0.0


def test_a_limit_that_every_request_exceeds_from_the_second_rate_on_leaves_a_wide_interval() -> None:
    found = at_rates((2.0, 1.0), (4.0, 0.0), (6.0, 0.0), (8.0, 0.0))
    assert found is not None and found.low_per_s is not None and found.high_per_s is not None
    assert (found.kind, found.limit, found.confidence) == ("capacity", "ttft", "low")
    assert found.low_per_s < 2.2 and 3.0 < found.high_per_s < 4.4


def test_a_limit_that_every_request_exceeds_at_any_rate_shows_no_capacity() -> None:
    assert at_rates((2.0, 0.0), (4.0, 0.0), (6.0, 0.0)) is None


def test_late_replies_of_a_backlog_that_is_worked_off_are_no_loss_of_the_rate() -> None:
    """100 requests that came before end in the seconds of a lower rate."""
    level = RateLevel(
        rate_per_s=2.0, seconds=50.0, due=100, succeeded=60, failed=140, beyond_limits=140, beyond_each=(("ttft", 0.7),)
    )
    assert level.works_off and state_of(level, LowLoad()) != "beyond_limits"
    assert state_of(replace(level, due=200), LowLoad()) == "beyond_limits"


def test_a_level_at_a_rate_that_is_late_is_served_all_the_same() -> None:
    """Requests beyond a limit do not show that the service changed."""
    level = RateLevel(rate_per_s=5.0, seconds=10.0, due=50, succeeded=10, failed=42, beyond_limits=40)
    assert (level.served.succeeded, level.served.failed, level.served.growth) == (50, 2, level.growth)
