"""Decides when a run ends while no screen has its controls: at the end of a plan or the autopilot, or a while after load by hand.

Pure: the present state and the time are passed in.
"""

from __future__ import annotations

from .run_outcome import Failure


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
