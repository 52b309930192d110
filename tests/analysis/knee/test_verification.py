"""Levels measured after a knee was found verify it, or contradict it. The service of these tests: N* = 50 at 100/s."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from capexplorer.analysis.knee.detector import analyse
from capexplorer.analysis.ladder import LadderLevel
from capexplorer.model.verdicts import KneeVerdict, Verification

from ..ladders import ideal

UP = (10.0, 20.0, 30.0, 40.0, 60.0, 80.0)
SOAK, BEYOND, BACK = 35.0, 60.0, 10.0


def knee_after(later: Sequence[float] = (), up: Sequence[float] = UP, **changed: dict[str, Any]) -> KneeVerdict:
    """The knee after the way up and `later` levels; `changed`: fields of the later level at that place, `at0` the first."""
    levels = ideal([*up, *later])
    for place, fields in changed.items():
        index = len(up) + int(place.removeprefix("at"))
        levels[index] = replace(levels[index], **fields)
    return judged(levels)


def judged(levels: Sequence[LadderLevel]) -> KneeVerdict:
    knee = analyse(levels).knee
    assert knee is not None
    assert knee.kind == "knee"
    return knee


def verification(knee: KneeVerdict) -> Verification:
    assert knee.verification is not None
    return knee.verification


def open_steps(knee: KneeVerdict) -> list[tuple[str, int, float]]:
    return [(step.name, step.users, step.least_s) for step in verification(knee).open_steps]


def disagreeing(knee: KneeVerdict) -> list[tuple[str, str | None]]:
    return [(step.name, step.disagreement) for step in verification(knee).disagreeing]


def slower(level: LadderLevel, factor: float) -> dict[str, Any]:
    return {"latency_ms": (level.latency_ms or 0.0) * factor}


# -- levels that verify a knee


def test_after_a_search_the_knee_is_provisional_and_names_the_levels_that_would_verify_it() -> None:
    knee = knee_after()
    assert (knee.provisional, verification(knee).state, knee.confidence) == (True, "provisional", "high")
    assert open_steps(knee) == [("soak", 35, 10.0), ("beyond", 60, 6.0), ("return_to_first", 10, 6.0)]


def test_a_soak_a_level_beyond_and_a_return_verify_it() -> None:
    assert open_steps(knee_after([SOAK])) == [("beyond", 60, 6.0), ("return_to_first", 10, 6.0)]
    assert open_steps(knee_after([SOAK, BEYOND])) == [("return_to_first", 10, 6.0)]
    knee = knee_after([SOAK, BEYOND, BACK])
    assert (knee.provisional, verification(knee).state, knee.confidence) == (False, "verified", "high")
    assert (knee.evidence.soak_agrees, knee.evidence.beyond_agrees, knee.evidence.return_agrees) == (True, True, True)


def test_the_return_comes_after_the_level_beyond() -> None:
    assert [name for name, _, _ in open_steps(knee_after([BACK, SOAK, BEYOND]))] == ["return_to_first"]
    assert [name for name, _, _ in open_steps(knee_after([SOAK, BACK]))] == ["beyond", "return_to_first"]
    assert verification(knee_after([BACK, SOAK, BEYOND, BACK])).state == "verified"


def test_levels_from_which_the_knee_was_found_do_not_verify_it() -> None:
    knee = knee_after(up=[10, 20, 35, 40, 60, 65, 80])
    assert [name for name, _, _ in open_steps(knee)] == ["soak", "beyond", "return_to_first"]


def test_levels_from_before_the_knee_could_be_found_verify_nothing() -> None:
    """The first level lies beyond the knee: the lower ones complete the ladder, and do not repeat it."""
    begun_high = [100.0, 10.0, 38.0]
    assert [name for name, _, _ in open_steps(knee_after(up=begun_high))] == ["soak", "beyond", "return_to_first"]
    assert verification(knee_after([SOAK, BEYOND, BACK], up=begun_high)).state == "verified"


def test_a_level_beyond_that_comes_down_from_overload_does_not_count() -> None:
    assert [name for name, _, _ in open_steps(knee_after([SOAK, 90, 60, BACK]))] == ["beyond", "return_to_first"]


@pytest.mark.parametrize("seconds", [6.0, 9.0])
def test_a_short_level_is_not_a_soak(seconds: float) -> None:
    assert [name for name, _, _ in open_steps(knee_after([SOAK], at0={"seconds": seconds}))][0] == "soak"


def test_an_imprecise_level_counts_once_it_has_lasted_its_longest_time() -> None:
    noisy = {"goodput_se_rps": 10.0}
    assert open_steps(knee_after([SOAK], at0={"seconds": 25.0, **noisy}))[0][0] == "soak"
    assert open_steps(knee_after([SOAK], at0={"seconds": 40.0, **noisy}))[0][0] == "beyond"


def test_the_levels_that_verify_a_knee_of_very_few_users_have_whole_numbers_of_users() -> None:
    levels = ideal([1, 2, 3, 4, 6, 8], per_user=2.0, capacity=4.4)
    assert [(name, users) for name, users, _ in open_steps(judged(levels))] == [
        ("soak", 1),
        ("beyond", 3),
        ("return_to_first", 1),
    ]


# -- levels that contradict a knee


def test_a_service_that_does_a_little_less_than_before_contradicts_its_knee() -> None:
    """If it surely does a tenth less there is no knee (`epoch.recovery`)."""
    knee = knee_after([SOAK], at0={"goodput_rps": 64.0, "throughput_rps": 64.0})
    assert (verification(knee).state, knee.provisional, knee.confidence) == ("contradicted", True, "low")
    assert disagreeing(knee) == [("soak", "less_goodput")]


def test_more_goodput_than_the_curve_allows_contradicts_it_on_the_line_and_beyond() -> None:
    assert disagreeing(knee_after([SOAK], at0={"goodput_rps": 80.0})) == [("soak", "more_goodput")]
    assert disagreeing(knee_after([SOAK, BEYOND], at1={"goodput_rps": 112.0})) == [("beyond", "more_goodput")]


def test_failures_in_the_soak_contradict_a_knee_and_failures_beyond_it_do_not() -> None:
    assert disagreeing(knee_after([SOAK], at0={"failure_ratio": 0.03})) == [("soak", "failures")]
    assert disagreeing(knee_after([SOAK, BEYOND], at1={"failure_ratio": 0.3})) == []
    assert disagreeing(knee_after([SOAK], at0={"failure_ratio": 0.03, "requests": 50})) == []  # two requests


def test_a_return_that_is_slower_than_the_first_level_shows_a_shift() -> None:
    first = ideal([BACK])[0]
    knee = knee_after([SOAK, BEYOND, BACK], at2=slower(first, 1.5))
    assert disagreeing(knee) == [("return_to_first", "slower")]
    lag = {"loop_lag_ms": 30.0}
    assert disagreeing(knee_after([SOAK, BEYOND, BACK], at2={**slower(first, 1.5), **lag})) == []


def test_responses_beyond_the_knee_that_are_shorter_than_littles_law_gives_contradict_it() -> None:
    assert disagreeing(knee_after([SOAK, BEYOND], at1={"response_ms": 60.0})) == [("beyond", "time_unexplained")]


def test_of_two_levels_of_one_step_the_later_one_decides() -> None:
    slow = {"goodput_rps": 64.0}
    assert disagreeing(knee_after([SOAK, SOAK], at0=slow)) == []
    assert disagreeing(knee_after([SOAK, BEYOND, BACK, SOAK], at3=slow)) == [("soak", "less_goodput")]


def test_a_level_with_a_backlog_neither_contradicts_a_knee_nor_is_a_soak() -> None:
    """The task queue at 60 users after 231: 18.5 tasks a second finished, 12 accepted."""
    counts = [replace(level, work_is_metric=True, accepted_rps=level.goodput_rps) for level in ideal([*UP, SOAK])]
    counts[-1] = replace(counts[-1], goodput_rps=100.0)
    assert [step.name for step in verification(judged(counts)).open_steps][0] == "soak"
    assert disagreeing(judged(counts)) == []


# -- a knee that moves


def test_when_the_knee_moves_levels_from_before_no_longer_count() -> None:
    """Its capacity has doubled: levels that verified a knee of 50 users do not verify one of 100."""
    low, high = ideal([*UP, SOAK, BEYOND, BACK]), ideal([20, 40, 80, 120, 160, 200, 240], capacity=200.0)
    levels = [*low, *(replace(level, started_s=level.started_s + 1_000) for level in high)]
    knee = analyse(levels).knee
    assert knee is not None
    assert knee.kind == "knee"
    assert knee.users
    assert knee.users > 70
    assert [step.name for step in verification(knee).open_steps] == ["soak", "beyond", "return_to_first"]


def test_a_contradicted_knee_is_verified_against_the_levels_measured_since() -> None:
    """The soak showed a steeper line; the next way up measured it, and from then on levels agree with that."""
    steeper = {"goodput_rps": 77.0, "throughput_rps": 77.0}
    assert disagreeing(knee_after([SOAK], at0=steeper)) == [("soak", "more_goodput")]
    knee = knee_after([SOAK, 20, 70, 34, BEYOND, BACK], at0=steeper)
    assert verification(knee).state == "verified"


def test_ramps_verify_nothing() -> None:
    levels = [replace(level, ramp=True) for level in ideal([*UP, SOAK, BEYOND, BACK])]
    assert [step.name for step in verification(judged(levels)).open_steps] == ["soak", "beyond", "return_to_first"]
