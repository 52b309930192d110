"""The levels that verify a knee, and how a verification ends."""

from __future__ import annotations

from typing import Any

import pytest

from capexplorer.model.proposals import Done, GoTo
from capexplorer.steer.search import Search

from .search_levels import LOW, STEPS, level, search_input, step, stepped, verdict

TOP = (*LOW, level(24), level(48), level(96), level(116))


def verifying(*, only: bool = True) -> Search:
    """A policy that has just proposed the soak of 35 users."""
    pilot = Search(only_verifies=only)
    assert step(pilot.due(search_input(*TOP, current=verdict("knee")))) == (35, "soak")
    return pilot


def test_levels_that_were_measured_by_hand_are_not_repeated() -> None:
    by_hand = verdict("knee", agree=["soak", "beyond"])
    assert step(Search(only_verifies=True).due(search_input(*TOP, current=by_hand))) == (1, "return_to_first")
    ended = Search(only_verifies=True).due(search_input(*LOW, level(1), current=verdict("knee", agree=list(STEPS))))
    assert isinstance(ended, Done)
    assert ended.figures["verification"] == "verified"


def test_a_verification_may_begin_without_users() -> None:
    assert step(Search(only_verifies=True).due(search_input(*TOP, level(0, seconds=0.0), current=verdict("knee")))) == (
        35,
        "soak",
    )


def test_a_level_that_disagrees_lasts_its_whole_time_and_is_measured_once_more_in_a_new_level() -> None:
    pilot, less = verifying(), verdict("knee", soak="less_goodput")
    assert step(pilot.due(search_input(*TOP, level(35, seconds=25.0), current=less))) == "measuring"
    again = pilot.due(search_input(*TOP, level(35, seconds=40.0), current=less))
    assert step(again) == (35, "soak")
    assert isinstance(again, GoTo)
    assert again.opens_new_level
    assert step(pilot.due(search_input(*TOP, level(35, seconds=40.0), level(35, seconds=40.0), current=less))) == (1, "rest")
    ended = pilot.due(search_input(*TOP, level(1, seconds=0.0), current=less))
    assert isinstance(ended, Done)
    assert ended.figures["verification"] == "contradicted"


def test_a_repeated_level_beyond_the_knee_has_no_fewer_users_than_the_first() -> None:
    pilot = verifying()
    pilot.due(search_input(*TOP, level(35, seconds=20.0), current=verdict("knee", agree=["soak"])))
    moved = verdict("knee", 45.0, agree=["soak"], beyond="less_goodput")
    assert step(pilot.due(search_input(*TOP, level(35), level(60, seconds=18.0), current=moved))) == (60, "beyond")


def test_from_a_higher_level_the_level_beyond_the_knee_is_approached_from_the_soak_level() -> None:
    soaked = verdict("knee", agree=["soak"])
    assert step(Search(only_verifies=True).due(search_input(*TOP, current=soaked))) == (35, "soak")


def test_a_knee_that_no_longer_holds_is_searched_for_again_but_not_by_a_verification_alone() -> None:
    lost = verdict("no_knee", 96.0)
    levels = (*TOP, level(35, seconds=40.0))
    assert stepped(verifying(only=False).due(search_input(*levels, current=lost))) > 96
    assert step(verifying().due(search_input(*levels, current=lost))) == (1, "rest")


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [({"max_users": 54}, "max_users"), ({"ports": (0.6, 60.0)}, "ports")],
)
def test_the_level_beyond_the_knee_respects_guard_and_ports_and_the_result_names_them(
    limit: dict[str, Any], outcome: str
) -> None:
    pilot = verifying()
    levels = [*TOP, level(35, seconds=20.0)]
    assert step(pilot.due(search_input(*levels, current=verdict("knee", agree=["soak"]), **limit))) == (1, "rest")
    ended = pilot.due(search_input(*levels, level(1, seconds=0.0), current=verdict("knee", agree=["soak"])))
    assert isinstance(ended, Done)
    assert ended.figures["verification"] == outcome


def test_a_level_10_percent_beyond_the_knee_is_enough_if_max_users_allows_no_more() -> None:
    levels = (*TOP, level(35, seconds=20.0))
    assert step(verifying().due(search_input(*levels, current=verdict("knee", agree=["soak"]), max_users=56))) == (56, "beyond")


def test_a_level_beyond_the_knee_in_which_nearly_all_requests_fail_is_left_at_once() -> None:
    pilot, soaked = verifying(), verdict("knee", agree=["soak"])
    pilot.due(search_input(*TOP, level(35, seconds=20.0), current=soaked))
    assert step(pilot.due(search_input(*TOP, level(35), level(60, seconds=0.0), current=soaked, latest=(100, 95)))) == (1, "rest")
