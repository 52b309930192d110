"""Which endpoint degrades first: levels with endpoints in, the endpoint out, or none."""

from __future__ import annotations

from collections.abc import Mapping

from kit.scenario import HEADER

from capexplorer.analysis.knee.degradation import first_endpoint, first_endpoint_at_rates
from capexplorer.model.events import LevelClosed, LevelOpened
from capexplorer.model.figures import LevelEndpoint, LevelFigures
from capexplorer.model.intervals import Latency
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, CurveFit, EndpointDegradation

REQUESTS = 1_000

MeanAndFailures = tuple[float, float]
"""Mean latency in ms, failure ratio."""


Ladder = Mapping[int, Mapping[str, MeanAndFailures]]
"""The endpoints by load: users, or an offered rate."""


def timeline_of(ladder: Ladder, *, at_rates: bool, requests: int = REQUESTS, lag_ms: float = 2.0) -> Timeline:
    """A session with one level for each load of the ladder; p95 is twice the mean."""
    timeline = Timeline([HEADER])
    for index, (load, endpoints) in enumerate(ladder.items()):
        t_s, users, per_s = 20.0 * index, 200 if at_rates else load, float(load) if at_rates else None
        timeline.apply(LevelOpened(t_s=t_s, index=index, users=users, spawn_rate=1.0, by="plan", offered_per_s=per_s))
        served = tuple(
            LevelEndpoint(
                name=name, method="GET", requests=requests, failures=round(failed * requests),
                latency_ms=Latency(mean=mean_ms, p95=2 * mean_ms),
            )
            for name, (mean_ms, failed) in endpoints.items()
        )  # fmt: skip
        figures = LevelFigures(settled=True, settled_seconds=15.0, loop_lag_p99_ms=lag_ms)
        closed = LevelClosed(
            t_s=t_s + 19, index=index, users=users, started_s=t_s, settled_s=3, figures=figures, endpoints=served
        )
        timeline.apply(closed)
    return timeline


def degradation(ladder: Ladder, *, requests: int = REQUESTS, lag_ms: float = 2.0) -> EndpointDegradation | None:
    """The first endpoint that degrades on a ladder of users; its first two levels are the baseline."""
    timeline = timeline_of(ladder, at_rates=False, requests=requests, lag_ms=lag_ms)
    baseline = tuple(float(users) for users in list(ladder)[:2])
    curve = CurveFit(low_load_rps_per_user=5.0, low_load_se=0.1, baseline_users=baseline)
    return first_endpoint(timeline.levels, CapacityVerdict(curve=curve))


def ladder(**latencies_ms: tuple[float, ...]) -> dict[int, dict[str, MeanAndFailures]]:
    """Mean latencies of each endpoint at 5, 10, 20 and 40 users."""
    return {users: {f"/{name}": (ms[at], 0.0) for name, ms in latencies_ms.items()} for at, users in enumerate((5, 10, 20, 40))}


def test_the_endpoint_that_slows_down_while_the_others_stay_is_named_with_its_p95() -> None:
    found = degradation(ladder(search=(6, 6, 60, 240), item=(5, 5, 5.5, 6), home=(2, 2, 2, 2.2)))
    assert found == EndpointDegradation(method="GET", name="/search", users=20, column="latency", before=12, after=120)


def test_no_endpoint_is_named_if_one_queue_adds_the_same_latency_to_all() -> None:
    assert degradation(ladder(ping=(2, 2, 52, 152), report=(50, 50, 100, 200))) is None


def test_no_endpoint_is_named_if_all_slow_down_by_the_same_factor() -> None:
    assert degradation(ladder(ping=(2, 2, 10, 20), report=(50, 50, 250, 500))) is None


def test_an_endpoint_that_is_slow_at_one_level_only_has_not_degraded() -> None:
    assert degradation(ladder(search=(6, 6, 60, 6), item=(5, 5, 5, 5))) is None


def test_the_first_endpoint_to_degrade_is_named_even_if_another_follows() -> None:
    found = degradation(ladder(search=(6, 6, 60, 900), item=(5, 5, 5, 100)))
    assert found is not None
    assert (found.name, found.users) == ("/search", 20)


def test_no_endpoint_is_named_if_latency_grows_within_the_lag_of_the_generators_timers() -> None:
    assert degradation(ladder(search=(6, 6, 30, 30), item=(5, 5, 5, 5)), lag_ms=40.0) is None


def test_no_endpoint_is_named_with_few_requests() -> None:
    assert degradation(ladder(search=(6, 6, 60, 240), item=(5, 5, 5, 5)), requests=10) is None


def test_a_single_endpoint_is_never_named() -> None:
    assert degradation(ladder(search=(6, 6, 60, 240))) is None


def test_the_endpoint_that_fails_while_the_others_succeed_is_named_with_its_failures() -> None:
    failing = {
        users: {"/pay": (5.0, failed), "/item": (5.0, 0.0)} for users, failed in ((5, 0.0), (10, 0.0), (20, 0.1), (40, 0.5))
    }
    found = degradation(failing)
    assert found == EndpointDegradation(method="GET", name="/pay", users=20, column="failures", before=0.0, after=0.1)


def test_no_endpoint_is_named_if_all_fail_equally_often() -> None:
    both = {
        users: {"/pay": (5.0, failed), "/item": (5.0, failed)} for users, failed in ((5, 0.0), (10, 0.0), (20, 0.3), (40, 0.5))
    }
    assert degradation(both) is None


def test_no_endpoint_is_named_for_failures_that_occur_at_low_load_as_well() -> None:
    always = {users: {"/pay": (5.0, 0.2), "/item": (5.0, 0.0)} for users in (5, 10, 20, 40)}
    assert degradation(always) is None


def test_more_failures_than_requests_in_a_damaged_log_count_as_all_of_them() -> None:
    damaged = {users: {"/pay": (5.0, failed), "/item": (5.0, 0.0)} for users, failed in ((5, 0.0), (10, 0.0), (20, 3.0))}
    found = degradation(damaged)
    assert found is not None
    assert (found.name, found.after) == ("/pay", 1.0)


def test_at_offered_rates_the_lowest_rate_is_the_baseline_and_the_load_is_a_rate() -> None:
    rates = ladder(search=(6, 7, 60, 240), item=(5, 5, 5.5, 6))
    found = first_endpoint_at_rates(timeline_of(rates, at_rates=True).levels)
    assert found == EndpointDegradation(
        method="GET", name="/search", users=20, column="latency", before=12, after=120, at_rates=True
    )


def test_no_endpoint_is_named_without_levels_of_offered_rates() -> None:
    assert first_endpoint_at_rates([]) is None
