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
        goodput_per_s=per_s * (1 - search_input.get("beyond_limits_ratio", 0.0)),
        goodput_se_per_s=0.01 * per_s,
        state=state,
        failure_ratio=0.0,
        dropped_ratio=0.0,
        growth_per_s=0.0,
        **search_input,
    )


def search_input(per_s: float | None, *levels: RateLevelVerdict, settled_s: float = LEAST_S, **more: Any) -> RateInput:
    level = levels[-1] if levels else None
    given: dict[str, Any] = {"capacity": None, "in_flight": 2.0, "open_s": settled_s + 2, "level": level} | more
    return RateInput(per_s=per_s, settled_s=settled_s, levels=levels, most_per_s=1000.0, **given)


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


@pytest.mark.parametrize(("seconds", "decision"), [(2 * LEAST_S - 1, Stay()), (2 * LEAST_S, Offer(20, "double"))])
def test_levels_of_long_replies_last_longer(seconds: float, decision: object) -> None:
    known = replace(search_input(10, judged(10, "kept"), settled_s=seconds), stretch=2.0)
    assert search_at_10_per_s().due(known) == decision


ENDS = End(58, "capacity", found=True)
TO_50, TO_90 = ((judged(most, "kept"), judged(100, "queue_grows")) for most in (50, 90))
Step = tuple[float, dict[str, Any], object]
"""The rate that is offered, what else is known, and the decision."""
RESTS_AT_32: Step = (100.0, {}, Offer(32, "rest"))
RESTS_AT_58: Step = (100.0, {}, Offer(58, "rest"))
SURE = RateCapacity(kind="capacity", per_s=95, confidence="high")
BEHIND = {"in_flight": 400, "open_s": 60}


@pytest.mark.parametrize(
    ("levels", "steps"),
    [
        (TO_50, [RESTS_AT_32, (32.0, {"in_flight": 400}, Stay()), (32.0, {}, Offer(71, "between"))]),
        (TO_90, [RESTS_AT_58, (58.0, {}, ENDS)]),
        (TO_50, [RESTS_AT_32, (58.0, {"capacity": SURE}, ENDS)]),
        (TO_50, [RESTS_AT_32, (32.0, BEHIND, End(32, "not_recovered", found=True))]),
        (
            TO_90,
            [RESTS_AT_58, (58.0, {"return_per_s": 90.0}, Offer(90, "return")),
             (90.0, {"level": judged(90, "kept")}, Offer(58, "rest")), (58.0, {}, ENDS)],
        ),
        (TO_90, [RESTS_AT_58, (58.0, {"return_per_s": 100.0}, Offer(110, "return"))]),
        (
            TO_50,
            [RESTS_AT_32, (32.0, {**BEHIND, "return_per_s": 50.0}, Offer(8, "rest")),
             (8.0, {"return_per_s": 50.0}, Offer(50, "return"))],
        ),
    ],
    ids=[
        "waits for the backlog and halves the interval", "ends when served and overloaded rates are close",
        "ends once the capacity is known with high confidence", "ends if the service does not recover",
        "makes the return that the verdict asks for", "returns to a tenth more than a rate that was not served",
        "works off a backlog at a lower rate before a return",
    ],
)  # fmt: skip
def test_after_overload_the_rate_search(levels: tuple[RateLevelVerdict, ...], steps: list[Step]) -> None:
    pilot = search_at_10_per_s()
    assert [pilot.due(search_input(per_s, *levels, **more)) for per_s, more, _ in steps] == [decision for *_, decision in steps]


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
    ids=[
        "its maximum was not reached",
        "it rises",
        "it rises up to twice the rate",
        "it may rise",
        "it may not",
        "it does not",
    ],
)
def test_higher_rates_are_offered_while_goodput_may_rise_with_them(capacity: RateCapacity, most: float, decision: object) -> None:
    pilot = search_at_10_per_s()
    levels = (judged(90, "kept"), judged(100, "fails"), judged(most, "fails"))
    pilot.due(search_input(most, *levels))
    assert pilot.due(search_input(32, *levels, capacity=capacity)) == decision


LATE = replace(DEPARTS, limit="tpot")


def test_where_a_limit_on_a_request_broke_the_search_halves_the_interval_by_levels_of_many_arrivals() -> None:
    """Streams are few a second, so that hardly any level is clear."""
    pilot, levels = search_at_10_per_s(), (judged(3, "unsure"), judged(10, "beyond_limits", beyond_limits_ratio=0.9))
    assert pilot.due(search_input(10, *levels, settled_s=20.0, capacity=LATE)) == Offer(2.0, "rest")
    assert pilot.due(search_input(2.0, *levels, capacity=LATE)) == Offer(5.5, "between")
    between = (*levels, judged(5.5, "unsure"))
    assert pilot.due(search_input(5.5, *between, settled_s=30.0, capacity=LATE)) == Stay()
    assert pilot.due(search_input(5.5, *between, settled_s=61.0, capacity=LATE)) == Offer(3.6, "rest")


def test_where_a_limit_on_a_request_broke_but_goodput_is_greatest_at_the_highest_rate_a_higher_one_is_offered() -> None:
    pilot, levels = search_at_10_per_s(), (judged(5, "unsure"), judged(10, "beyond_limits", beyond_limits_ratio=0.1))
    assert pilot.due(search_input(10, *levels, settled_s=20.0, capacity=LATE)) == Offer(6.5, "rest")
    assert pilot.due(search_input(6.5, *levels, capacity=LATE)) == Offer(15, "higher")


def test_levels_in_which_late_requests_of_a_backlog_are_worked_off_bound_no_interval() -> None:
    pilot = search_at_10_per_s()
    late = judged(10, "beyond_limits", beyond_limits_ratio=0.9)
    drained = judged(2.5, "unsure", why="unsteady", beyond_limits_ratio=0.6)
    levels = (late, drained, judged(1, "unsure"))
    pilot.due(search_input(1, *levels, settled_s=MOST_S, capacity=LATE))
    assert pilot.due(search_input(0.65, *levels, capacity=LATE)) == Offer(3.2, "between")


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
