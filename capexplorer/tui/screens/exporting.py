"""The keys that export a session: a report to a file, a summary to the clipboard.

Formats are pure Python, and are imported when they are first needed: a long call into C code would hold the GIL and stop the
load.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from ...wording.quantities import size
from ..actions.protocols import ScreenAccess
from ..clipboard import in_tmux, sequences
from ..dialogs.export_form import ExportForm


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
