"""Arrivals: their gaps and counts, in virtual time. Limits hold for 999 of 1,000 seeds, and the seeds are fixed."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import pytest

from capexplorer.load.arrivals import ArrivalSchedule
from capexplorer.model.load import Arrivals

KOLMOGOROV_999 = 1.949
"""Kolmogorov's distribution at 99.9%: the greatest distance times the root of the number of values stays below it."""
GAPS = 10_000


def arrivals(rate: float, count: int, kind: Arrivals = "poisson", seed: int = 1, poll_s: float = 0.01) -> list[float]:
    """The first `count` arrivals, taken from the schedule every `poll_s` seconds."""
    schedule, now_s = ArrivalSchedule(rate, kind, 0.0, Random(seed)), 0.0
    found: list[float] = []
    while len(found) < count:
        now_s += poll_s
        found += schedule.due(now_s)
    return found[:count]


def gaps(times: list[float]) -> list[float]:
    return [later - earlier for earlier, later in zip([0.0, *times], times, strict=False)]


def distance_from_exponential(values: list[float], rate: float) -> float:
    """Kolmogorov-Smirnov, times the root of the number of values."""
    ordered = [1 - math.exp(-rate * value) for value in sorted(values)]
    count = len(ordered)
    greatest = max(max(p - at / count, (at + 1) / count - p) for at, p in enumerate(ordered))
    return greatest * math.sqrt(count)


@pytest.mark.parametrize("rate", [50.0, 500.0, 2_000.0])
def test_gaps_of_poisson_arrivals_are_exponential(rate: float) -> None:
    assert distance_from_exponential(gaps(arrivals(rate, GAPS)), rate) < KOLMOGOROV_999


@pytest.mark.parametrize("rate", [50.0, 500.0, 2_000.0])
def test_counts_of_poisson_arrivals_vary_as_much_as_their_mean(rate: float) -> None:
    times = arrivals(rate, GAPS)
    seconds = int(times[-1] * 10)
    counts = Counter(int(at * 10) for at in times)
    values = [counts[tenth] for tenth in range(seconds)]
    mean = sum(values) / seconds
    dispersion = sum((value - mean) ** 2 for value in values) / (seconds - 1) / mean
    assert mean == pytest.approx(rate / 10, abs=3.3 * math.sqrt(rate / 10 / seconds))
    assert abs(dispersion - 1) < 3.3 * math.sqrt(2 / (seconds - 1))


def test_the_sum_of_workers_poisson_arrivals_is_poisson() -> None:
    workers = [arrivals(500.0, GAPS, seed=seed) for seed in range(4)]
    end_s = min(times[-1] for times in workers)
    together = sorted(at for times in workers for at in times if at <= end_s)[:GAPS]
    assert distance_from_exponential(gaps(together), 2_000.0) < KOLMOGOROV_999


def test_even_arrivals_are_not_a_poisson_process() -> None:
    assert distance_from_exponential(gaps(arrivals(50.0, 1_000, "even")), 50.0) > 5 * KOLMOGOROV_999


def test_even_arrivals_have_equal_gaps_and_do_not_depend_on_when_they_are_taken() -> None:
    for poll_s in (0.001, 0.37):
        assert gaps(arrivals(50.0, 100, "even", poll_s=poll_s))[1:] == pytest.approx([0.02] * 99)


def test_arrivals_of_workers_are_not_synchronised() -> None:
    assert arrivals(10.0, 1, "even", seed=1) != arrivals(10.0, 1, "even", seed=2)


def test_a_change_of_rate_keeps_the_phase() -> None:
    schedule = ArrivalSchedule(1.0, "even", 0.0, Random(1))
    first_s = schedule.next_s
    assert list(schedule.due(first_s)) == [first_s]
    schedule.change(2.0, first_s + 0.5)
    assert schedule.next_s == pytest.approx(first_s + 0.75)
    schedule.change(0.0, first_s + 0.6)
    assert schedule.next_s == math.inf
    assert list(schedule.due(1e9)) == []
    schedule.change(1.0, 1_000.0)
    assert schedule.next_s == pytest.approx(1_000.3)


def test_a_rate_that_rises_has_as_many_arrivals_as_its_integral() -> None:
    schedule, count = ArrivalSchedule(0.0, "poisson", 0.0, Random(3)), 0
    for second in range(200):
        schedule.change(float(second), float(second))
        count += len(list(schedule.due(second + 1.0)))
    assert count == pytest.approx(199 * 200 / 2, abs=3.3 * math.sqrt(199 * 200 / 2))


def test_no_arrivals_are_planned_for_time_that_was_skipped() -> None:
    schedule = ArrivalSchedule(100.0, "poisson", 0.0, Random(1))
    schedule.skip_to(3_600.0)
    assert len(list(schedule.due(3_601.0))) < 200
