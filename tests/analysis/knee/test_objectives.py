"""The greatest load at which an objective is met."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from capexplorer.analysis.knee.degradation import capacity_at
from capexplorer.analysis.ladder import LadderLevel

from ..ladders import ideal


def with_p95(pairs: list[tuple[float, float]]) -> list[LadderLevel]:
    return [
        replace(level, p95_ms=p95_ms, requests=4000)
        for level, (_, p95_ms) in zip(ideal([n for n, _ in pairs]), pairs, strict=True)
    ]


def test_the_load_lies_between_the_last_level_that_keeps_it_and_the_first_that_breaks_it() -> None:
    found = capacity_at(with_p95([(10, 100), (20, 100), (30, 200), (40, 800), (60, 2000)]), "p95_ms", 400)
    assert found is not None
    assert found.state == "crossed"
    assert found.users == pytest.approx(35)
    assert (found.users_low, found.users_high) == (30, 40)
    assert found.goodput_rps == pytest.approx(70)
    assert (found.goodput_low_rps, found.goodput_high_rps) == (60, 80)


def test_an_objective_that_every_level_keeps_is_kept_at_least_that_far() -> None:
    found = capacity_at(with_p95([(10, 100), (20, 110), (30, 120)]), "p95_ms", 400)
    assert found is not None
    assert (found.state, found.users, found.users_low, found.users_high) == ("kept", 30, 30, None)


def test_an_objective_that_no_level_keeps_is_broken_from_the_first() -> None:
    found = capacity_at(with_p95([(10, 500), (20, 600), (30, 900)]), "p95_ms", 400)
    assert found is not None
    assert (found.state, found.users, found.users_high) == ("broken", None, 10)


def test_levels_within_their_error_of_the_limit_widen_the_interval() -> None:
    found = capacity_at(with_p95([(10, 100), (20, 390), (30, 410), (40, 900)]), "p95_ms", 400)
    assert found is not None
    assert (found.users_low, found.users_high) == (10, 40)


def test_one_level_above_the_limit_between_levels_below_it_does_not_decide() -> None:
    found = capacity_at(with_p95([(10, 100), (15, 420), (20, 110), (25, 120), (30, 130), (40, 1000)]), "p95_ms", 400)
    assert found is not None
    assert found.users is not None
    assert found.users > 30


def test_failures_are_judged_by_their_own_bounds() -> None:
    levels = [
        replace(level, failure_ratio=share, requests=2000)
        for level, share in zip(ideal([10, 20, 30]), (0.0, 0.0, 0.3), strict=True)
    ]
    found = capacity_at(levels, "failure_ratio", 0.01)
    assert found is not None
    assert found.state == "crossed"
    assert (found.users_low, found.users_high) == (20, 30)
    constant = [replace(level, failure_ratio=0.06) for level in levels]
    broken = capacity_at(constant, "failure_ratio", 0.01)
    assert broken is not None
    assert broken.state == "broken"


def test_a_level_without_any_success_keeps_no_latency_objective() -> None:
    all_failed = replace(ideal([40])[0], goodput_rps=0.0, failure_ratio=1.0, p95_ms=None)
    found = capacity_at([*with_p95([(10, 100), (20, 100), (30, 100)]), all_failed], "p95_ms", 400)
    assert found is not None
    assert (found.state, found.users_high) == ("crossed", 40)


def test_an_objective_with_percentiles_of_too_few_values_is_reported_as_thin() -> None:
    levels = [replace(level, p99_ms=10.0, requests=900) for level in ideal([10, 20, 30])]
    found = capacity_at(levels, "p99_ms", 400)
    assert found is not None
    assert found.thin


def test_an_unmeasured_metric_has_no_verdict() -> None:
    assert capacity_at(ideal([10, 20, 30]), "p95_ms", 400) is None
