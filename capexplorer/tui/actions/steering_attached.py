"""Steers a run of another process as its own screen does, except that quitting ends only this screen."""

from __future__ import annotations

from ...model.controls import EndRun
from ..dialogs.ask import Confirm
from ..render.text import span
from .steering import LiveRunActions


class AttachedRunActions(LiveRunActions):
    """The actions on a run of another process."""

    ends_run = False
    """Whether the user has ended the run from this screen, which is then closed."""

    @property
    def quit_question(self) -> str | None:
        """A sentence on when the load will end after this screen, which has the controls, is closed; None without load."""
        if self.ends_run or not self.state.holds or super().quit_question is None:
            return None
        return (
            f"The run goes on. Load by hand that no screen steers ends after {span(self.controls.setup.unattended_s)};"
            " a plan and the autopilot go on to their end. Q ends the run now."
        )

    def quit(self) -> None:
        """Do nothing: the run continues without this screen."""

    def action_detach(self) -> None:
        """Close this screen without a question."""
        self._screen.leave_run()

    def action_stop(self) -> None:
        """End the run, for all of its screens, and close this one."""
        if self._screen.timeline.ended is not None:
            return self._screen.leave()
        if not self._may_steer():
            return
        others = f", for all {self.state.screens} screens" if self.state.screens > 1 else ""
        question = f"The load ends{others}. The session is saved."
        self._screen.ask(Confirm("End the run?", question, "end it"), lambda sure: self._end() if sure else None)

    def _end(self) -> None:
        if self._may_steer():
            self.controls.do(EndRun())
            self.ends_run = True
            self._screen.leave()
