"""The autopilot at offered rates: its next rate for given levels; and a whole search on a simulated service."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

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


@pytest.mark.parametrize(
    ("per_s", "state", "settled_s", "decision"),
    [
        pytest.param(10, "kept", LEAST_S, Offer(20, "double"), id="all is served"),
        pytest.param(10, "unsure", LEAST_S, Stay(), id="not clear yet"),
        pytest.param(10, "kept", 3, Stay(), id="too short"),
        pytest.param(10, "unsure", MOST_S, Offer(15, "beyond"), id="not clear at its longest duration"),
        pytest.param(10, "queue_grows", LEAST_S, Offer(2.5, "lower"), id="not served"),
        pytest.param(10, "generator", LEAST_S, End(6.5, "generator", found=False), id="the generator's limit"),
        pytest.param(1000, "kept", LEAST_S, End(650, "max_rate", found=False), id="the highest allowed rate"),
    ],
)
def test_after_its_first_level_a_search_decides(per_s: float, state: LevelState, settled_s: float, decision: object) -> None:
    assert search_at_10_per_s().due(search_input(per_s, judged(per_s, state), settled_s=settled_s)) == decision


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


DEPARTS = RateCapacity(kind="departs", per_s=100)
AT_100 = RateCapacity(kind="capacity", per_s=100, confidence="medium", may_rise=True)


@pytest.mark.parametrize(
    ("capacity", "most", "decision"),
    [
        (DEPARTS, 100, Offer(150, "higher")),
        (replace(DEPARTS, rises=True), 150, Offer(220, "higher")),
        (replace(DEPARTS, rises=True), 200, End(32, "capacity", found=True)),
        (AT_100, 150, Offer(220, "higher")),
        (AT_100, 200, End(32, "capacity", found=True)),
        (replace(AT_100, may_rise=False), 150, End(32, "capacity", found=True)),
    ],
    ids=["its maximum was not reached", "it rises", "it rises up to twice the rate", "it may rise", "it may not", "it does not"],
)
def test_higher_rates_are_offered_while_goodput_may_rise_with_them(capacity: RateCapacity, most: float, decision: object) -> None:
    pilot = search_at_10_per_s()
    levels = (judged(90, "kept"), judged(100, "fails"), judged(most, "fails"))
    pilot.due(search_input(most, *levels))
    assert pilot.due(search_input(32, *levels, capacity=capacity)) == decision


def test_the_rate_search_ends_once_the_capacity_is_known_with_high_confidence() -> None:
    pilot = search_at_10_per_s()
    levels = (judged(50, "kept"), judged(100, "queue_grows"))
    pilot.due(search_input(100, *levels))
    known = RateCapacity(kind="capacity", per_s=95, confidence="high")
    assert pilot.due(search_input(32, *levels, capacity=known)) == End(32, "capacity", found=True)


def test_a_service_that_does_not_recover_ends_the_rate_search() -> None:
    pilot = search_at_10_per_s()
    levels = (judged(50, "kept"), judged(100, "queue_grows"))
    pilot.due(search_input(100, *levels))
    assert pilot.due(search_input(30, *levels, in_flight=400, open_s=60)) == End(30, "not_recovered", found=True)


def test_a_rate_search_makes_the_return_that_its_verdict_asks_for() -> None:
    pilot = search_at_10_per_s()
    levels = (judged(90, "kept"), judged(100, "queue_grows"))
    assert pilot.due(search_input(100, *levels)) == Offer(58, "rest")
    assert pilot.due(search_input(58, *levels, return_per_s=90.0)) == Offer(90, "return")
    assert pilot.due(search_input(90, *levels, judged(90, "kept"))) == Offer(58, "rest")
    assert pilot.due(search_input(58, *levels)) == End(58, "capacity", found=True)


def test_a_rate_that_was_not_served_is_repeated_with_a_tenth_more() -> None:
    pilot = search_at_10_per_s()
    levels = (judged(90, "kept"), judged(100, "queue_grows"))
    pilot.due(search_input(100, *levels))
    assert pilot.due(search_input(58, *levels, return_per_s=100.0)) == Offer(110, "return")


def test_a_backlog_is_worked_off_at_a_lower_rate_before_a_return() -> None:
    pilot = search_at_10_per_s()
    levels = (judged(50, "kept"), judged(100, "queue_grows"))
    pilot.due(search_input(100, *levels))
    behind = {"in_flight": 400, "open_s": 60, "return_per_s": 50.0}
    assert pilot.due(search_input(32, *levels, **behind)) == Offer(8, "rest")
    assert pilot.due(search_input(8, *levels, return_per_s=50.0)) == Offer(50, "return")


def test_a_rate_that_was_not_served_is_forgotten_once_a_higher_one_is() -> None:
    pilot = search_at_10_per_s()
    lost = replace(judged(80, "queue_grows"), level=1)
    kept = replace(judged(91, "kept"), level=2)
    assert pilot.due(search_input(91, lost, kept)) == Offer(180, "double")


@pytest.mark.parametrize("system", [System(1 / 300, 0, service_spread="constant"), System(4 / 400, 0, servers=4)])
def test_a_whole_search_finds_the_capacity_within_5_percent(system: System) -> None:
    session = VirtualRates(OpenRun(system, np.random.default_rng(200_001)))
    session.explore(400)
    session.end()
    found = session.timeline.verdict.rate_capacity if session.timeline.verdict is not None else None
    assert session.ending is not None
    assert found is not None
    assert found.per_s == pytest.approx(system.servers / system.service_s, rel=0.05)
