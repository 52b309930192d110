"""The levels that verify a knee, and how a verification ends."""

from __future__ import annotations

from typing import Any

import pytest

from capexplorer.load.autopilot_policy import AutopilotPolicy
from capexplorer.model.proposals import Done, GoTo, Hold

from .autopilot_levels import LOW, STEPS, known, level, step, verdict

TOP = (*LOW, level(24), level(48), level(96), level(116))


def verifying(*, only: bool = True) -> AutopilotPolicy:
    """At its soak of 35 users."""
    pilot = AutopilotPolicy(only_verifies=only)
    assert step(pilot.due(known(*TOP, says=verdict("knee")))) == (35, "soak")
    return pilot


def test_levels_that_a_person_made_are_not_made_again() -> None:
    by_hand = verdict("knee", agree=["soak", "beyond"])
    assert step(AutopilotPolicy(only_verifies=True).due(known(*TOP, says=by_hand))) == (1, "return_to_first")
    ended = AutopilotPolicy(only_verifies=True).due(known(*LOW, level(1), says=verdict("knee", agree=list(STEPS))))
    assert isinstance(ended, Done)
    assert ended.figures["verification"] == "verified"


def test_a_verification_may_begin_without_users() -> None:
    assert step(AutopilotPolicy(only_verifies=True).due(known(*TOP, level(0, seconds=0.0), says=verdict("knee")))) == (35, "soak")


def test_a_level_that_disagrees_lasts_its_whole_time_and_is_measured_once_more_in_a_new_level() -> None:
    pilot, less = verifying(), verdict("knee", soak="less_goodput")
    assert pilot.due(known(*TOP, level(35, seconds=25.0), says=less)) == Hold("measuring")
    again = pilot.due(known(*TOP, level(35, seconds=40.0), says=less))
    assert (step(again), isinstance(again, GoTo) and again.anew) == ((35, "soak"), True)
    assert step(pilot.due(known(*TOP, level(35, seconds=40.0), level(35, seconds=40.0), says=less))) == (1, "rest")
    ended = pilot.due(known(*TOP, level(1, seconds=0.0), says=less))
    assert isinstance(ended, Done)
    assert ended.figures["verification"] == "contradicted"


def test_the_second_level_beyond_has_no_fewer_users_since_it_would_feel_the_overload_of_the_first() -> None:
    pilot = verifying()
    pilot.due(known(*TOP, level(35, seconds=20.0), says=verdict("knee", agree=["soak"])))
    moved = verdict("knee", 45.0, agree=["soak"], beyond="less_goodput")
    assert step(pilot.due(known(*TOP, level(35), level(60, seconds=18.0), says=moved))) == (60, "beyond")


def test_from_a_higher_level_the_level_beyond_the_knee_is_approached_from_the_soak_level() -> None:
    soaked = verdict("knee", agree=["soak"])
    assert step(AutopilotPolicy(only_verifies=True).due(known(*TOP, says=soaked))) == (35, "soak")


def test_a_knee_that_no_longer_holds_is_searched_for_again_but_not_by_a_verification_alone() -> None:
    lost = verdict("no_knee", 96.0)
    levels = (*TOP, level(35, seconds=40.0))
    assert step(verifying(only=False).due(known(*levels, says=lost)))[1] in ("double", "bend_near")
    assert step(verifying().due(known(*levels, says=lost))) == (1, "rest")


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [({"max_users": 54}, "max_users"), ({"ports": (0.6, 60.0)}, "ports")],
)
def test_the_level_beyond_the_knee_respects_guard_and_ports_and_the_result_names_them(
    limit: dict[str, Any], outcome: str
) -> None:
    pilot = verifying()
    levels = [*TOP, level(35, seconds=20.0)]
    assert step(pilot.due(known(*levels, says=verdict("knee", agree=["soak"]), **limit))) == (1, "rest")
    ended = pilot.due(known(*levels, level(1, seconds=0.0), says=verdict("knee", agree=["soak"])))
    assert isinstance(ended, Done)
    assert ended.figures["verification"] == outcome


def test_where_the_guard_allows_ten_percent_beyond_that_is_enough() -> None:
    levels = (*TOP, level(35, seconds=20.0))
    assert step(verifying().due(known(*levels, says=verdict("knee", agree=["soak"]), max_users=56))) == (56, "beyond")


def test_a_level_beyond_in_which_nearly_everything_fails_is_left_at_once() -> None:
    pilot, soaked = verifying(), verdict("knee", agree=["soak"])
    pilot.due(known(*TOP, level(35, seconds=20.0), says=soaked))
    assert step(pilot.due(known(*TOP, level(35), level(60, seconds=0.0), says=soaked, latest=(100, 95)))) == (1, "rest")
