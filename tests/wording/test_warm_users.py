"""Words about levels whose users have not all completed a task cycle (are not warm)."""

from __future__ import annotations

import pytest
from kit.scenario import Scenario

from capexplorer import wording
from capexplorer.model.figures import LevelFigures
from capexplorer.model.timeline import Timeline


def unsettled(*levels: tuple[int, float | None]) -> Timeline:
    """A session whose levels of (users, share of warm users) ended before they had settled."""
    scenario = Scenario()
    for users, warm in levels:
        scenario.measured(users, LevelFigures(settled=False, warm_ratio=warm), lasts_s=20.0)
    return scenario.timeline


@pytest.mark.parametrize(
    ("ratio", "sentence"), [(0.0, "0% of its users warm"), (0.4, "40% of its users warm"), (0.95, ""), (1.0, ""), (None, "")]
)
def test_the_share_of_warm_users_is_shown_while_it_is_too_small_to_settle(ratio: float | None, sentence: str) -> None:
    assert wording.warm(LevelFigures(settled=False, warm_ratio=ratio)) == sentence


def test_the_verdict_of_levels_that_did_not_settle_names_the_share_of_warm_users_as_the_reason() -> None:
    assert wording.verdict(unsettled((5, 0.4), (10, 0.0))) == (
        "The capacity is unknown: 2 levels (5 to 10 users) did not settle: only 0–40% of the users had completed a task cycle; "
        "hold each level until its users have completed one."
    )


def test_the_verdict_of_levels_that_did_not_settle_with_warm_users_names_no_reason() -> None:
    assert wording.verdict(unsettled((5, 1.0), (10, None))) == "No level settled: the capacity is unknown."


def test_a_level_that_ended_in_the_second_after_settling_was_too_short_and_lacked_no_users() -> None:
    figures = LevelFigures(settled=False, warm_ratio=1.0)
    assert wording.verdict(Scenario().measured(2, figures, lasts_s=3.0, settling_s=2.003).timeline) == (
        "The capacity is unknown: 1 level (2 users) ended after 3 s, before a whole second had followed the 2 s in which users "
        "settle, so hold each level for longer."
    )


def test_the_verdict_of_levels_that_were_too_short_says_how_long_their_users_take_to_settle() -> None:
    figures = LevelFigures(settled=False, warm_ratio=1.0)
    assert wording.verdict(Scenario().measured(5, figures, lasts_s=8.0, settling_s=9.2).timeline) == (
        "The capacity is unknown: 1 level (5 users) ended after 8 s, before they could settle: two cycles of the users take 9 s, "
        "so hold each level for longer."
    )
