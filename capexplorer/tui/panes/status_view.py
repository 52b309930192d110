"""What the status area is told beside the timeline. A value: actions and screen make it, the status draws it."""

from __future__ import annotations

from dataclasses import dataclass

from ...model.events import Command
from ...model.timeline import Timeline

JOURNAL_BACK = 200
"""Entries in which the autopilot's last word is looked for; it steps at least once in a minute or two."""


@dataclass(frozen=True, slots=True)
class View:
    """What the screen itself knows, beside the timeline."""

    wanted: int
    """Users wanted as of the last key."""
    max_users: int | None = None
    step: int = 1
    spawn_rate: float | None = None
    held: bool = False
    said: str = ""
    """An answer to the last key, until the next one."""
    alarm: bool = False
    """`said` is a refusal."""
    can_restart: bool = False
    autopilot: bool = False
    """The autopilot steps."""


def watched(timeline: Timeline) -> View:
    """Of a session that nobody steers from this screen: as the session itself tells."""
    return View(wanted=timeline.wanted, step=timeline.step, autopilot=_autopilot_steps(timeline))


def _autopilot_steps(timeline: Timeline) -> bool:
    """Whether the autopilot stepped at this moment, as the session tells."""
    last = last_of_autopilot(timeline)
    return timeline.ended is None and last is not None and (last.name == "users" or bool(last.args.get("on")))


def last_of_autopilot(timeline: Timeline) -> Command | None:
    """Its last step, or who switched it last; None where that is long ago."""
    for entry in reversed(timeline.journal[-JOURNAL_BACK:]):
        if isinstance(entry, Command) and (entry.name == "autopilot" or entry.by == "autopilot"):
            return entry
    return None
