"""Messages between the app and its screens."""

from __future__ import annotations

from textual.message import Message

from ..errors import SessionError


class Arrived(Message, bubble=False):
    """The feed has new events."""


class FeedFailed(Message, bubble=False):
    """The feed's session cannot be read any more."""

    def __init__(self, error: SessionError) -> None:
        super().__init__()
        self.error = error
