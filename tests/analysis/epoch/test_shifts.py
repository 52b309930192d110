"""Levels are split where goodput or latency changes permanently, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from kit.scenario import Scenario

from capexplorer.analysis.epoch.segments import Seconds
from capexplorer.analysis.epoch.shifts import SEGMENT_LEAST, missed_shifts, searched
from capexplorer.analysis.epoch.shifts import shifts as shifts_of
from capexplorer.model.verdicts import ChangePoint

STATIONARY = 50
"""Number of stationary series; at most 2% of them may be split. `make moving` has whole sessions."""


def wave(rng: np.random.Generator, count: int, correlation: float, spread: float) -> list[float]:
    """1 + AR(1) noise."""
    value, values = 0.0, []
    for drawn in rng.standard_normal(count + 50):
        value = correlation * value + (1 - correlation**2) ** 0.5 * drawn
        values.append(1 + spread * value)
    return values[50:]


def counts(parts: list[tuple[float, int]], seed: int = 1, correlation: float = 0.5, spread: float = 0.08) -> list[float]:
    """Requests in each second: Poisson about a wandering mean."""
    rng = np.random.default_rng(seed)
    return [
        float(rng.poisson(max(0.0, mean * factor)))
        for mean, seconds in parts
        for factor in wave(rng, seconds, correlation, spread)
    ]


def shifts(goodput: Sequence[float], latency_ms: Sequence[float] | None = None) -> list[ChangePoint]:
    """Of seconds without failures."""
    latency = None if latency_ms is None else np.array(latency_ms, float)
    return shifts_of(Seconds(np.array(goodput, float), np.zeros(len(goodput)), np.array(goodput, float), latency))


def counted(seconds: str) -> list[float]:
    """Recorded requests in each second."""
    return [float(count) for count in seconds.split()]


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([(170, 60), (45, 30), (120, 90)], id="ports run out: 170, failures, 120"),
        pytest.param([(64, 300), (0.1, 300)], id="64, then 0.1, after 300 s each"),
        pytest.param([(64, 20), (0.1, 20)], id="64, then 0.1, after 20 s each"),
        pytest.param([(60, 60), (90, 60), (0.0, 60), (40, 60)], id="60, 90, 0, 40"),
        pytest.param([(60, 600), (90, 600), (0.0, 600), (40, 600)], id="60, 90, 0, 40 in ten minutes each"),
        pytest.param([(170, 40), (120, 40)], id="a third lost"),
        pytest.param([(0.0, 30), (40, 60)], id="recovery"),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_a_change_that_stays_is_split_where_it_happened_and_nowhere_else(parts: list[tuple[float, int]], seed: int) -> None:
    found = shifts(counts(parts, seed))
    expected = np.cumsum([seconds for _, seconds in parts])[:-1]
    assert [shift.at for shift in found] == pytest.approx(list(expected), abs=2)
    assert [shift.after for shift in found] == pytest.approx([mean for mean, _ in parts[1:]], rel=0.15, abs=0.5)


def test_at_most_2_percent_of_stationary_series_are_split_in_checks_every_5_seconds() -> None:
    split = 0
    for seed in range(10_000, 10_000 + STATIONARY):
        rng = np.random.default_rng(seed)
        seconds, correlation, spread = int(rng.integers(60, 300)), rng.uniform(0, 0.8), rng.uniform(0.02, 0.20)
        goodput = counts([(float(np.exp(rng.uniform(1.6, 5.7))), seconds)], seed, correlation, spread)
        latency = [50 * float(np.exp(factor - 1)) for factor in wave(rng, seconds, correlation, rng.uniform(0.1, 0.3))]
        split += any(shifts(goodput[:end], latency[:end]) for end in range(2 * SEGMENT_LEAST, seconds + 1, 5))
    assert split <= 0.02 * STATIONARY


def test_a_stall_of_a_few_seconds_does_not_split() -> None:
    assert shifts(counts([(100, 60), (0, 4), (100, 60)])) == []


def test_the_goodput_after_a_fall_is_that_of_the_outage_if_the_split_is_found_after_its_end() -> None:
    """Goodput of a service in one level, with a stall of 3 s and an outage of 13 s, up to the moment at which it was split."""
    goodput = [
        *counted(
            "57 59 56 55 62 53 51 56 64 54 55 57 54 48 0 0 10 58 56 52 65 56 58 57 54 58 55 52 52 60 56 52 60 57 59 52 52 55"
        ),
        *counted("10 0 0 0 0 0 0 0 0 0 0 0 0 45 52 56 52 53 55 58 57 58 58 58 52 51 59 56 55 59 60 55 54 53 62 49 57 57"),
    ]
    first = shifts(goodput)[0]
    assert first.at == pytest.approx(38, abs=1)
    assert first.after < 5


def test_latency_alone_splits_where_it_rises_permanently() -> None:
    rng = np.random.default_rng(3)
    latency = [20 * factor for factor in wave(rng, 60, 0.3, 0.1)] + [60 * factor for factor in wave(rng, 60, 0.3, 0.1)]
    found = shifts(counts([(50, 120)]), latency)
    assert [shift.column for shift in found] == ["latency"]
    assert found[0].at == pytest.approx(60, abs=2)


def test_a_change_of_goodput_and_latency_is_reported_once() -> None:
    latency = [20.0 + index % 3 for index in range(60)] + [float("nan")] * 60
    found = shifts(counts([(50, 60), (0.0, 60)]), latency)
    assert [shift.column for shift in found] == ["goodput"]


def test_short_and_empty_series_are_left_unchanged() -> None:
    assert shifts([]) == [] == shifts([5.0] * 12) == shifts([0.0] * 100, [float("nan")] * 100)


@pytest.mark.parametrize(("latency_ms", "splits"), [(100.0, True), (12_000.0, False)])
@pytest.mark.parametrize("levels_before", [0, 1])
def test_a_level_is_not_split_by_chance_within_few_responses(latency_ms: float, splits: bool, levels_before: int) -> None:
    """Three replies a second for 40 s, none for 15 s, and again three: with replies of 12 s that may be chance."""
    scenario = Scenario()
    for _ in range(levels_before):
        scenario = scenario.level(users=6, seconds=[{"rps": 3, "latency_ms": latency_ms}] * 12)
    rates = [3] * 40 + [0] * 15 + [3] * 40
    timeline = scenario.level(users=12, seconds=[{"rps": rps, "latency_ms": latency_ms} for rps in rates]).timeline
    assert bool(list(missed_shifts(timeline, timeline.levels[-1]))) is splits


@pytest.mark.parametrize(
    ("rps", "silent_s", "failed"),
    [(5, 2, False), (5, 3, True), (10, 1, False), (20, 1, True), (2, 20, False)],
)
def test_seconds_without_replies_count_as_failed_if_chance_does_not_explain_them(rps: int, silent_s: int, failed: bool) -> None:
    """Of 5 replies a second, two seconds in a row without any come once in six hours: with many levels that is met."""
    counts = [rps] * 20 + [0] * silent_s
    timeline = Scenario().level(users=32, seconds=[{"rps": count, "latency_ms": 500.0} for count in counts]).timeline
    level = timeline.levels[-1]
    assert bool(searched(timeline, level, timeline.seconds_of(level)).failures.any()) is failed


def test_seconds_without_replies_go_on_in_the_next_level() -> None:
    scenario = Scenario().level(users=32, seconds=[{"rps": count, "latency_ms": 500.0} for count in [10] * 20 + [0]])
    timeline = scenario.level(users=48, seconds=[{"rps": 0}] * 5).timeline
    level = timeline.levels[0]
    assert searched(timeline, level, timeline.seconds_of(level)).failures.tolist() == [0] * 20 + [10]
