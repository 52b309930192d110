"""When a run ends whose controls no screen has: manual load after a time limit, a plan at its end."""

from __future__ import annotations

import pytest
from tui.fake_controls import FakeControls

from capexplorer.run.run_outcome import Failure
from capexplorer.run.screens import RunScreen, Screens, Unattended

from .bare_context import VirtualPump, bare_context

FAILURES = {"failing": Failure("target: died", 4), "failing again": Failure("log: no space", 4)}


class RunLeftAlone:
    """A run with at most one screen; it is looked at when `reason` is read."""

    def __init__(self, *, driven: bool = False) -> None:
        self.pump, self.driven = VirtualPump(), driven
        self.context = bare_context(self.pump)
        self.outcome, self.screens = self.context.outcome, Screens(FakeControls(unattended_s=300.0), self.context)
        self.screen: RunScreen | None = None
        self._unattended: Unattended | None = None

    @property
    def reason(self) -> str | None:
        self._unattended = self._unattended or Unattended(self.context, self.screens, lambda: self.driven)
        return self._unattended.reason


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
    run, found = RunLeftAlone(), list[bool]()
    for now_s, state, _ in looks:
        now = state.split(",")
        run.pump.seconds, run.driven = now_s, "driven" in now
        run.outcome.recover("target")
        if error := next((each for each in now if each in FAILURES), None):
            run.outcome._failures["target"] = FAILURES[error]
        if "attended" in now:
            run.screen = run.screen or run.screens.join("pts/1", may_steer=True)
        elif run.screen is not None:
            run.screen.leave()
            run.screen = None
        found.append(run.reason is not None)
    assert found == [ends for _, _, ends in looks]


def test_a_failure_before_the_first_check_ends_the_run() -> None:
    """A headless run whose sessions folder could not be made once continued for ever."""
    run = RunLeftAlone(driven=True)
    unattended = Unattended(run.context, run.screens, lambda: True)
    run.outcome.fail("log", "the sessions folder cannot be made", 4)
    assert unattended.reason == "the sessions folder cannot be made"
