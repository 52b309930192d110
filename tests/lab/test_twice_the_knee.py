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


FAILING, UNSETTLED = level(80, 30.0, failures=5), level(80, 30.0, unsettled=5)


@pytest.mark.parametrize(
    ("levels", "has_cause", "problems"),
    [
        ([level(40, 39.0), LOW, TWICE_THE_KNEE, LOW], False, []),
        ([LOW, TWICE_THE_KNEE, level(19, 19.0)], False, []),
        ([LOW, FAILING, LOW], True, []),
        ([LOW, UNSETTLED, LOW], True, []),
        ([LOW, FAILING, LOW], False, ["failures_without_cause"]),
        ([LOW, UNSETTLED, LOW], False, ["failures_without_cause"]),
        ([LOW, TWICE_THE_KNEE, level(20, 20.0, failures=1)], True, ["failures_afterwards"]),
        ([LOW, TWICE_THE_KNEE, level(20, 20.0, unsettled=1)], True, []),
        ([LOW, TWICE_THE_KNEE, level(20, 0.0)], True, ["nothing_finished_afterwards"]),
        ([LOW, TWICE_THE_KNEE, level(20, None)], True, ["nothing_finished_afterwards"]),
        ([], False, ["not_reached"]),
        ([LOW, TWICE_THE_KNEE], False, ["not_reached"]),
        ([LOW, TWICE_THE_KNEE, level(30, 20.0)], False, ["not_reached"]),
        ([TWICE_THE_KNEE, LOW, TWICE_THE_KNEE], False, ["not_reached"]),
    ],
)
def test_failures_need_a_cause_and_the_service_must_answer_again(
    levels: list[dict[str, Any]], has_cause: bool, problems: list[str]
) -> None:
    assert mistakes(around(levels), has_cause=has_cause) == problems


def test_the_parts_of_a_level_that_a_shift_split_are_judged_as_one_with_the_goodput_of_the_last() -> None:
    found = around([LOW, level(80, 10.0, 3), level(80, 10.0, 4), level(20, None), level(20, 19.0)])
    assert found is not None
    assert (found[1]["failures"], found[1]["goodput_rps"], found[2]["goodput_rps"]) == (7, 10.0, 19.0)
