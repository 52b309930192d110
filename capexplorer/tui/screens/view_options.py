"""The keys for the panes' view options and for pausing the display."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from ...model.timeline import Timeline
from ...wording.quantities import size
from ..actions.protocols import ScreenAccess
from ..clipboard import in_tmux, sequences
from ..dialogs.forms import ExportForm
from ..display_options import DisplayOptions, LatencyForm, Palette
from ..frozen_timeline import frozen_copy
from .baseline_choice import BaselineChoice
from .inspecting import Inspecting

FORMS: Mapping[LatencyForm, str] = {"lines": "percentiles over time", "heatmap": "heatmap", "levels": "percentiles by level"}


class ViewOptions:
    """The options, and the actions that change them. `draw` is called after each change, and draws all panes and the status."""

    def __init__(self, screen: ScreenAccess, inspecting: Inspecting, baseline: BaselineChoice, draw: Callable[[], None]) -> None:
        self.log_latency = False
        self.latency_form: LatencyForm = "lines"
        self.paused: Timeline | None = None
        """The timeline that the panes show while the display is paused; None: not paused."""
        self._screen, self._inspecting, self._baseline, self._draw = screen, inspecting, baseline, draw

    def display_options(self, palette: Palette, *, large: bool) -> DisplayOptions:
        """The options for the panes."""
        time = self._inspecting.time
        return DisplayOptions(
            palette=palette,
            window_s=time.length_s,
            start_s=time.start_s,
            inspected=self._inspecting.seen_tick,
            log_latency=self.log_latency,
            latency_form=self.latency_form,
            baseline=self._baseline.shown,
            large=large,
        )

    def action_pause_display(self) -> None:
        """Pause or resume the display."""
        self.paused = frozen_copy(self._screen.timeline) if self.paused is None else None
        self._screen.show_message()
        self._draw()

    def action_latency_form(self) -> None:
        """Draw latency in the next form: as lines, as a heatmap, by level."""
        forms = list(FORMS)
        self.latency_form = forms[(forms.index(self.latency_form) + 1) % len(forms)]
        self._screen.show_message(f"latency: {FORMS[self.latency_form]}")
        self._draw()

    def action_logarithmic(self) -> None:
        """Draw latency on a logarithmic scale, or on a linear one again."""
        self.log_latency = not self.log_latency
        self._screen.show_message(f"latency: {'logarithmic' if self.log_latency else 'linear'}")
        self._draw()


# -- exporting -----------------------------------------------------------------------------------------------------------------
# The keys that export a session: a report to a file, a summary to the clipboard.
#
# Formats are pure Python, and are imported when they are first needed: a long call into C code would hold the GIL and stop the
# load.


class Exporting:
    """Exports the session so far, while load runs or not. `write` writes to the terminal."""

    def __init__(self, screen: ScreenAccess, write: Callable[[str], None]) -> None:
        self._screen, self._write = screen, write
        self._exported_levels = -1

    @property
    def is_exported(self) -> bool:
        """Whether a report with all levels so far was written."""
        return self._exported_levels == len(self._screen.timeline.levels)

    def action_export(self) -> None:
        """Ask for a format and a file."""
        screen = self._screen
        if screen.timeline.header is None:
            return screen.show_message("nothing has been recorded yet")
        screen.ask(ExportForm(screen.timeline), lambda written: self._exported(written) if written else None)

    def _exported(self, written: str) -> None:
        self._exported_levels = len(self._screen.timeline.levels)
        self._screen.show_message(written)

    def action_copy(self) -> None:
        """Copy a Markdown summary to the terminal's clipboard."""
        from ...report import markdown

        if self._screen.timeline.header is None:
            return self._screen.show_message("nothing has been recorded yet")
        content = markdown.render(self._screen.timeline)
        self._write(sequences(content.decode(), os.environ))
        where = "tmux needs set-clipboard on" if in_tmux(os.environ) else "Markdown, by OSC 52"
        self._screen.show_message(f"copied {size(len(content))} ({where})")
