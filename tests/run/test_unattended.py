"""When a run ends whose controls no screen has: manual load after a time limit, a plan at its end."""

from __future__ import annotations

import pytest
from tui.fake_controls import FakeControls

from capexplorer.run.run_outcome import Failure
from capexplorer.run.screens import Attendance, Screens, Unattended

from .bare_context import bare_context

FAILURES = {"failing": Failure("target: died", 4), "failing again": Failure("log: no space", 4)}

Look = tuple[float, str, bool]
"""Session time; what is so then: `attended`, `driven`, a failure; whether the run ends."""


@pytest.mark.parametrize(
    "looks",
    [
        pytest.param([(1_000.0, "", False), (1_299.9, "", False), (1_300.0, "", True)], id="manual load ends at the limit"),
        pytest.param(
            [(0.0, "", False), (299.0, "attended", False), (5_001.0, "", False), (5_300.0, "", False), (5_301.0, "", True)],
            id="a screen that attaches restarts the limit",
        ),
        pytest.param([(0.0, "driven", False), (86_400.0, "driven", False), (86_401.0, "", True)], id="a plan runs to its end"),
        pytest.param(
            [
                (0.0, "attended,driven", False),
                (10.0, "attended", False),
                (11.0, "", False),
                (310.0, "", False),
                (311.0, "", True),
            ],
            id="the plan ended before the screen left",
        ),
        pytest.param(
            [(0.0, "driven,failing", False), (1.0, "driven,failing", False), (2.0, "driven,failing again", True)],
            id="a new failure ends a plan, one known before does not",
        ),
        pytest.param(
            [(0.0, "", False), (1.0, "failing", False), (300.0, "failing", True)], id="a failure does not end manual load"
        ),
    ],
)
def test_a_run_without_a_screen_ends(looks: list[Look]) -> None:
    attendance, found = Attendance(300.0), list[bool]()
    for now_s, state, _ in looks:
        now = state.split(",")
        failure = next((FAILURES[each] for each in now if each in FAILURES), None)
        why = attendance.look(now_s, attended="attended" in now, driven="driven" in now, failure=failure)
        found.append(why is not None)
    assert found == [ends for _, _, ends in looks]


def test_with_a_time_limit_of_zero_manual_load_ends_at_once() -> None:
    assert Attendance(0.0).look(0.0, attended=False, driven=False, failure=None) is not None


def test_a_failure_before_the_first_check_ends_the_run() -> None:
    """A headless run whose sessions folder could not be made once continued for ever."""
    context = bare_context()
    unattended = Unattended(Screens(FakeControls(), context), lambda: True, context.outcome)
    context.outcome.fail("log", "the sessions folder cannot be made", 4)
    assert unattended.reason == "the sessions folder cannot be made"
