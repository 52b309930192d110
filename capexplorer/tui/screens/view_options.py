"""How the panes are drawn, and whether the display is paused; with the keys for it."""

from __future__ import annotations

from collections.abc import Callable

from ...model.timeline import Timeline
from ..actions.protocols import ScreenAccess
from ..frozen_timeline import moment
from ..look import Look, Palette
from .inspecting import Inspecting


class ViewOptions:
    """`draw` is called after each change, and draws everything."""

    def __init__(self, screen: ScreenAccess, inspecting: Inspecting, draw: Callable[[], None]) -> None:
        self.log_latency = False
        self.paused: Timeline | None = None
        """The timeline that the panes show while the display is paused; None: not paused."""
        self._screen, self._inspecting, self._draw = screen, inspecting, draw

    def look(self, palette: Palette, *, large: bool) -> Look:
        """The options for the panes."""
        time = self._inspecting.time
        return Look(
            palette=palette,
            window_s=time.length_s,
            start_s=time.start_s,
            inspected=self._inspecting.seen_tick,
            log_latency=self.log_latency,
            large=large,
        )

    def action_pause_display(self) -> None:
        """Pause or resume the display."""
        self.paused = moment(self._screen.timeline) if self.paused is None else None
        self._screen.show_message()
        self._draw()

    def action_logarithmic(self) -> None:
        """Logarithmic latency, and back."""
        self.log_latency = not self.log_latency
        self._screen.show_message(f"latency: {'logarithmic' if self.log_latency else 'linear'}")
        self._draw()
