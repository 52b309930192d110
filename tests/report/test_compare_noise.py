"""The noise of a comparison: which differences are significant at one level, over all levels, and on a busy machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from capexplorer.model.events import Verdict
from capexplorer.model.figures import LevelFigures
from capexplorer.report.compare import compare, sentences
from capexplorer.report.compare.across_levels import (
    OverallChange,
    failure_change,
    latency_change,
    overall_change,
    robust_mean,
    service_time_change,
    widened,
    with_scatter,
)
from capexplorer.report.compare.curves import is_disturbed
from capexplorer.report.compare.estimates import (
    Estimate,
    moving_block_error,
    parts,
    probability,
    significant_by_holm,
    threshold,
    welch,
)
from capexplorer.report.compare.fail_if import judge, parse

from .compared import LevelSpec, session

# -- significance


@pytest.mark.parametrize(("degrees", "p", "student"), [(3, 0.05, 3.182), (5, 0.05, 2.571), (10, 0.01, 3.169), (1e6, 0.05, 1.960)])
def test_thresholds_are_those_of_students_t_distribution(degrees: float, p: float, student: float) -> None:
    assert threshold(degrees, p) == pytest.approx(student, rel=0.015)
    assert probability(student, 1.0, degrees) == pytest.approx(p, rel=0.03)
    assert (probability(1.0, 0.0, degrees), probability(0.0, 0.0, degrees)) == (0.0, 1.0), "errors of zero"


def test_welch_adds_the_degrees_of_equal_errors_and_keeps_those_of_a_dominant_one() -> None:
    assert welch((1.0, 3), (1.0, 3)) == pytest.approx((math.sqrt(2), 6))
    assert welch((1.0, 3), (0.01, 1_000)) == pytest.approx((1.0, 3), rel=0.01)


def test_the_more_figures_the_smaller_the_probability_that_is_significant() -> None:
    assert significant_by_holm({"a": 0.04}, 0.05) == {"a"}
    assert significant_by_holm({"a": 0.04, "b": 0.5}, 0.05) == set()
    assert significant_by_holm({"a": 0.001, "b": 0.02, "c": 0.9}, 0.05) == {"a", "b"}


# -- errors from moving blocks of seconds


def mean_between(sums: NDArray[np.float64], first: int, end: int) -> float:
    """The mean of the seconds from `first` to before `end`; `sums`: cumulative sums of the seconds, from 0 on."""
    return float(sums[end] - sums[first]) / (end - first)


def test_the_error_of_correlated_seconds_is_the_scatter_of_repeated_levels() -> None:
    random = np.random.default_rng(11)
    wholes, variances = [], []
    for _ in range(300):
        seconds = np.zeros(30)
        for index in range(1, 30):
            seconds[index] = 0.5 * seconds[index - 1] + random.standard_normal()
        sums = np.concatenate([[0.0], np.cumsum(seconds)])
        found = moving_block_error(30, float(seconds.mean()), partial(mean_between, sums))
        assert found is not None
        wholes.append(seconds.mean())
        variances.append(found.se**2)
    assert math.sqrt(np.mean(variances)) == pytest.approx(np.std(wholes), rel=0.25)


def test_below_six_seconds_or_with_an_empty_batch_there_is_no_error() -> None:
    assert moving_block_error(5, 1.0, lambda first, end: 1.0) is None
    assert moving_block_error(6, 1.0, lambda first, end: None if first == 2 else 1.0) is None
    assert parts(range(5)) == []


def test_a_long_level_is_divided_into_24_parts() -> None:
    cut = parts(range(100))
    assert len(cut) == 24
    assert [tick for part in cut for tick in part] == list(range(100))


def test_a_percentile_that_changes_over_time_has_a_larger_error() -> None:
    steady = session([LevelSpec(10)])
    random = np.random.default_rng(3)
    moving = session([LevelSpec(10, latency_factors=tuple(float(factor) for factor in random.uniform(0.5, 1.5, 8)))])
    (steady_pair,), (moving_pair,) = (compare([each, each]).pairs for each in (steady, moving))
    for figure in ("p50", "p95", "p99"):
        steady_error, moving_error = steady_pair.levels[0][figure].before.se, moving_pair.levels[0][figure].before.se
        assert steady_error is not None
        assert moving_error is not None
        assert moving_error > 5 * steady_error, figure


# -- changes over all levels


@pytest.mark.parametrize(
    ("cpu_factors", "judgement"),
    [((1.3, 1.3, 1.3, 1.3), "beyond"), ((1.3, 0.8, 1.3, 0.9), "within"), ((1.3, 1.3), "unknown")],
    ids=["even", "uneven", "two-levels"],
)
def test_target_cpu_is_judged_by_its_scatter_from_level_to_level(cpu_factors: tuple[float, ...], judgement: str) -> None:
    counts = range(10, 10 + len(cpu_factors))
    before = session([LevelSpec(users, cpu_ratio=0.5) for users in counts])
    after = session([LevelSpec(users, cpu_ratio=0.5 * factor) for users, factor in zip(counts, cpu_factors, strict=True)])
    (pair,) = compare([before, after]).pairs
    assert {level["target_cpu"].judgement for level in pair.levels} == {judgement}


def test_equal_small_changes_at_many_levels_are_significant_together() -> None:
    pairs = [
        (Estimate(100.0, 4.0, degrees=3), Estimate(110.0 + deviation, 4.0, degrees=3))
        for deviation in (1, -1, 0, 2, -2, 0, 1, -1)
    ]
    found = overall_change("mean", pairs)
    assert found is not None
    assert found.counts
    assert found.ratio == pytest.approx(0.1, abs=0.01)
    assert probability(10.0, math.hypot(4, 4), 6) >= 0.05, "the change of one level alone is not significant"


@pytest.mark.parametrize("outlier", [0.5, 2.0, 7.0])
def test_one_level_with_a_very_different_ratio_does_not_hide_the_change_of_the_others(outlier: float) -> None:
    ratios = [1.08, 1.12, 1.10, 1.13, outlier, 1.07, 1.11, 1.09]
    found = overall_change("mean", [(Estimate(100.0, 4.0), Estimate(100.0 * ratio, 4.0)) for ratio in ratios])
    assert found is not None
    assert found.p < 0.001
    assert found.ratio == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(
    ("values", "mean", "se", "degrees"),
    [
        ([1.0, 2.0, 3.0, 4.0], 2.5, math.sqrt(5 / 3 / 4), 3),  # without an outlier: the mean
        ([0.1, 0.1, 0.1], 0.1, 0.0, 2),  # equal values
        ([-2.0, -1.0, 0.0, 1.0, 2.0, 30.0], 0.6, 1.03, 4),  # a clipped value gives no degree of freedom
    ],
)
def test_the_robust_mean_has_the_error_of_its_scatter(values: list[float], mean: float, se: float, degrees: int) -> None:
    assert robust_mean(values, [1.0] * len(values)) == pytest.approx((mean, se, degrees), rel=0.01, abs=1e-9)


@pytest.mark.parametrize("values", [5, 7])
def test_means_of_a_few_equal_values_are_as_rarely_significant_as_the_test_says(values: int) -> None:
    random = np.random.default_rng(7)
    found = [robust_mean(list(random.standard_normal(values)), [1.0] * values) for _ in range(2_000)]
    assert np.mean([probability(*each) < 0.035 for each in found]) == pytest.approx(0.035, abs=0.01)


def test_two_levels_are_too_few_for_a_scatter_between_levels() -> None:
    two = [(Estimate(100.0, 1.0), Estimate(150.0, 1.0))] * 2
    assert overall_change("mean", two) is None
    assert [before.se for before, _ in with_scatter(two)] == [None, None]


# -- the verdict and the conditions of --fail-if


def test_a_significant_figure_of_one_level_among_many_is_not_claimed_in_the_verdict() -> None:
    """At 36 users p95 differs by less than three errors, as one of some thirty figures may by chance."""
    counts = [9, 18, 27, 36, 45, 54, 63]
    uneven = (0.9, 1.1, 0.95, 1.05, 1.0, 0.92, 1.08, 1.0)
    before = session([LevelSpec(n, latency_factors=uneven) for n in counts])
    after = session([LevelSpec(n, p50_ms=10.9 if n == 36 else 10.0, latency_factors=uneven) for n in counts])
    comparison = compare([before, after])
    (pair,) = comparison.pairs
    level = next(level for level in pair.levels if level.load.users == 36)
    assert level["p50"].counts
    assert not level["p50"].claimed
    found = sentences.verdict(comparison)
    assert found.startswith("No difference between B and A is sure when all figures are tested (a change of ")
    assert "; beyond noise by itself: p50 at 36 users 10 to 10.9 ms" in found
    assert judge(parse("p50@36>5%"), comparison).failed
    assert "but not among 7 user counts" in judge(parse("p50>5%"), comparison).excused[0]


def test_the_detectable_change_is_smaller_with_smaller_errors_or_a_higher_error_rate() -> None:
    steady, uneven = (overall_change("mean", [(Estimate(100.0, 1.0), Estimate(100.0 + each, 1.0)) for each in deviation])
                      for deviation in ((1, -1, 1, -1), (9, -9, 9, -9)))  # fmt: skip
    assert steady is not None
    assert uneven is not None
    assert steady.found_from(0.05) < steady.found_from(0.01) < uneven.found_from(0.01)


LEVELS = (4, 8, 12, 16, 20, 24, 28, 32)
KNEE = 20


def changed(values: tuple[float, ...], ratios: tuple[float, ...]) -> list[tuple[Estimate, Estimate]]:
    """Each value before and after it changed by its ratio, with errors of 2%."""
    return [
        (Estimate(each, 0.02 * each), Estimate(each * ratio, 0.02 * each)) for each, ratio in zip(values, ratios, strict=True)
    ]


MEAN_MS = (50, 52, 56, 70, 120, 180, 240, 300)
GOODPUT_RPS = (20, 40, 60, 79, 94, 99, 100, 100)


def a_tenth_slower() -> tuple[list[tuple[Estimate, Estimate]], list[tuple[Estimate, Estimate]]]:
    """Mean latency and goodput at LEVELS, before and after the service time of a service of 100/s grew by 10%."""
    mean = changed(MEAN_MS, (1.10, 1.12, 1.15, 1.30, 1.60, 1.35, 1.20, 1.15))
    goodput = changed(GOODPUT_RPS, (0.99, 0.99, 0.98, 0.96, 0.915, 0.91, 0.905, 0.91))
    return mean, goodput


def known(found: OverallChange | None) -> OverallChange:
    """The change, which must be known."""
    assert found is not None
    return found


def test_the_change_of_the_service_time_is_found_although_latencies_change_unequally() -> None:
    mean, goodput = a_tenth_slower()
    below = sum(users < KNEE for users in LEVELS)
    found, of_latency = known(service_time_change(mean[:below], goodput[below:])), known(overall_change("mean", mean))
    assert (found.levels, found.beyond) == (8, 4)
    assert found.ratio == pytest.approx(0.12, abs=0.03)
    assert found.se < 0.6 * of_latency.se
    assert found.p < 0.001


def test_without_a_knee_the_service_time_is_the_latency() -> None:
    mean, _ = a_tenth_slower()
    assert known(service_time_change(mean, [])).log_ratio == known(overall_change("mean", mean)).log_ratio


def test_a_longer_latency_below_the_limit_is_found_on_few_levels() -> None:
    pairs = changed((150.0, 155.0, 170.0), (2.1, 2.4, 1.8))
    assert known(latency_change("mean", pairs)).p < 0.001 < known(overall_change("mean", pairs)).p
    assert latency_change("mean", pairs[:1]) is None
    contradicting = changed((150.0, 155.0, 170.0), (1.5, 0.7, 1.2))
    assert known(latency_change("mean", contradicting)).p > 0.2


def shares(users: Sequence[int], failing: float, requests: int = 100) -> list[tuple[int, Estimate]]:
    """The share of failed requests at each of these user counts."""
    return [(each, Estimate(failing, requests=requests)) for each in users]


@pytest.mark.parametrize(("failing", "is_found"), [(0.002, False), (0.03, True)])
def test_a_share_that_fails_at_every_level_is_found_at_user_counts_that_differ(failing: float, is_found: bool) -> None:
    """A search goes to other user counts once requests fail: only three of these are equal."""
    found = known(failure_change(shares((1, 3, 6, 12, 24, 48), 0.0), shares((1, 3, 6, 10, 15, 20, 40), failing)))
    assert (found.p < 0.002) is is_found
    assert found.means == pytest.approx((0.0, failing))
    assert found.better is False
    reverse = known(failure_change(shares((1, 3, 6, 10, 15, 20, 40), failing), shares((1, 3, 6, 12, 24, 48), 0.0)))
    assert (reverse.p, reverse.log_ratio) == pytest.approx((found.p, -found.log_ratio))


def test_failures_that_grow_with_the_load_are_no_difference_between_sessions_of_other_loads() -> None:
    low, high = ([(users, Estimate(users / 100, requests=100)) for users in each] for each in ((5, 15, 25, 35), (10, 20, 30, 40)))
    assert known(failure_change(low, high)).p > 0.05
    assert known(failure_change(high, low)).p > 0.05


def test_bursts_of_failures_widen_the_error_of_their_share() -> None:
    none = shares((1, 3, 6, 12), 0.0)
    bursts = [(users, Estimate(0.05, 0.1, requests=100)) for users, _ in none]
    assert known(failure_change(none, shares((1, 3, 6, 12), 0.05))).p < 0.001
    assert known(failure_change(none, bursts)).p > 0.05


def test_failures_at_few_levels_or_no_success_show_no_change_of_failures() -> None:
    assert (
        failure_change([*shares((1, 3, 6, 12), 0.0), *shares((24,), 0.05)], [*shares((1, 3, 6, 12), 0.0), *shares((24,), 0.4)])
        is None
    )
    assert failure_change(shares((1, 3), 0.0), shares((1, 3), 0.5)) is None
    assert failure_change(shares((1, 3, 6), 1.0), shares((1, 3, 6), 1.0)) is None


@pytest.mark.parametrize(
    ("afters", "factor"),
    [
        ((100, 100, 100, 100, 100), 1.0),
        ((100, 120, 100, 120, 100), 6.09),
        ((100, 101, 102, 103, 104, 105), 1.0),  # a change that grows with users
        ((100, 100, 100, 400, 400, 400), 1.0),  # or starts at one level
        ((100, 150, 100), 1.0),  # too few levels
    ],
)
def test_differences_that_alternate_between_levels_widen_errors(afters: tuple[float, ...], factor: float) -> None:
    pairs = widened("mean", [(Estimate(100.0, 1.0), Estimate(after, 1.0)) for after in afters])
    assert pairs[0][0].se == pytest.approx(factor, rel=0.1)


# -- other processes on the machine


@pytest.mark.parametrize(
    ("host", "target", "generator", "disturbed"),
    [(1.95, 0.3, 0.1, True), (1.95, 1.5, 0.4, False), (1.2, 0.1, 0.1, False), (None, 0.1, 0.1, False), (1.95, None, 0.1, False)],
)
def test_a_level_is_disturbed_if_the_machine_is_saturated_and_other_processes_use_a_share(
    host: float | None, target: float | None, generator: float | None, disturbed: bool
) -> None:
    cpus = {"host.cpu_ratio": host, "target.cpu_ratio": target, "generator.process_cpu_ratio": generator}
    readings = {name: cpu for name, cpu in cpus.items() if cpu is not None}
    figures = LevelFigures(settled=True, host_cpu_ratio=host, readings=readings)
    assert is_disturbed(figures, 2) is disturbed
    assert not is_disturbed(figures, None), "without the number of CPUs no level is disturbed"


@pytest.mark.parametrize(
    ("delays", "response_ms", "disturbed"),
    [
        ({"target": 0.005, "generator": 0.005}, 40.0, False),
        ({"target": 0.03, "generator": 0.005}, 40.0, True),
        ({"target": 0.005, "generator": 0.03}, 40.0, True),
        ({"target": 0.005, "generator": 0.005, "part.db.target": 0.03}, 40.0, True),
        ({"target": 0.005, "generator": 0.005}, 1.0, True),  # a tenth of a request inside the service: 10% of its time
        ({"target": 0.005}, 40.0, True),  # not all waits are known
    ],
)
def test_beside_other_processes_a_level_whose_service_waits_for_no_core_is_not_disturbed(
    delays: dict[str, float], response_ms: float, disturbed: bool
) -> None:
    readings = {"host.cpu_ratio": 1.95, "neighbours.cpu_ratio": 1.0, "target.cpu_ratio": 0.3}
    readings |= {f"{name}.run_delay_ratio": delay for name, delay in delays.items()}
    figures = LevelFigures(settled=True, host_cpu_ratio=1.95, throughput_rps=100.0, response_ms=response_ms, readings=readings)
    assert is_disturbed(figures, 2) is disturbed


def test_no_difference_is_claimed_at_a_level_that_the_verdict_calls_disturbed() -> None:
    slower = session([LevelSpec(10, 50.0, p50_ms=40.0, cpu_ratio=0.2, host_cpu_ratio=1.2)])
    slower.timeline.apply(Verdict(t_s=9.0, disturbed_levels=(0,)))
    (pair,) = compare([session([LevelSpec(10, 100.0, cpu_ratio=0.2, host_cpu_ratio=0.4)]), slower]).pairs
    assert pair.levels[0].disturbed
    assert pair.levels[0]["goodput"].judgement == "neighbours"
