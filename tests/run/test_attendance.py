"""When a run is over whose controls no screen has."""

from __future__ import annotations

from capexplorer.run.attendance import Attendance
from capexplorer.run.run_outcome import Failure

FAILURE = Failure("target: died", 4)


def look(
    attendance: Attendance, now_s: float, *, attended: bool = False, driven: bool = False, failure: Failure | None = None
) -> bool:
    return attendance.look(now_s, attended=attended, driven=driven, failure=failure) is not None


def test_load_by_hand_is_kept_until_its_time_limit() -> None:
    attendance = Attendance(300.0)
    assert not look(attendance, 1_000.0)
    assert not look(attendance, 1_299.9)
    assert look(attendance, 1_300.0)


def test_a_screen_that_comes_back_restarts_the_time_limit() -> None:
    attendance = Attendance(300.0)
    assert not look(attendance, 0.0)
    assert not look(attendance, 299.0, attended=True)
    assert not look(attendance, 5_000.0, attended=True)
    assert not look(attendance, 5_001.0)
    assert not look(attendance, 5_300.0)
    assert look(attendance, 5_301.0)


def test_a_plan_runs_to_its_end_for_any_duration() -> None:
    attendance = Attendance(300.0)
    assert not look(attendance, 0.0, driven=True)
    assert not look(attendance, 86_400.0, driven=True)
    assert look(attendance, 86_401.0, driven=False)


def test_a_plan_that_had_ended_before_the_screen_went_is_load_by_hand() -> None:
    attendance = Attendance(300.0)
    assert not look(attendance, 0.0, attended=True, driven=True)
    assert not look(attendance, 10.0, attended=True, driven=False)
    assert not look(attendance, 11.0)
    assert not look(attendance, 310.0)
    assert look(attendance, 311.0)


def test_a_failure_ends_a_plan_but_not_one_that_was_known_before() -> None:
    attendance = Attendance(300.0)
    assert not look(attendance, 0.0, driven=True, failure=FAILURE)
    assert not look(attendance, 1.0, driven=True, failure=FAILURE)
    assert look(attendance, 2.0, driven=True, failure=Failure("log: no space", 4))


def test_a_failure_does_not_end_load_by_hand_before_the_time_limit() -> None:
    attendance = Attendance(300.0)
    assert not look(attendance, 0.0)
    assert not look(attendance, 1.0, failure=FAILURE)
    assert look(attendance, 300.0, failure=FAILURE)


def test_without_a_time_limit_load_by_hand_ends_at_once() -> None:
    assert look(Attendance(0.0), 0.0)
