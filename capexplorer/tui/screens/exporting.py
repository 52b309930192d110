"""The keys that carry a session out of the screen: a report to a file, a summary to the clipboard.

Formats are pure Python and are imported at the first press: a long C call would keep the GIL, and so stop the load.
"""

from __future__ import annotations

import os

from ..clipboard import in_tmux, sequences
from ..render.text import size
from .export_form import ExportForm
from .steering import Steering


class Exporting(Steering):
    """What is known so far goes out, whether the load runs on or not."""

    def action_export(self) -> None:
        """Ask for a format and a file."""
        if self.timeline.header is None:
            return self.say("nothing recorded yet")
        self.app.push_screen(ExportForm(self.timeline), lambda said: self.say(said) if said else None)

    def action_copy(self) -> None:
        """A Markdown summary to the terminal's clipboard."""
        from ...report import markdown

        if self.timeline.header is None:
            return self.say("nothing recorded yet")
        content = markdown.render(self.timeline)
        if self.app._driver is not None:  # as App.copy_to_clipboard does, which knows no tmux
            self.app._driver.write(sequences(content.decode(), os.environ))
        where = "tmux: set-clipboard on" if in_tmux(os.environ) else "Markdown, by OSC 52"
        self.say(f"copied {size(len(content))} ({where})")
