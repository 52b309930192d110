"""The autopilot at offered rates: its next rate for given levels; and a whole search on a simulated service."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from capexplorer.model.verdicts import LevelState, RateCapacity, RateLevelVerdict
from capexplorer.steer.rate_search import LEAST_S, MOST_S, End, Offer, RateInput, RateSearch, Stay
from lab.simulation.open_queue import OpenRun
from lab.simulation.queues import System
from lab.simulation.virtual import VirtualRates


def judged(per_s: float, state: LevelState, **search_input: Any) -> RateLevelVerdict:
    return RateLevelVerdict(
        level=0,
        offered_per_s=per_s,
        goodput_per_s=per_s,
        goodput_se_per_s=0.01 * per_s,
        state=state,
        failure_ratio=0.0,
        dropped_ratio=0.0,
        growth_per_s=0.0,
        **search_input,
    )


def search_input(per_s: float | None, *levels: RateLevelVerdict, settled_s: float = LEAST_S, **more: Any) -> RateInput:
    given: dict[str, Any] = {"capacity": None, "in_flight": 2.0, "open_s": settled_s + 2} | more
    level = levels[-1] if levels else None
    return RateInput(per_s=per_s, settled_s=settled_s, level=level, levels=levels, most_per_s=1000.0, **given)


def search_at_10_per_s() -> RateSearch:
    pilot = RateSearch(10.0)
    assert pilot.due(search_input(None)) == Offer(10.0, "first")
    return pilot


def test_the_rate_doubles_while_all_arrivals_are_served() -> None:
    assert search_at_10_per_s().due(search_input(10, judged(10, "kept"))) == Offer(20, "double")


def test_a_level_ends_once_its_state_is_clear_or_at_its_longest_duration() -> None:
    assert search_at_10_per_s().due(search_input(10, judged(10, "unsure"))) == Stay()
    assert search_at_10_per_s().due(search_input(10, judged(10, "kept"), settled_s=3)) == Stay()
    assert search_at_10_per_s().due(search_input(10, judged(10, "unsure"), settled_s=MOST_S)) == Offer(15, "beyond")


def test_after_overload_the_rate_search_goes_down_waits_for_the_backlog_and_halves_the_interval() -> None:
    pilot = search_at_10_per_s()
    pilot.due(search_input(10, judged(10, "kept")))
    levels = (judged(50, "kept"), judged(100, "queue_grows"))
    assert pilot.due(search_input(100, *levels)) == Offer(32, "rest")
    assert pilot.due(search_input(30, *levels, in_flight=400)) == Stay()
    assert pilot.due(search_input(30, *levels)) == Offer(71, "between")


def test_the_rate_search_ends_when_served_and_overloaded_rates_are_close() -> None:
    pilot = search_at_10_per_s()
    levels = (judged(90, "kept"), judged(100, "queue_grows"))
    assert pilot.due(search_input(100, *levels)) == Offer(58, "rest")
    assert pilot.due(search_input(58, *levels)) == End(58, "capacity", found=True)


def test_a_maximum_of_goodput_that_was_not_reached_is_searched_at_higher_rates() -> None:
    pilot = search_at_10_per_s()
    levels = (judged(90, "kept"), judged(100, "fails"))
    pilot.due(search_input(100, *levels))
    capacity = RateCapacity(kind="departs", per_s=100)
    assert pilot.due(search_input(54, *levels, capacity=capacity)) == Offer(150, "beyond")


def test_goodput_that_rises_up_to_twice_the_lowest_overloaded_rate_is_not_searched_for_a_maximum() -> None:
    pilot = search_at_10_per_s()
    levels = (judged(90, "kept"), judged(100, "queue_grows"), judged(200, "queue_grows"))
    pilot.due(search_input(100, *levels))
    capacity = RateCapacity(kind="departs", per_s=100, rises=True)
    assert pilot.due(search_input(54, *levels, capacity=capacity)) == End(54, "capacity", found=True)


def test_a_service_that_does_not_recover_ends_the_rate_search() -> None:
    pilot = search_at_10_per_s()
    levels = (judged(50, "kept"), judged(100, "queue_grows"))
    pilot.due(search_input(100, *levels))
    assert pilot.due(search_input(30, *levels, in_flight=400, open_s=60)) == End(30, "not_recovered", found=True)


def test_a_first_rate_that_is_not_served_is_followed_by_a_lower_one() -> None:
    assert search_at_10_per_s().due(search_input(10, judged(10, "queue_grows"))) == Offer(2.5, "lower")


def test_the_generators_limit_ends_the_rate_search() -> None:
    assert search_at_10_per_s().due(search_input(10, judged(10, "generator"))) == End(6.5, "generator", found=False)


def test_the_highest_allowed_rate_ends_the_rate_search() -> None:
    assert search_at_10_per_s().due(search_input(1000, judged(1000, "kept"))) == End(650, "max_rate", found=False)


@pytest.mark.parametrize("system", [System(1 / 300, 0, service_spread="constant"), System(4 / 400, 0, servers=4)])
def test_a_whole_search_finds_the_capacity_within_5_percent(system: System) -> None:
    session = VirtualRates(OpenRun(system, np.random.default_rng(200_001)))
    session.explore(400)
    session.end()
    found = session.timeline.verdict.rate_capacity if session.timeline.verdict is not None else None
    assert session.ending is not None
    assert session.ending.startswith("autopilot at rates finished: capacity ")
    assert found is not None
    assert found.per_s == pytest.approx(system.servers / system.service_s, rel=0.05)
