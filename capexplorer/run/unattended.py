"""Decides when a run without a screen of its own has ended; while an attached screen has the controls, a person decides."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..model.controls import EndRun
from .run_outcome import Failure

if TYPE_CHECKING:
    from .live import LiveRun  # imports Locust, which patches the process


# -- attendance ----------------------------------------------------------------------------------------------------------------
# Decides when a run ends while no screen has its controls: at the end of a plan or the autopilot, or a while after load by hand.
#
# Pure: the present state and the time are passed in.


class Attendance:
    """`look` a few times a second. `unattended_s`: how long load by hand is kept."""

    def __init__(self, unattended_s: float) -> None:
        self._unattended_s = unattended_s
        self._since_s: float | None = None
        """When the controls were left."""
        self.was_driven = False
        """Whether something stepped the users when the controls were left: its end is the run's."""
        self._failed_before: Failure | None = None

    def look(self, now_s: float, *, attended: bool, driven: bool, failure: Failure | None) -> str | None:
        """Why the run has ended; None while it goes on.

        `attended`: a screen has the controls. `driven`: a plan, a shape or the autopilot steps, or will.
        `failure`: of the run now.
        """
        if attended:
            self._since_s = None
            return None
        if self._since_s is None:
            self._since_s, self.was_driven, self._failed_before = now_s, driven, failure
        if self.was_driven:
            has_failed = failure is not None and failure is not self._failed_before
            return None if driven and not has_failed else "the plan or the autopilot has ended, and no screen has the controls"
        if now_s - self._since_s >= self._unattended_s:
            return f"no screen had the controls for {self._unattended_s:g} s ([guards] unattended_s)"
        return None


POLL_S = 0.25
"""Seconds between two checks."""


class Unattended:
    """Counts the time from its construction. Read `reason` a few times a second, in one thread."""

    def __init__(self, run: LiveRun) -> None:
        self._run = run
        self._attendance = Attendance(run.controls.setup.unattended_s)
        self._is_stopped = False
        self._look()  # so that a failure before `reason` is first read counts as a new one

    def stop(self) -> None:
        """End the run. From any thread."""
        self._run.controls.do(EndRun())
        self._run.outcome.quit("ended by the user")
        self._is_stopped = True

    @property
    def reason(self) -> str | None:
        """Why the run has ended; None while it goes on."""
        outcome = self._run.outcome
        if outcome.signal is not None or self._is_stopped:
            return outcome.reason
        why = self._look()
        if why is None:
            return None
        if self._attendance.was_driven:
            outcome.leave(why)
        else:
            outcome.quit(why)
        return outcome.reason

    def _look(self) -> str | None:
        return self._attendance.look(
            time.monotonic(),
            attended=self._run.screens.holder is not None,
            driven=self._run.is_driven,
            failure=self._run.outcome.failure,
        )
