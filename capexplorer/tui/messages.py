"""Messages between the app, its screens and their panes."""

from __future__ import annotations

from textual.message import Message

from ..errors import SessionError


class EventsArrived(Message, bubble=False):
    """The feed has new events."""


class RunLeft(Message, bubble=False):
    """The user leaves a run that goes on."""


class FeedFailed(Message, bubble=False):
    """The feed's session cannot be read any more."""

    def __init__(self, error: SessionError) -> None:
        super().__init__()
        self.error = error


class ChartClicked(Message):
    """A chart was clicked at this x: a session time in seconds or, if `by_load`, users or a rate."""

    def __init__(self, x: float, *, by_load: bool) -> None:
        super().__init__()
        self.x, self.by_load = x, by_load
