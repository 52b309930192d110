"""A minute at twice the knee is a miss if its failures have no cause, or the service does not answer afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from lab.trials.experiments.reports import around, mistakes


def level(users: int, goodput_rps: float | None, failures: int = 0, unsettled: int = 0) -> dict[str, Any]:
    """A level as in the JSON summary of a session."""
    counts = {"requests": 100, "failures": failures, "failures_while_unsettled": unsettled}
    return {"users": users, "goodput_rps": goodput_rps, "started_s": 0.0, "ended_s": 20.0, **counts}


LOW, TWICE_THE_KNEE = level(20, 20.0), level(80, 40.0)


def judged(*levels: dict[str, Any], has_cause: bool = False) -> list[str]:
    return mistakes(around(levels), has_cause=has_cause)


def test_a_service_that_answers_again_passes_after_any_failures() -> None:
    assert judged(level(40, 39.0), LOW, TWICE_THE_KNEE, LOW) == []


def test_a_share_of_a_knee_that_moved_a_little_is_the_same_level() -> None:
    assert judged(LOW, TWICE_THE_KNEE, level(19, 19.0)) == []


def test_the_parts_of_a_level_that_a_shift_split_are_judged_as_one_with_the_goodput_of_the_last() -> None:
    found = around([LOW, level(80, 40.0, 3), level(80, 10.0, 4), level(20, None), level(20, 19.0)])
    assert found is not None
    assert (found[1]["failures"], found[1]["goodput_rps"], found[2]["goodput_rps"]) == (7, 10.0, 19.0)


@pytest.mark.parametrize("failing", [level(80, 30.0, failures=5), level(80, 30.0, unsettled=5)], ids=["settled", "unsettled"])
@pytest.mark.parametrize("has_cause", [True, False])
def test_failures_at_twice_the_knee_need_a_cause(failing: dict[str, Any], has_cause: bool) -> None:
    judgement = judged(LOW, failing, LOW, has_cause=has_cause)
    assert judgement == ([] if has_cause else ["5 failures at twice the knee without a cause"])


def test_failures_in_settled_seconds_afterwards_are_a_miss_even_with_a_cause() -> None:
    assert judged(LOW, TWICE_THE_KNEE, level(20, 20.0, failures=1), has_cause=True) == ["1 failures afterwards"]
    assert judged(LOW, TWICE_THE_KNEE, level(20, 20.0, unsettled=1), has_cause=True) == []


@pytest.mark.parametrize("goodput_rps", [0.0, None])
def test_a_service_that_finishes_nothing_afterwards_is_a_miss(goodput_rps: float | None) -> None:
    assert judged(LOW, TWICE_THE_KNEE, level(20, goodput_rps), has_cause=True) == ["nothing finished afterwards"]


@pytest.mark.parametrize(
    "levels",
    [[], [LOW, TWICE_THE_KNEE], [LOW, TWICE_THE_KNEE, level(30, 20.0)], [TWICE_THE_KNEE, LOW, TWICE_THE_KNEE]],
    ids=["none", "ended", "other", "down"],
)
def test_a_run_that_did_not_reach_twice_its_knee_and_return_is_a_miss(levels: list[dict[str, Any]]) -> None:
    assert judged(*levels) == ["no level at twice the knee, followed by the low level"]
