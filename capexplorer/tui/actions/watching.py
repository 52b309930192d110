"""Watching a run: the sentences about who has its controls, and the actions of a screen that only watches."""

from __future__ import annotations

from msgspec.structs import replace

from ...model.controls import AskControls, Controls, GiveControls, State
from ..keybar import Performs
from ..keys import LOAD_KEYS
from ..protocols import Actions, View

LOST = "the run cannot be reached; what is recorded is still shown"


def controls_line(state: State) -> str:
    """The line in the status area of a screen that may steer; empty if it is the run's only screen and has the controls."""
    if not state.connected:
        return LOST
    if not state.holds:
        asking = f"; {state.asked_by} asks for them" if state.asked_by is not None else "; c asks for them"
        return f"{holder(state)}{asking if state.holder is not None else '; c takes them'}"
    if state.asked_by is not None:
        return f"{state.asked_by} asks for the controls: c gives them, steering keeps them"
    return f"this screen has the controls; {state.screens} screens" if state.screens > 1 else ""


def who_steers(state: State) -> str:
    """The line in the status area of a screen that only watches; empty if it is the run's only screen."""
    if not state.connected:
        return LOST
    return f"{holder(state)}; this screen only watches" if state.screens > 1 or not state.holds else ""


def refusal(state: State) -> str:
    """The answer to a key that steers, on a screen without the controls."""
    return f"{holder(state)}; c {'asks for' if state.holder is not None else 'takes'} them" if state.connected else LOST


def passed_on(controls: Controls) -> str:
    """Ask for the controls, or hand them to the screen that asks. Returns the message to show."""
    state = controls.state
    if not state.connected:
        return LOST
    if not state.holds:
        if state.asked_by is not None:
            return f"{state.asked_by} asks for the controls already: one screen at a time"
        controls.do(AskControls())
        return f"{state.holder} is asked for the controls" if state.holder is not None else "this screen takes the controls"
    if state.asked_by is None:
        return "this screen has the controls; no other one asks for them"
    controls.do(GiveControls())
    return f"{state.asked_by} has the controls now"


def holder(state: State) -> str:
    """`pts/3 has the controls`."""
    return f"{state.holder or 'no screen'} has the controls"


# -- view only -----------------------------------------------------------------------------------------------------------------


class ViewOnlyActions(Actions):
    """Binds the keys of the live screen. A key that steers shows that there is no load to steer."""

    def __init__(self, controls: Controls | None = None) -> None:
        """`controls`: of the run, to show who has them; None: nobody does."""
        self._controls = controls

    @property
    def performs(self) -> Performs:
        """What the keys of this screen do."""
        steers = {key.name: self._refuse for key in LOAD_KEYS}
        return {**steers, "detach": self.action_detach, "stop": self.action_stop}

    def _refuse(self) -> None:
        self._screen.show_message("there is no load to steer")

    @property
    def view(self) -> View:
        """Users and driver by the recorded events."""
        state = self._controls.state if self._controls is not None else State()
        return replace(super().view, controls=who_steers(state) if self._screen.timeline.ended is None else "")

    def action_detach(self) -> None:
        """Close this screen: the run goes on."""
        self._screen.leave_run()

    def action_stop(self) -> None:
        """Say which screens may end a run, or close this one if the session has ended."""
        if self._screen.timeline.ended is not None:
            return self._screen.leave()
        self._screen.show_message("this screen only watches: it cannot end the run", alarm=True)
