"""Commands, from a person, a plan or the autopilot, and notes."""

from __future__ import annotations

from typing import Literal

from .event import By, Event


class Note(Event, frozen=True, kw_only=True, tag="note"):
    """A note of the user."""

    text: str


class Command(Event, frozen=True, kw_only=True, tag="command"):
    """A command to a live run."""

    name: Literal[
        "users",
        "rate",
        "step",
        "spawn_rate",
        "new_level",
        "zero",
        "note",
        "restart",
        "quit",
        "autopilot",
        "plan",
        "runner",
        "controls",
        "workers",
        "watch",
    ]
    by: By = "user"
    args: dict[str, str | int | float | bool | None] = {}
