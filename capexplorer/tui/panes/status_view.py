"""The status area's input besides the timeline: a value made by actions and screen, drawn by the status area."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...model.events import Command
from ...model.load import Load, Users
from ...model.timeline import Timeline

JOURNAL_BACK = 200
"""Number of latest journal entries that are searched for the autopilot's last step; it steps about once a minute."""


@dataclass(frozen=True, slots=True)
class View:
    """The screen's own state, in addition to the timeline."""

    load: Load
    """Requested after the last key."""
    max_users: int | None = None
    """The most users that may be set; None: this screen cannot set the load."""
    step: int = 1
    unit: Literal["users", "rate"] = "users"
    """Unit of the step."""
    spawn_rate: float | None = None
    paused: bool = False
    message: str = ""
    """The message in response to the last key, until the next one."""
    alarm: bool = False
    """Whether `message` is a refusal."""
    can_restart: bool = False
    autopilot: bool = False
    """Whether the autopilot sets the users."""
    exported: bool = False
    """Whether a report with all levels so far was written."""
    brief: bool = False
    """Whether the verdict is left out, because the inspected second needs its lines."""
    verdict_lines: int = 2
    """The most lines of the verdict."""
    baseline: str = ""
    """The baseline, and how the level differs from it; empty: there is none."""
    controls: str = ""
    """Who has the controls; empty while this is the only screen."""
    has_controls: bool = True
    """Whether keys of this screen set the load: another screen may have the controls."""
    controls_asked: bool = False
    """Whether another screen asks for the controls of this one."""

    @property
    def can_steer(self) -> bool:
        """Whether this screen can set the load."""
        return self.max_users is not None


def watched(timeline: Timeline) -> View:
    """The view of a session that this screen does not steer, from the session's own events."""
    return View(
        load=timeline.load,
        step=timeline.step_size,
        unit="users" if isinstance(timeline.load, Users) else "rate",
        autopilot=_autopilot_steps(timeline),
    )


def _autopilot_steps(timeline: Timeline) -> bool:
    """Whether the autopilot was on at this time, from the session's events."""
    last = last_of_autopilot(timeline)
    return timeline.ended is None and last is not None and (last.name in ("users", "rate") or bool(last.args.get("on")))


def last_of_autopilot(timeline: Timeline) -> Command | None:
    """The autopilot's last step, or the command that switched it; None if that is long ago."""
    for entry in reversed(timeline.journal[-JOURNAL_BACK:]):
        if isinstance(entry, Command) and (entry.name == "autopilot" or entry.by == "autopilot"):
            return entry
    return None
