"""The base of all events, and events of an unknown type."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

By = Literal["user", "plan", "autopilot", "guard", "shift"]
"""Who gave a command. A Locust load shape counts as a plan."""


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Base of all events."""

    t_s: Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)]
    """When it happened, in seconds of the session. Bounded to 30 years, so that it can be added to a wall time."""


class Unknown(Event, frozen=True, kw_only=True, tag="unknown"):
    """An event of a type that this version does not know, kept as it was read."""

    original_type: str
    fields: dict[str, Any] = {}
