"""The protocols between rooms. Implementations are passed in, so that no room imports another one for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from .events import Event

Param = str | int | float | bool

SPAWN_RATE_LEAST = 0.001
SPAWN_RATE_MOST = 100_000.0
"""Users per second: the bounds in profiles, options and keys."""


class Clock(Protocol):
    """Monotonic seconds."""

    def __call__(self) -> float:
        """Now."""


class EventSource(Protocol):
    """Where events come from: a live run, or a log. The consumer sets the pace: it takes events, none are pushed to it."""

    def start(self, wake: Callable[[], None]) -> None:
        """Begin. `wake` is called from any thread, often, whenever `take` has something new; it must not block."""

    def take(self) -> Sequence[Event]:
        """All events since the last call, in order; empty when there are none. Never blocks."""

    def close(self) -> None:
        """End the run or close the log. Returns when everything is saved; may be called twice."""


class Controls(Protocol):
    """What a person or a plan may do to a live run. Each call returns at once and is recorded as a `Command` event."""

    @property
    def wanted(self) -> int:
        """Requested users as of the last call, so that steps typed quickly add up."""

    @property
    def offered_per_s(self) -> float | None:
        """Iterations offered each second as of the last call; None: users are set. While it is set, `wanted` is 0."""

    @property
    def max_users(self) -> int:
        """The limit guards.max_users, which no call exceeds."""

    @property
    def spawn_rate(self) -> float | None:
        """Users a second; None: the difference in one second, at most 100 a second."""

    @property
    def workers(self) -> int:
        """Worker processes that make load now; 0: users run in this process."""

    def change_workers(self, *, add: bool) -> str:
        """Start one more worker, or end one in order; a level opens when it makes load, or none. Returns why not; empty: soon."""

    def watch_part(self, part: str) -> str:
        """Watch one more part, `NAME=TRANSPORT[:SELECTOR]`, from now on. Returns why not; empty: it is read soon."""

    @property
    def target_params(self) -> Mapping[str, Param]:
        """The target's current parameters; empty if capexplorer did not start the target."""

    @property
    def can_restart(self) -> bool:
        """Whether capexplorer started the target."""

    @property
    def autopilot(self) -> bool:
        """Whether the autopilot steps the users. Any call that steps them ends it at once."""

    def set_autopilot(self, on: bool, *, at_rate: bool = False) -> None:
        """Start the autopilot from the current state, or end it; the load then stays as it is. `at_rate`: it looks for the
        capacity as an offered rate, not for the knee in users.
        """

    def verify_knee(self) -> None:
        """Let the autopilot verify the current knee and end; users then stay at the first level."""

    @property
    def plans(self) -> Mapping[str, str]:
        """Plans of the profile by name."""

    def plan_wrong(self, plan: str) -> str | None:
        """Why a plan (a name, or the plan's text) is invalid, as a sentence; None if it is valid."""

    def start_plan(self, plan: str) -> None:
        """Start a plan that `plan_wrong` accepts; it replaces the current driver. Any change of users by hand ends it."""

    def set_users(self, users: int) -> int:
        """Step to `users` (clamped to 0..max_users); opens a level. Returns the requested count."""

    def set_rate(self, per_s: float) -> float:
        """Offer iterations at this rate (clamped to RATE_LEAST_PER_S..RATE_MOST_PER_S, or 0); opens a rate level, whose pool has
        at most `max_users`. Returns the requested rate.
        """

    def set_step(self, step: int) -> None:
        """Record a new step size."""

    def set_spawn_rate(self, rate: float | None) -> None:
        """Users a second from the next step on (clamped to SPAWN_RATE_LEAST..SPAWN_RATE_MOST); None: automatic."""

    def new_level(self) -> None:
        """A new level at the same count, or the same rate."""

    def zero(self) -> None:
        """To zero users, at once."""

    def note(self, text: str) -> None:
        """A note at this moment."""

    def restart_target(self, params: Mapping[str, str]) -> None:
        """Restart with these parameters (texts, as typed; others stay unchanged); opens an epoch. Raises InputError for a bad
        one.
        """

    def quit(self) -> None:
        """Record that the user wants to end the run. `EventSource.close` ends it."""


class Holding(Protocol):
    """Who of a run's screens holds its controls, as one of these screens knows it. At most one does at any moment."""

    @property
    def holds(self) -> bool:
        """Whether this screen does. Calls of a screen that does not are without effect."""

    @property
    def holder(self) -> str | None:
        """The name of the screen that does, e.g. `pts/3`; None: no screen does."""

    @property
    def asked_by(self) -> str | None:
        """The name of the screen that asks for them, which gets them unless the holder goes on steering."""

    @property
    def screens(self) -> int:
        """How many screens the run has, those that only watch included."""

    @property
    def connected(self) -> bool:
        """Whether the run can be reached from this screen."""

    def ask(self) -> None:
        """Ask for the controls; without a holder they are this screen's at once."""

    def give(self) -> None:
        """Hand the controls to the screen that asks for them."""


class OnlyScreen:
    """Holding of the only screen that a run can have."""

    holds = connected = True
    holder = asked_by = None
    screens = 1

    def ask(self) -> None:
        """It holds them."""

    def give(self) -> None:
        """Nobody asks."""


class SessionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A saved session, as a list shows it. Where `problem` is set, all but `id`, `path` and `size_bytes` may be unknown."""

    id: str
    path: Path
    size_bytes: int
    started_at: str | None = None
    """Wall time, ISO 8601 with offset."""
    profile: str | None = None
    target: str | None = None
    label: str | None = None
    duration_s: float | None = None
    levels: int | None = None
    complete: bool = False
    """Ended in order: its last event is `ended`."""
    problem: str | None = None
    """Why it cannot be opened, in one line."""
