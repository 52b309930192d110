"""Actions of a screen that only watches load steered elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from textual.widget import Widget

from ...model.controls import Controls, State
from ..display_options import Palette
from ..keybar import Performs
from ..keys import LOAD_KEYS, ScreenName
from ..panes.status_view import View, watched
from . import controls_text
from .protocols import ScreenAccess


class ViewOnlyActions:
    """Binds the keys of the live screen. A key that steers shows that there is no load to steer."""

    keys: ScreenName = "live"
    key_words: Mapping[str, str] = {}
    quit_question = None

    def __init__(self, controls: Controls | None = None) -> None:
        """`controls`: of the run, to show who has them; None: nobody does."""
        self._controls = controls

    def attach(self, screen: ScreenAccess) -> None:
        """Watch this screen's timeline."""
        self._screen = screen

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
        timeline, state = self._screen.timeline, self._controls.state if self._controls is not None else State()
        return replace(watched(timeline), controls=controls_text.watched(state) if timeline.ended is None else "")

    def widgets(self) -> Sequence[Widget]:
        """None."""
        return ()

    def draw(self, palette: Palette) -> None:
        """Nothing to draw."""

    def action_detach(self) -> None:
        """Close this screen: the run goes on."""
        self._screen.leave_run()

    def action_stop(self) -> None:
        """Say which screens may end a run, or close this one if the session has ended."""
        if self._screen.timeline.ended is not None:
            return self._screen.leave()
        self._screen.show_message("this screen only watches: it cannot end the run", alarm=True)

    def quit(self) -> None:
        """Do nothing: quitting ends no run."""
