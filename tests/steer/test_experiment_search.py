"""The experiments that follow a knee, on simulated services that the autopilot explores."""

from __future__ import annotations

import numpy as np
import pytest

from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.model.events import Command
from capexplorer.model.experiments import AS_BEFORE
from capexplorer.model.level_use import level_use
from capexplorer.model.timeline import Timeline
from capexplorer.steer.experiment_search import FEW_USERS, LASTS_MOST_S, Slots
from lab.simulation.stations import Endpoint, Station, StationRun
from lab.simulation.virtual import VirtualRun


def explored(endpoints: list[Endpoint], station: Station, **params: int) -> Timeline:
    running = StationRun(endpoints, station, 0.3, "uniform", np.random.default_rng(1))
    session = VirtualRun(running, endpoints=[each.name for each in endpoints], params=params)
    session.explore(900)
    session.end()
    return session.timeline


LOCK = [Endpoint("/a", 1, 0.02, 0.002), Endpoint("/b", 1, 0.008, 0.001)]


@pytest.fixture(scope="module")
def lock() -> Timeline:
    """A service with a lock that all requests hold for most of their time."""
    return explored(LOCK, Station("lock"))


def test_the_lock_is_confirmed(lock: Timeline) -> None:
    assert lock.explained[0].explanation.confirmed == "lock"


def test_the_first_and_the_last_experiment_are_as_before_and_none_is_made_twice(lock: Timeline) -> None:
    tried = [each.opened.experiment for each in lock.levels if each.opened.experiment is not None]
    assert tried[0] == tried[-1] == AS_BEFORE
    assert len(set(map(str, tried))) == len(tried) - 1 > 2


def test_experiments_are_at_one_number_of_users_beyond_the_knee_and_short(lock: Timeline) -> None:
    knee = lock.verdicts[0].capacity.knee
    tried = [each for each in lock.levels if each.opened.experiment is not None]
    assert knee is not None
    assert knee.users is not None
    assert {each.users for each in tried if each.opened.experiment != FEW_USERS} == {lock.explained[0].explanation.users}
    assert all(each.users < 0.2 * knee.users for each in tried if each.opened.experiment == FEW_USERS)
    assert lock.explained[0].explanation.users > 1.2 * knee.users
    assert all(each.ended_s is not None and each.ended_s - each.opened.t_s <= LASTS_MOST_S for each in tried)


def test_their_levels_are_in_no_curve(lock: Timeline) -> None:
    tried = {each.opened.index for each in lock.levels if each.opened.experiment is not None}
    assert all(level_use(each, lock.verdicts[0]).why == "experiment" for each in lock.levels if each.opened.index in tried)
    assert tried.isdisjoint(each.opened.index for each in epoch_of(lock, 0).all_levels)


def test_the_autopilot_ends_after_them_at_the_lowest_level(lock: Timeline) -> None:
    ends = [each.args for each in lock.journal if isinstance(each, Command) and each.name == "autopilot"]
    assert [(each.get("task"), each.get("end")) for each in ends] == [(None, "done"), ("explain", "done")]
    assert lock.levels[-1].users == 1
    assert lock.levels[-1].opened.experiment is None


def test_a_rate_limit_is_confirmed() -> None:
    endpoints = [Endpoint("/a", 1, 0.001, 0.004), Endpoint("/b", 1, 0.001, 0.002)]
    found = explored(endpoints, Station("rate_limit", per_s=60, burst=6)).explained[0].explanation
    assert found.confirmed == "rate_limit"
    assert [each.experiment.name for each in found.outcomes] == ["half_pauses", "alone", "without", "as_before"]


POOLED = [Endpoint("/a", 1, 0.08, 0.005), Endpoint("/b", 1, 0.03, 0.001)]


def test_a_pool_is_not_taken_for_a_lock() -> None:
    found = explored(POOLED, Station("pool", 4)).explained[0].explanation
    assert "pool" in found.left
    assert found.confirmed is None


def test_a_pool_is_confirmed_by_its_parameter_after_all_other_experiments() -> None:
    found = explored(POOLED, Station("pool", 4), pool=4, threads=16).explained[0].explanation
    assert found.confirmed == "pool"
    assert [each.experiment.param for each in found.outcomes[-2:]] == [None, "pool"]


@pytest.mark.parametrize(
    ("slots", "before", "after"),
    [
        (Slots("pool"), 1, 2),
        (Slots("pool"), 4, 6),
        (Slots("pool"), 10, 15),
        (Slots("pool", most=10), 10, 5),
        (Slots("pool", 4, 4), 4, None),
    ],
)
def test_other_slots_differ_by_half_within_the_bounds(slots: Slots, before: int, after: int | None) -> None:
    assert slots.other(before) == after
