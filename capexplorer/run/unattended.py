"""Decides when a run without a screen of its own has ended; while an attached screen has the controls, a person decides."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .attendance import Attendance

if TYPE_CHECKING:
    from .live import LiveRun  # imports Locust, which patches the process

POLL_S = 0.25
"""Seconds between two checks."""


class Unattended:
    """Counts the time from its construction. Read `reason` a few times a second, in one thread."""

    def __init__(self, run: LiveRun) -> None:
        self._run = run
        self._attendance = Attendance(run.unattended_s)
        self._is_stopped = False
        self._look()  # so that a failure before `reason` is first read counts as a new one

    def stop(self) -> None:
        """End the run. From any thread."""
        self._run.controls.quit()
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
