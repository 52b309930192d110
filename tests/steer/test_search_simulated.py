"""Whole explorations of simulated systems whose knee is known; lab/population has many more."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from lab.simulation.ladders import KINDS, Kind
from lab.simulation.virtual import PolicyRun, linear_system, run_autopilot, system_of

SEED = 250_000


@cache
def run_of(kind: Kind) -> PolicyRun:
    return run_autopilot(*system_of(kind, SEED))


def runs() -> tuple[PolicyRun, ...]:
    return tuple(map(run_of, KINDS))


def errors() -> list[float]:
    return [
        abs((knee.users or 0.0) / (run.truth.knee_users or 1.0) - 1)
        if (knee := run.verdict.knee) is not None and knee.kind == "knee"
        else np.inf
        for run in runs()
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_an_exploration_ends_and_if_it_finds_a_knee_with_as_few_users_as_it_began(kind: Kind) -> None:
    """The first test, one for each exploration: all of them in one test last longer than a test may on a busy machine."""
    run = run_of(kind)
    assert run.ending is not None
    assert run.ending != "knee" or run.steps[-1] <= max(1, run.steps[0])


def test_the_knee_is_found_within_15_or_25_percent_of_the_true_one() -> None:
    assert np.mean(np.array(errors()) <= 0.15) >= 0.63  # 6 systems: 85% less a standard error and a half
    assert np.mean(np.array(errors()) <= 0.25) >= 0.83


def test_the_search_takes_a_minute_or_two_of_virtual_time() -> None:
    found_s = [run.found_s for run in runs()]
    assert np.median(found_s) <= 100
    assert np.quantile(found_s, 0.9) <= 170


def test_the_search_does_not_go_far_beyond_the_knee() -> None:
    assert np.median([run.most_users / (run.truth.knee_users or 1.0) for run in runs()]) <= 2.0


def test_intervals_of_found_knees_contain_the_true_knee() -> None:
    covered = [
        (knee.users_low or 0.0) <= (run.truth.knee_users or 0.0) <= (knee.users_high or 0.0)
        for run in runs()
        if (knee := run.verdict.knee) is not None and knee.kind == "knee"
    ]
    assert np.mean(covered) >= 0.65  # 6 systems: 90% less two standard errors


def test_a_system_that_never_saturates_is_explored_up_to_max_users_and_has_no_knee() -> None:
    run = run_autopilot(*linear_system(SEED), max_users=200)
    assert run.verdict.knee is not None
    assert run.verdict.knee.kind == "no_knee"
    assert run.ending == "max_users"
    assert run.most_users == 200
