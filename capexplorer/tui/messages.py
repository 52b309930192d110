"""What the app and its screens tell each other. Nothing else passes between them but the timeline."""

from __future__ import annotations

from textual.message import Message


class Arrived(Message, bubble=False):
    """The source has events to take."""


class Folded(Message, bubble=False):
    """Events were folded into the timeline."""

    def __init__(self, *, ticked: bool) -> None:
        super().__init__()
        self.ticked = ticked
        """A sample was among them: time to redraw the panes. Without one, only status and journal changed."""
