"""Leaks: readings of each second in, marks of steady growth out. Readings of healthy services come from `simulation.growth`."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable

import numpy as np
import pytest

from analysis.loads import FACTS, Second, held_session, sample
from capexplorer.analysis import leaks
from capexplorer.analysis.leaks import trend
from capexplorer.model.events import HostFacts, Mark, Target
from capexplorer.model.timeline import Timeline
from lab.simulation import growth

MB = 1e6


def marks(timeline: Timeline) -> dict[str, Mark]:
    return {mark.id: mark for mark in leaks.marks(timeline, 0)}


def seconds(
    count: int, *, rss: Callable[[int], float] = lambda s: 40e6, fds: Callable[[int], float] = lambda s: 30
) -> list[Second]:
    return [Second(rss_bytes=rss(s), fds=fds(s)) for s in range(count)]


def held(count: int, **shapes: Callable[[int], float]) -> dict[str, Mark]:
    """Marks after `count` seconds at 8 users whose readings have these shapes."""
    return marks(held_session((8, seconds(count, **shapes))))


# -- descriptors


@pytest.mark.parametrize(("per_s", "within_s"), [(2.0, 35), (1.0, 40), (0.5, 60), (5.0, 35)])
def test_a_descriptor_leak_is_reported_before_descriptors_run_out(per_s: float, within_s: int) -> None:
    mark = held(within_s, fds=lambda s: 30 + math.floor(per_s * s))["fd_leak"]
    assert (mark.key, mark.kind, mark.state, mark.severity, mark.users) == ("leak:fd_leak:epoch0", "leak", "open", "warning", 8)
    assert mark.finding.figures()["growth_per_hour"] == pytest.approx(3_600 * per_s, rel=0.1)
    now = mark.finding.figures()["now"]
    assert mark.finding.figures()["limit"] == 1024
    assert mark.finding.figures()["limit_in_s"] == pytest.approx((1024 - now) / per_s, rel=0.1)
    assert mark.finding.figures()["growth_per_request"] == pytest.approx(per_s / 80, rel=0.1)
    assert mark.finding.figures()["pid"] == 7
    assert mark.finding.figures()["unit"] == "fds"


def test_a_slow_descriptor_leak_needs_a_longer_observation() -> None:
    def slow(s: int) -> float:
        return 30 + s // 20

    assert held(120, fds=slow) == {}
    assert "fd_leak" in held(300, fds=slow)


def test_a_leak_that_has_reached_its_limit_is_still_reported() -> None:
    """Descriptors grow from 30 to their limit of 100 in 35 s, and stay there."""
    timeline = held_session((8, seconds(120, fds=lambda s: min(100, 30 + 2 * s))), fds_limit=100)
    assert marks(timeline)["fd_leak"].finding.figures()["limit_in_s"] < 10


@pytest.mark.parametrize(
    ("why", "fds"),
    [
        ("a pool that fills up", lambda s: 30 + 60 * (1 - math.exp(-s / 5))),
        ("a step", lambda s: 30 if s < 30 else 90),
        ("two steps", lambda s: 30 + 30 * (s >= 20) + 30 * (s >= 40)),
        ("connections that come and go", lambda s: 30 + 40 * (s * 7919 % 13) / 13),
        ("a wave", lambda s: 60 + 30 * math.sin(s / 10)),
        ("a fall", lambda s: 200 - 2 * s),
        ("a few more", lambda s: 30 + s / 6),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_descriptors_that_are_opened_once_and_stay_open_are_not_a_leak(why: str, fds: Callable[[int], float]) -> None:
    assert [count for count in (20, 30, 45, 60) if held(count, fds=fds)] == []


def test_connections_that_users_open_late_are_not_a_leak() -> None:
    """100 users, each with a second connection that one task in 40 needs: the generator opens as many descriptors."""
    late = [Second(fds=130 + extra, generator_fds=150 + extra) for extra in (100 * (1 - math.exp(-s / 100)) for s in range(45))]
    alone = [Second(fds=second.fds, generator_fds=150) for second in late]
    assert marks(held_session((100, late))) == {}
    assert "fd_leak" in marks(held_session((100, alone)))


# -- memory


@pytest.mark.parametrize(
    ("per_s", "within_s", "confidence"),
    [(4 * MB, 60, "low"), (1 * MB, 140, "low"), (0.1 * MB, 600, "medium"), (0.02 * MB, 2_400, "high")],
)
def test_slower_growth_of_memory_needs_a_longer_observation(per_s: float, within_s: int, confidence: str) -> None:
    mark = held(within_s, rss=lambda s: 40e6 + per_s * s)["memory_leak"]
    assert (mark.confidence, mark.finding.figures()["unit"]) == (confidence, "bytes")
    assert mark.finding.figures()["growth_per_hour"] == pytest.approx(3_600 * per_s, rel=0.02)
    assert (
        mark.finding.figures()["growth_per_hour_low"]
        <= mark.finding.figures()["growth_per_hour"]
        <= mark.finding.figures()["growth_per_hour_high"]
    )
    left = FACTS.memory_bytes - (2 << 30) if FACTS.memory_bytes else 0
    assert mark.finding.figures()["limit_in_s"] == pytest.approx(left / per_s, rel=0.05)


@pytest.mark.parametrize(
    ("why", "rss"),
    [
        ("a warm-up of a minute", lambda s: 40e6 + 30e6 * (1 - math.exp(-s / 20))),
        ("a cache that fills for a minute", lambda s: 40e6 + 30e6 * min(s / 60, 1)),
        ("logarithmic growth", lambda s: 40e6 + 3e6 * math.log1p(s)),
        ("an arena for each new thread, less and less often", lambda s: 40e6 + 1e6 * math.floor(20 * (1 - math.exp(-s / 30)))),
        ("a garbage collector", lambda s: 40e6 + 30e6 * (s % 25) / 25),
        ("a deployment", lambda s: 40e6 if s < 70 else 80e6),
        ("noise", lambda s: 40e6 + 5e6 * (s * 7919 % 13) / 13),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_memory_that_warms_up_or_oscillates_is_not_a_leak(why: str, rss: Callable[[int], float]) -> None:
    assert [count for count in (60, 90, 120, 180, 300) if held(count, rss=rss)] == []


def test_memory_that_grows_with_the_number_of_users_is_not_a_leak() -> None:
    levels = [(users, seconds(60, rss=lambda s, users=users: 40e6 + 1e6 * users)) for users in (10, 20, 40, 80)]  # type: ignore[misc]
    assert marks(held_session(*levels)) == {}


def test_unmeasured_readings_are_not_growth() -> None:
    unread = [Second(rss_bytes=None, fds=None, generator_rss_bytes=None) for _ in range(120)]
    assert marks(held_session((8, unread))) == {}


def test_a_container_shows_its_own_limit() -> None:
    host = HostFacts(system="Linux", cpus=4, memory_bytes=8 << 30)
    timeline = held_session((8, seconds(140, rss=lambda s: 40e6 + 1e6 * s)), host=host, memory_limit_bytes=512 << 20)
    mark = marks(timeline)["memory_leak"]
    assert mark.finding.figures()["limit"] == 512 << 20
    assert mark.finding.figures()["limit_in_s"] == pytest.approx(((512 << 20) - 179e6) / 1e6, rel=0.05)


# -- what explains a leak, and when it ends


def test_growth_per_request_is_distinguished_from_growth_per_hour() -> None:
    def leaking(per_s: float, start: float) -> list[Second]:
        return seconds(60, fds=lambda s: start + per_s * s)

    by_request = marks(held_session((10, leaking(1.0, 30)), (40, leaking(4.0, 90))))["fd_leak"]
    by_time = marks(held_session((10, leaking(1.0, 30)), (40, leaking(1.0, 90))))["fd_leak"]
    assert (by_request.finding.figures()["explained_by"], by_time.finding.figures()["explained_by"]) == ("requests", "time")


def test_levels_with_as_many_users_are_examined_together() -> None:
    halves = [seconds(75, rss=lambda s, at=at: 40e6 + 1e6 * (at + s)) for at in (0, 75)]  # type: ignore[misc]
    assert "memory_leak" in marks(held_session((8, halves[0]), (8, halves[1])))


def test_a_leak_ends_when_an_equally_long_stretch_shows_no_growth() -> None:
    growing, still = seconds(60, fds=lambda s: 30 + 2 * s), seconds(60, fds=lambda s: 150)
    assert marks(held_session((8, growing), (4, still)))["fd_leak"].state == "closed"
    assert marks(held_session((8, growing), (4, still[:30])))["fd_leak"].state == "open"


def test_a_leak_ends_when_the_target_restarts() -> None:
    timeline = held_session((8, seconds(60, fds=lambda s: 30 + 2 * s)))
    timeline.apply(Target(t_s=100.0, state="starting"))
    assert marks(timeline)["fd_leak"].state == "closed"


# -- the generator


def generator_seconds(per_s: float, count: int = 400) -> list[Second]:
    return [Second(generator_rss_bytes=120e6 + per_s * s) for s in range(count)]


def test_the_generators_own_growth_matters_when_its_limit_is_near() -> None:
    small = HostFacts(system="Linux", cpus=4, memory_bytes=8 << 30, cgroup_memory_bytes=1 << 30)
    assert "generator_memory" in marks(held_session((8, generator_seconds(0.5 * MB)), host=small))
    assert marks(held_session((8, generator_seconds(0.05 * MB)), host=FACTS)) == {}


# -- many simulated services


def first_marked_at(readings: Iterable[Second], checked_at_s: Container[int]) -> int | None:
    """The first of the seconds `checked_at_s` of a level at which there is a mark."""
    timeline = held_session((8, []))
    for second, reading in enumerate(readings, 1):
        timeline.apply(sample(1.0 + second, 0, 8, reading))
        if second in checked_at_s and marks(timeline):
            return second
    return None


@pytest.mark.parametrize("shape", sorted(growth.HEALTHY))
def test_healthy_services_are_not_marked(shape: str) -> None:
    """3 services for ten minutes each, checked four times; docs/measurements.md has 200 of each shape."""
    times = np.arange(1.0, 601.0)
    for seed in range(3):
        series = growth.HEALTHY[shape](np.random.default_rng(1_000 + seed), times)
        assert first_marked_at([Second(rss_bytes=value) for value in series.tolist()], (60, 120, 240, 600)) is None, seed


def test_healthy_descriptors_are_never_marked_and_leaks_of_two_a_second_within_a_minute() -> None:
    times = np.arange(1.0, 121.0)
    for seed in range(8):
        healthy = growth.descriptors(np.random.default_rng(2_000 + seed), times)
        leaking = growth.descriptors(np.random.default_rng(2_000 + seed), times, 2.0)
        assert first_marked_at([Second(fds=value) for value in healthy.tolist()], (20, 40, 60, 120)) is None, seed
        assert first_marked_at([Second(fds=value) for value in leaking.tolist()], (60,)) == 60, seed


# -- the trend itself


@pytest.mark.parametrize("per_s", [0.0, 0.5, -0.5, 100.0])
def test_the_slope_of_a_line_is_exact(per_s: float) -> None:
    times = np.arange(0.0, 100.0)
    reported = trend(times, 7 + per_s * times)
    assert reported is not None
    assert reported.per_s == pytest.approx(per_s)
    assert reported.start == pytest.approx(7)
    assert reported.significant is (per_s > 0)


def test_spikes_and_gaps_do_not_change_the_trend() -> None:
    times = np.arange(0.0, 200.0)
    values = 50 + 0.5 * times
    values[::17] += 900
    values[60:90] = np.nan
    reported = trend(times, values)
    assert reported is not None
    assert reported.per_s == pytest.approx(0.5, rel=0.05)


def test_too_few_seconds_have_no_trend() -> None:
    assert trend(np.arange(11.0), np.arange(11.0)) is None


def test_the_interval_covers_the_slope_of_a_wandering_series() -> None:
    """99% intervals over an AR(1) of 0.8: 300 series."""
    rng, times, covered = np.random.default_rng(5), np.arange(0.0, 240.0), 0
    for _ in range(300):
        wave = np.zeros(len(times))
        for index, shock in enumerate(rng.standard_normal(len(times))):
            wave[index] = 0.8 * wave[index - 1] + shock
        reported = trend(times, 0.01 * times + wave)
        covered += reported is not None and reported.low_per_s <= 0.01 <= reported.high_per_s
    assert covered >= 0.95 * 300
