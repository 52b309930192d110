"""Steers a run of another process, as its own screen does; but quitting ends only this screen, not the run."""

from __future__ import annotations

from ...model.stream import Controls, Holding
from ..dialogs.ask import Confirm
from ..render.text import span
from .steering import Steer


class SteerAttached(Steer):
    """`unattended_s`: how long the run keeps load by hand after the last screen that may steer has left."""

    def __init__(self, controls: Controls, held: Holding, unattended_s: float) -> None:
        super().__init__(controls, held)
        self._unattended_s = unattended_s

    @property
    def quit_question(self) -> str | None:
        """While load by hand runs and no other screen may steer: when that load would end."""
        if not self.held.holds or super().quit_question is None:
            return None
        return (
            f"The run goes on. Load by hand that no screen steers ends after {span(self._unattended_s)};"
            " a plan and the autopilot go on to their end. Q ends the run now."
        )

    def quit(self) -> None:
        """Close this screen; the run goes on."""

    def action_stop(self) -> None:
        """End the run, for all of its screens."""
        if not self._may_steer():
            return
        question = f"The load ends, for all {self.held.screens} screens. The session is saved."
        confirm = Confirm("End the run?", question, "end it")
        self._screen.ask(confirm, lambda sure: self.controls.quit() if sure and self._may_steer() else None)
