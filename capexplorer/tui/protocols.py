"""Messages, the status area's input, and the base of actions: what the app, its screens and their actions have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol, TypeVar

import msgspec
from textual.message import Message
from textual.screen import ModalScreen
from textual.widget import Widget

from ..errors import SessionError
from ..model.events import Command
from ..model.load import Load, Users
from ..model.timeline import Timeline
from .display_options import Palette
from .keybar import Performs
from .keys import ScreenName

# -- messages ------------------------------------------------------------------------------------------------------------------
# Messages between the app, its screens and their panes.


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


# -- status view ---------------------------------------------------------------------------------------------------------------
# The status area's input besides the timeline: a value made by actions and screen, drawn by the status area.


JOURNAL_BACK = 200
"""Number of latest journal entries that are searched for the autopilot's last step; it steps about once a minute."""


class View(msgspec.Struct, frozen=True):
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


# -- protocols -----------------------------------------------------------------------------------------------------------------
# The protocols between the explorer screen and its actions, which do what keys do that are not of every explorer screen.
#
# Actions know the screen only as `ScreenAccess`, and no panes.


Answer = TypeVar("Answer")


class ScreenAccess(Protocol):
    """The part of the explorer screen that its parts use."""

    @property
    def timeline(self) -> Timeline:
        """The feed's current timeline, also while the display is paused."""

    @property
    def shown(self) -> Timeline:
        """The timeline that the panes show."""

    @property
    def along_load(self) -> bool:
        """Whether the pane in focus has loads on its x axis."""

    def show_message(self, message: str = "", *, alarm: bool = False) -> None:
        """Show a message in response to the last key, for a few seconds or until the next key. `alarm`: a refusal."""

    def forget_message(self) -> None:
        """Remove the message with the next drawing of the status area."""

    def ask(self, question: ModalScreen[Answer], answered: Callable[[Answer | None], None]) -> None:
        """Open a dialog over the screen."""

    def leave(self) -> None:
        """Quit, as the key q does."""

    def leave_run(self) -> None:
        """Close the screen of a run that goes on."""

    def act(self, name: str) -> None:
        """Perform what has this name in the table of keys."""

    def show_moment(self) -> None:
        """Show the time that a key moved to; left out while the same key waits again, which moves further."""

    def open_level(self) -> None:
        """Open the screen of the level at the cursor."""

    def draw(self) -> None:
        """Draw everything."""

    def draw_at_cursor(self) -> None:
        """Draw what depends on the inspection cursor and on the time shown."""


class Actions:
    """One way to use the screen: steer, move through a recording, or watch. The base quits without a question, ends nothing, and
    has no widgets below the panes.
    """

    keys: ScreenName = "live"
    """The screen name whose rows of the table of keys are bound."""
    _screen: ScreenAccess

    @property
    def performs(self) -> Performs:
        """What the keys do that are not of every explorer screen."""
        raise NotImplementedError

    @property
    def view(self) -> View:
        """The state of users and driver for the status area; by default by the session's own events."""
        return watched(self._screen.timeline)

    @property
    def key_words(self) -> Mapping[str, str]:
        """Words that fill names such as `{play}` in the key bar."""
        return {}

    def attach(self, screen: ScreenAccess) -> None:
        """Set the screen to act on. Called once, first."""
        self._screen = screen

    def widgets(self) -> Sequence[Widget]:
        """The widgets below the panes."""
        return ()

    def draw(self, palette: Palette) -> None:
        """Draw those widgets in their present state."""

    @property
    def quit_question(self) -> str | None:
        """A sentence on what quitting would end, to be confirmed; None if it ends nothing."""
        return None

    def quit(self) -> None:
        """Note that the user quits."""
