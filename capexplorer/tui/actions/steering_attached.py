"""Steers a run of another process as its own screen does, except that quitting ends only this screen."""

from __future__ import annotations

from ...model.controls import Controls
from ...model.controls_lock import ControlsLock
from ..dialogs.ask import Confirm
from ..render.text import span
from .steering import LiveRunActions


class AttachedRunActions(LiveRunActions):
    """`unattended_s`: seconds for which the run continues load set by hand after the last screen that may steer has left."""

    def __init__(self, controls: Controls, lock: ControlsLock, unattended_s: float) -> None:
        super().__init__(controls, lock)
        self._unattended_s = unattended_s

    @property
    def quit_question(self) -> str | None:
        """A sentence on when the load will end after this screen, which has the controls, is closed; None without load."""
        if not self.lock.holds or super().quit_question is None:
            return None
        return (
            f"The run goes on. Load by hand that no screen steers ends after {span(self._unattended_s)};"
            " a plan and the autopilot go on to their end. Q ends the run now."
        )

    def quit(self) -> None:
        """Do nothing: the run continues without this screen."""

    def action_stop(self) -> None:
        """End the run, for all of its screens."""
        if not self._may_steer():
            return
        question = f"The load ends, for all {self.lock.screens} screens. The session is saved."
        confirm = Confirm("End the run?", question, "end it")
        self._screen.ask(confirm, lambda sure: self.controls.quit() if sure and self._may_steer() else None)
