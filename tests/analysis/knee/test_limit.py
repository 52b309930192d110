"""What limits a knee: the generator is examined before all other limits."""

from __future__ import annotations

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


def test_latency_that_grows_with_users_is_queueing() -> None:
    assert limit_of(ideal(USERS)) == "queueing"


def test_the_limit_is_unknown_if_the_users_time_is_unexplained_and_the_generator_was_not_measured() -> None:
    assert limit_of(beyond(ideal(USERS), latency_ms=50.0, response_ms=50.0)) == "unknown"
    assert limit_of(beyond(ideal(USERS), latency_ms=60.0, response_ms=60.0, failure_ratio=0.1)) == "unknown"


def test_a_generator_that_was_measured_idle_is_not_blamed_by_littles_law() -> None:
    idle = beyond(ideal(USERS), latency_ms=50.0, response_ms=50.0, generator_saturated=False)
    assert limit_of(idle) == "unknown"
    assert limit_of(beyond(idle, loop_lag_ms=40.0)) == "unknown"


def test_most_failures_with_a_status_are_errors_even_with_late_timers() -> None:
    refused = {"failure_ratio": 0.4, "latency_ms": 60.0, "response_ms": 55.0, "loop_lag_ms": 40.0, "generator_saturated": False}
    assert limit_of(beyond(ideal(USERS), **refused)) == "unknown"
    assert limit_of(beyond(ideal(USERS), **refused, replied_ratio=1.0)) == "errors"
    assert limit_of(beyond(ideal(USERS), **refused, replied_ratio=0.5)) == "unknown"
    assert limit_of(beyond(ideal(USERS), **{**refused, "failure_ratio": 0.01}, replied_ratio=1.0)) == "unknown"


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


def test_goodput_that_refusals_make_uneven_is_a_lower_bound_and_widens_the_interval() -> None:
    uneven, even = judge(failing(UNEVEN, 1.0)).knee, judge(failing(EVEN, 1.0)).knee
    assert uneven is not None
    assert even is not None
    assert uneven.users is not None
    assert even.users is not None
    assert even.users < uneven.users <= 60
    assert uneven.users_high / uneven.users_low > 1.2 * even.users_high / even.users_low  # type: ignore[operator]


def test_with_refusals_the_capacity_does_not_exceed_the_highest_goodput_measured() -> None:
    knee = judge(failing({60: 0.7, 80: 0.5, 100: 0.9}, 1.0)).knee
    most_rps = max(level.goodput_rps + 2 * level.goodput_error_rps for level in failing({60: 0.7, 80: 0.5, 100: 0.9}, 1.0))
    assert knee is not None
    assert knee.capacity_rps is not None
    assert knee.capacity_rps <= most_rps


def test_goodput_that_other_failures_make_uneven_is_not_a_knee() -> None:
    knee = judge(failing(UNEVEN, 0.0)).knee
    assert knee is not None
    assert knee.kind == "bend"


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


def test_queueing_beside_a_busy_neighbour_is_not_blamed_on_the_generator() -> None:
    assert limit_of(beyond(ideal(USERS), generator_saturated=False, loop_lag_ms=30.0)) == "queueing"


def test_a_saturated_generator_takes_precedence_over_all_other_limits() -> None:
    assert limit_of(beyond(ideal(USERS), generator_saturated=True, failure_ratio=0.4)) == "generator"


def test_a_generator_that_saturates_only_far_beyond_the_knee_is_not_its_limit() -> None:
    levels = [replace(level, generator_saturated=level.users >= 100) for level in ideal(USERS)]
    assert limit_of(levels) == "queueing"


def test_failures_two_points_above_the_baselines_are_errors() -> None:
    assert limit_of(beyond(ideal(USERS), failure_ratio=0.03)) == "errors"
    constant = [replace(level, failure_ratio=0.06) for level in ideal(USERS)]
    assert limit_of(constant) == "queueing"


def test_work_that_is_accepted_but_not_finished_is_queue_growth_even_if_latency_stays_flat() -> None:
    tasks = [
        replace(level, work_is_metric=True, throughput_rps=6.0 * level.users, latency_ms=4.0, response_ms=4.0)
        for level in ideal(USERS)
    ]
    assert limit_of(tasks) == "queue_growth"
    reported = [replace(level, work_is_metric=True, accepted_rps=2.0 * level.users) for level in ideal(USERS)]
    assert limit_of(reported) == "queue_growth"


def test_without_latency_the_limit_is_unknown() -> None:
    assert limit_of([replace(level, latency_ms=None, response_ms=None) for level in ideal(USERS)]) == "unknown"


def test_with_one_baseline_level_the_limit_is_unknown_unless_think_times_are_known() -> None:
    users = [20, 60, 80, 100]
    assert limit_of(beyond(ideal(users), latency_ms=50.0, response_ms=50.0)) == "unknown"
    waits = [replace(level, wait_s=0.45) for level in ideal(users)]
    assert limit_of(beyond(waits, failure_ratio=0.1)) == "errors"
    assert limit_of(beyond(waits, latency_ms=50.0, response_ms=50.0, failure_ratio=0.1)) == "unknown"


def test_requests_longer_than_a_level_are_not_counted_as_time_of_the_generator() -> None:
    assert (
        limit_of(beyond(ideal(USERS), latency_ms=30_000.0, response_ms=30_000.0, seconds=20.0, throughput_rps=10.0))
        != "generator"
    )
