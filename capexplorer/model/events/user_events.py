"""What people ask and write; plans and the autopilot ask with the same commands."""

from __future__ import annotations

from typing import Literal

from .event import By, Event


class Note(Event, frozen=True, kw_only=True, tag="note"):
    """What the user wrote."""

    text: str


class Command(Event, frozen=True, kw_only=True, tag="command"):
    """What was asked, and by whom."""

    name: Literal["users", "step", "spawn_rate", "new_level", "zero", "note", "restart", "quit", "autopilot", "plan", "runner"]
    by: By = "user"
    args: dict[str, str | int | float | bool | None] = {}
