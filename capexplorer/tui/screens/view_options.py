"""How the panes are drawn, and whether they are held: what a person chooses for the eyes alone. And the keys for it."""

from __future__ import annotations

from collections.abc import Callable

from ...model.timeline import Timeline
from ..actions.protocols import ScreenAccess
from ..hold import moment
from ..look import Look, Palette

WINDOWS_S = (60.0, 300.0, 900.0, None)


class ViewOptions:
    """`draw` is called after each change, and draws everything."""

    def __init__(self, screen: ScreenAccess, draw: Callable[[], None]) -> None:
        self.window_s: float | None = 300.0
        self.log_latency = False
        self.held: Timeline | None = None
        """The moment that the panes show while events go on; None: they show the present one."""
        self._screen, self._draw = screen, draw

    def look(self, palette: Palette, *, large: bool) -> Look:
        """For the panes."""
        return Look(palette=palette, window_s=self.window_s, log_latency=self.log_latency, large=large)

    def action_hold(self) -> None:
        """Freeze the panes, or let them go on."""
        self.held = moment(self._screen.timeline) if self.held is None else None
        self._screen.say()
        self._draw()

    def action_window(self) -> None:
        """The next time window."""
        self.window_s = WINDOWS_S[(WINDOWS_S.index(self.window_s) + 1) % len(WINDOWS_S)]
        self._screen.say("time window: all" if self.window_s is None else f"time window: {self.window_s / 60:g} min")
        self._draw()

    def action_logarithmic(self) -> None:
        """Logarithmic latency, and back."""
        self.log_latency = not self.log_latency
        self._screen.say(f"latency: {'logarithmic' if self.log_latency else 'linear'}")
        self._draw()
