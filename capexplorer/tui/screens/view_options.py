"""How the panes are drawn, and whether the display is paused; with the keys for it."""

from __future__ import annotations

from collections.abc import Callable

from ...model.timeline import Timeline
from ..actions.protocols import ScreenAccess
from ..frozen_timeline import moment
from ..look import Look, Palette

WINDOWS_S = (60.0, 300.0, 900.0, None)


class ViewOptions:
    """`draw` is called after each change, and draws everything."""

    def __init__(self, screen: ScreenAccess, draw: Callable[[], None], window_s: float | None = 300.0) -> None:
        self.window_s = window_s
        self.log_latency = False
        self.paused: Timeline | None = None
        """The timeline that the panes show while the display is paused; None: not paused."""
        self._screen, self._draw = screen, draw

    def look(self, palette: Palette, *, large: bool) -> Look:
        """The options for the panes."""
        return Look(palette=palette, window_s=self.window_s, log_latency=self.log_latency, large=large)

    def action_pause_display(self) -> None:
        """Pause or resume the display."""
        self.paused = moment(self._screen.timeline) if self.paused is None else None
        self._screen.show_message()
        self._draw()

    def action_window(self) -> None:
        """The next time window."""
        self.window_s = WINDOWS_S[(WINDOWS_S.index(self.window_s) + 1) % len(WINDOWS_S)]
        self._screen.show_message("time window: all" if self.window_s is None else f"time window: {self.window_s / 60:g} min")
        self._draw()

    def action_logarithmic(self) -> None:
        """Logarithmic latency, and back."""
        self.log_latency = not self.log_latency
        self._screen.show_message(f"latency: {'logarithmic' if self.log_latency else 'linear'}")
        self._draw()
