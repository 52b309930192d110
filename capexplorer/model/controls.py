"""The controls of a live run, passed in so that screens, plans and the autopilot need not import the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from .param import Param

SPAWN_RATE_LEAST = 0.001
SPAWN_RATE_MOST = 100_000.0
"""Users per second: the bounds in profiles, options and keys."""


class Controls(Protocol):
    """What a person, a plan or the autopilot may do to a live run. Calls return at once and are recorded as `Command` events."""

    @property
    def wanted(self) -> int:
        """Requested users as of the last call, so that steps typed quickly add up."""

    @property
    def offered_per_s(self) -> float | None:
        """Requested rate in iterations a second as of the last call; None: users are set. With a rate, `wanted` is 0."""

    @property
    def max_users(self) -> int:
        """The limit guards.max_users, which no call exceeds."""

    @property
    def spawn_rate(self) -> float | None:
        """Users started per second; None: a step takes one second, with at most 100 users started."""

    @property
    def workers(self) -> int:
        """Number of worker processes that generate load now; 0: users run in this process."""

    def change_workers(self, *, add: bool) -> str:
        """Start one more worker, or end one. A level opens once it generates load, or has ended. Returns why it is not
        possible, as a sentence; empty if it will be done.
        """

    def watch_part(self, part: str) -> str:
        """Watch one more part, `NAME=TRANSPORT[:SELECTOR]`, from now on. Returns why it is not possible, as a sentence; empty
        if it will be done.
        """

    @property
    def target_params(self) -> Mapping[str, Param]:
        """The target's current parameters; empty if capexplorer did not start the target."""

    @property
    def can_restart(self) -> bool:
        """Whether capexplorer started the target."""

    @property
    def autopilot(self) -> bool:
        """Whether the autopilot steps the users. Any call that steps them ends it at once."""

    def set_autopilot(self, on: bool, *, finds_rate: bool = False) -> None:
        """Start the autopilot from the current state, or end it, which leaves the load as it is. `finds_rate`: search for the
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
        """Set the step size, which the screen uses: it is recorded only."""

    def set_spawn_rate(self, rate: float | None) -> None:
        """Set the users started per second from the next step on (clamped to SPAWN_RATE_LEAST..SPAWN_RATE_MOST); None:
        automatic.
        """

    def new_level(self) -> None:
        """Open a new level with the same users, or the same rate."""

    def zero(self) -> None:
        """Stop all users at once."""

    def note(self, text: str) -> None:
        """Record a note at this moment."""

    def restart_target(self, params: Mapping[str, str]) -> None:
        """Restart the target with these parameters, as texts; others stay unchanged. Opens an epoch. Raises InputError for an
        invalid parameter.
        """

    def quit(self) -> None:
        """Record that the user wants to end the run. `EventSource.close` ends it."""
