"""When a run ends whose controls no screen has: manual load after a time limit, a plan at its end."""

from __future__ import annotations

from capexplorer.run.run_outcome import Failure
from capexplorer.run.screens import Attendance

FAILURE = Failure("target: died", 4)


def has_ended(
    attendance: Attendance, now_s: float, *, attended: bool = False, driven: bool = False, failure: Failure | None = None
) -> bool:
    """Whether the run ends at this time. `attended`: a screen has the controls; `driven`: a plan or the autopilot steps."""
    return attendance.look(now_s, attended=attended, driven=driven, failure=failure) is not None


def test_manual_load_without_a_screen_ends_at_the_time_limit() -> None:
    attendance = Attendance(300.0)
    assert not has_ended(attendance, 1_000.0)
    assert not has_ended(attendance, 1_299.9)
    assert has_ended(attendance, 1_300.0)


def test_a_screen_that_attaches_restarts_the_time_limit() -> None:
    attendance = Attendance(300.0)
    assert not has_ended(attendance, 0.0)
    assert not has_ended(attendance, 299.0, attended=True)
    assert not has_ended(attendance, 5_000.0, attended=True)
    assert not has_ended(attendance, 5_001.0)
    assert not has_ended(attendance, 5_300.0)
    assert has_ended(attendance, 5_301.0)


def test_a_plan_without_a_screen_runs_to_its_end() -> None:
    attendance = Attendance(300.0)
    assert not has_ended(attendance, 0.0, driven=True)
    assert not has_ended(attendance, 86_400.0, driven=True)
    assert has_ended(attendance, 86_401.0, driven=False)


def test_the_time_limit_applies_if_the_plan_ended_before_the_screen_detached() -> None:
    attendance = Attendance(300.0)
    assert not has_ended(attendance, 0.0, attended=True, driven=True)
    assert not has_ended(attendance, 10.0, attended=True, driven=False)
    assert not has_ended(attendance, 11.0)
    assert not has_ended(attendance, 310.0)
    assert has_ended(attendance, 311.0)


def test_a_new_failure_ends_a_plan_and_one_known_before_does_not() -> None:
    attendance = Attendance(300.0)
    assert not has_ended(attendance, 0.0, driven=True, failure=FAILURE)
    assert not has_ended(attendance, 1.0, driven=True, failure=FAILURE)
    assert has_ended(attendance, 2.0, driven=True, failure=Failure("log: no space", 4))


def test_a_failure_does_not_end_manual_load_before_the_time_limit() -> None:
    attendance = Attendance(300.0)
    assert not has_ended(attendance, 0.0)
    assert not has_ended(attendance, 1.0, failure=FAILURE)
    assert has_ended(attendance, 300.0, failure=FAILURE)


def test_with_a_time_limit_of_zero_manual_load_ends_at_once() -> None:
    assert has_ended(Attendance(0.0), 0.0)
