"""How a minute at twice the knee is judged."""

from __future__ import annotations

from typing import Any

import pytest

from trials.experiments.twice import around, mistakes


def level(users: int, goodput_rps: float | None, failures: int = 0, unsettled: int = 0) -> dict[str, Any]:
    """As a summary has it."""
    counts = {"requests": 100, "failures": failures, "failures_while_unsettled": unsettled}
    return {"users": users, "goodput_rps": goodput_rps, "started_s": 0.0, "ended_s": 20.0, **counts}


LOW, UP = level(20, 20.0), level(80, 40.0)


def judged(*levels: dict[str, Any], accounted: bool = False) -> list[str]:
    _, during, after = around(levels)
    return list(mistakes(during, after, accounted=accounted))


def test_a_service_that_answers_again_passes_after_any_failures() -> None:
    assert judged(level(40, 39.0), LOW, UP, LOW) == []


def test_a_share_of_a_knee_that_moved_a_little_is_the_same_level() -> None:
    assert judged(LOW, UP, level(19, 19.0)) == []


def test_parts_that_a_shift_made_are_one_level_whose_last_part_shows_how_it_ended() -> None:
    _, during, after = around([LOW, level(80, 40.0, 3), level(80, 10.0, 4), level(20, None), level(20, 19.0)])
    assert during is not None and after is not None
    assert (during.failures, during.goodput_rps, after.goodput_rps) == (7, 10.0, 19.0)


@pytest.mark.parametrize("failing", [level(80, 30.0, failures=5), level(80, 30.0, unsettled=5)], ids=["settled", "unsettled"])
@pytest.mark.parametrize("accounted", [True, False])
def test_failures_at_twice_the_knee_need_a_cause(failing: dict[str, Any], accounted: bool) -> None:
    judgement = judged(LOW, failing, LOW, accounted=accounted)
    assert judgement == ([] if accounted else ["5 failures at twice its knee, and no cause was marked"])


def test_failures_afterwards_are_a_miss_even_with_a_cause_but_those_while_it_settles_are_not() -> None:
    assert judged(LOW, UP, level(20, 20.0, failures=1), accounted=True) == ["1 failures afterwards"]
    assert judged(LOW, UP, level(20, 20.0, unsettled=1), accounted=True) == []


@pytest.mark.parametrize("goodput_rps", [0.0, None])
def test_a_service_that_finishes_nothing_afterwards_is_a_miss(goodput_rps: float | None) -> None:
    assert judged(LOW, UP, level(20, goodput_rps), accounted=True) == ["it finishes nothing afterwards"]


@pytest.mark.parametrize(
    "levels", [[], [LOW, UP], [LOW, UP, level(30, 20.0)], [UP, LOW, UP]], ids=["none", "ended", "other", "down"]
)
def test_a_run_that_did_not_reach_twice_its_knee_and_return_is_a_miss(levels: list[dict[str, Any]]) -> None:
    assert judged(*levels) == ["it never got to twice its knee and back"]
