"""Sentences about the capacity as a rate, about levels of offered rates, and about objectives at a rate."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from capexplorer import wording
from capexplorer.model.verdicts import Overload, RateCapacity, RateLevelVerdict, RateObjective, RateRecovery, RateVerdict


def overload(kind: Any, **changes: Any) -> Overload:
    """Overload at 300/s, with `changes` of its fields."""
    fields = {"offered_per_s": 300.0, "goodput_per_s": 198.0, "failure_ratio": 0.33, "growth_per_s": 84.0} | changes
    return Overload(kind=kind, **fields)


def capacity(kind: Any = "capacity", **changes: Any) -> RateCapacity:
    """A capacity of 198/s, with `changes` of its fields."""
    fields: dict[str, Any] = {"per_s": 198.0, "low_per_s": 190.0, "high_per_s": 206.0, "kept_per_s": 150.0} | changes
    return RateCapacity(kind=kind, **fields)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            capacity(confidence="high", overload=overload("queues")),
            "Capacity 198/s [190–206], served in full up to 150/s (high confidence); beyond it requests queue without bound "
            "(at 300/s 84/s more are in flight each second).",
        ),
        (
            capacity(kept_per_s=195.0, overload=overload("queues", growth_per_s=0.5, dropped_ratio=0.43)),
            "Capacity 198/s [190–206]; beyond it requests queue without bound until all users wait (at 300/s 43% of the arrivals "
            "are dropped).",
        ),
        (
            capacity(kept_per_s=195.0, overload=overload("refuses")),
            "Capacity 198/s [190–206]; beyond it the service refuses what exceeds it (33% at 300/s).",
        ),
        (
            capacity(kept_per_s=None, overload=overload("times_out", fall_ratio=0.8)),
            "Capacity 198/s [190–206]; beyond it requests time out (33% at 300/s) and goodput collapses by 80%.",
        ),
        (capacity("keeps_up"), "All offered iterations were served, up to 198/s."),
        (
            capacity("keeps_up", limit="generator"),
            "Served in full up to 198/s; beyond that the generator is the limit, not the service: more users (max_users) or "
            "workers.",
        ),
        (capacity("departs"), "Goodput is less than the offered rate from 198/s on, but its maximum was not reached."),
        (
            capacity("departs", kept_per_s=170.0, high_per_s=190.0, rises=True),
            "Goodput is less than the offered rate from 198/s on, but still rises with it, since only a part of the requests is "
            "limited: all is served up to a rate between 170/s and 190/s.",
        ),
        (
            capacity("departs", kept_per_s=190.0, high_per_s=190.0, rises=True),
            "Goodput is less than the offered rate from 198/s on, but still rises with it, since only a part of the requests is "
            "limited: all is served up to 190/s.",
        ),
        (
            capacity("departs", kept_per_s=170.0, high_per_s=190.0, rises=True, limit="errors"),
            "Goodput is less than the offered rate from 198/s on, but still rises with it, since a short queue refuses requests, "
            "or only a part of the requests is limited: all is served up to a rate between 170/s and 190/s.",
        ),
        (
            capacity("departs", kept_per_s=170.0, overload=overload("queues", fall_ratio=0.3)),
            "Goodput is less than the offered rate from 198/s on, and falls by 30% at 300/s: a return to 170/s shows whether "
            "load causes that, or the service has changed.",
        ),
        (
            capacity("keeps_up", contradicted=True),
            "All offered iterations were served, up to 198/s; a higher rate was served in full than one that was not: the "
            "service changed.",
        ),
        (capacity("at_or_below"), "The capacity is below 206/s, the lowest rate: offer less to find it."),
    ],
)
def test_a_capacity_as_a_rate_is_expressed_in_one_sentence(found: RateCapacity, expected: str) -> None:
    assert wording.rates(RateVerdict(capacity=found)) == expected


def test_a_recovery_from_overload_is_part_of_the_sentence() -> None:
    recovery = RateRecovery(level=5, from_per_s=300, to_per_s=120, recovered=True, after_s=4)
    found = RateVerdict(capacity=capacity(kept_per_s=None), recoveries=(recovery,))
    assert wording.rates(found) == "Capacity 198/s [190–206]; at 120/s it recovered 4 s after overload at 300/s."


def test_without_a_level_with_enough_arrivals_the_sentence_says_so() -> None:
    expected = "No level of an offered rate had enough arrivals to say whether it was served in full."
    assert wording.rates(RateVerdict()) == expected


def at_rate(offered_per_s: float, state: Any, failure_ratio: float = 0.0) -> RateLevelVerdict:
    """A level at an offered rate."""
    return RateLevelVerdict(
        level=0,
        offered_per_s=offered_per_s,
        goodput_per_s=198,
        goodput_se_per_s=3,
        state=state,
        failure_ratio=failure_ratio,
        dropped_ratio=0.0,
        growth_per_s=0.0,
    )


@pytest.mark.parametrize("why", ["other_service", "disturbed"])
def test_levels_that_do_not_show_the_service_are_not_said_to_lack_arrivals(why: Any) -> None:
    found = RateVerdict(levels=(msgspec.structs.replace(at_rate(100.0, "unsure"), why=why),))
    assert wording.rates(found) == "No level of an offered rate shows what the service can do."


def test_one_rate_at_which_iterations_fail_asks_for_a_lower_rate() -> None:
    found = wording.rates(RateVerdict(levels=(at_rate(84, "fails", 0.163),)))
    assert found == "16% of the iterations fail at 84/s; a lower rate shows whether load is the cause."


def test_failures_at_every_rate_ask_for_a_lower_rate() -> None:
    found = wording.rates(RateVerdict(levels=(at_rate(84, "fails", 0.4), at_rate(126, "fails", 0.42))))
    assert found == "40% to 42% of the iterations fail at every rate, from 84/s on; a lower rate shows whether load is the cause."


def test_failures_at_every_rate_that_was_served_are_named() -> None:
    levels = (at_rate(84, "kept", 0.05), at_rate(126, "kept", 0.06), at_rate(200, "unsure"))
    found = wording.rates(RateVerdict(capacity=capacity("keeps_up"), levels=levels))
    assert found == "All offered iterations were served except the 5% that fail at every rate, up to 198/s."


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("kept", "served in full"),
        ("queue_grows", "not stationary: the queue grows by 84/s"),
        ("fails", "33% of the iterations fail"),
        ("dropped", "12% of the arrivals are dropped"),
        ("generator", "limited by the generator"),
    ],
)
def test_each_state_of_a_level_has_its_words(state: Any, expected: str) -> None:
    found = RateLevelVerdict(
        level=0, offered_per_s=300, goodput_per_s=198, goodput_se_per_s=3, state=state, failure_ratio=0.33, dropped_ratio=0.12,
        growth_per_s=84.0,
    )  # fmt: skip
    assert wording.rate_level(found) == expected


def test_an_unsteady_level_whose_queue_shrinks_works_off_a_backlog() -> None:
    found = RateLevelVerdict(
        level=0, offered_per_s=40, goodput_per_s=60, goodput_se_per_s=3, state="kept", failure_ratio=0.0, dropped_ratio=0.0,
        growth_per_s=-20.0, why="unsteady",
    )  # fmt: skip
    assert wording.rate_level(found) == "a backlog was worked off"


def test_an_objective_has_the_rate_up_to_which_it_is_met() -> None:
    crossed = RateObjective(name="p95_ms", limit=300, state="crossed", per_s=141, low_per_s=120, high_per_s=160)
    assert wording.rate_objective(crossed) == "p95 from plan ≤ 300 ms up to 141/s [120–160]"


def test_an_objective_that_is_not_met_at_any_rate_has_the_lowest_rate() -> None:
    broken = RateObjective(name="failure_ratio", limit=0.01, state="broken", high_per_s=20)
    assert wording.rate_objective(broken) == "failures ≤ 1% is not met at any rate, not even at 20/s"
