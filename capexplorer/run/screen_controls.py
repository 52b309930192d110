"""The controls of a run for one of its screens. A call takes effect only while that screen holds the controls."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import InputError
from ..model.controls import Controls
from ..model.param import Param
from .screens import Screen, Screens


class ScreenControls:
    """Implements `Controls` and `ControlsLock` for one screen. A call never overlaps a hand-over to another
    screen.
    """

    def __init__(self, controls: Controls, screens: Screens, screen: Screen) -> None:
        self._controls, self._screens, self.screen = controls, screens, screen

    # -- ControlsLock

    @property
    def holds(self) -> bool:
        """Whether this screen holds the controls."""
        return self._screens.holds(self.screen)

    @property
    def holder(self) -> str | None:
        """Name of the screen that holds the controls; None: no screen does."""
        return self._screens.holder

    @property
    def asked_by(self) -> str | None:
        """Name of the screen that asks for them."""
        return self._screens.asked_by

    @property
    def screens(self) -> int:
        """Number of screens of the run."""
        return self._screens.count

    @property
    def connected(self) -> bool:
        """Always True, since this screen is in the run's own process."""
        return True

    def ask(self) -> None:
        """Ask for the controls."""
        self._screens.ask(self.screen)

    def give(self) -> None:
        """Hand the controls to the screen that asks for them."""
        self._screens.give(self.screen)

    # -- what every screen may know

    @property
    def wanted(self) -> int:
        """Users wanted now."""
        return self._controls.wanted

    @property
    def offered_per_s(self) -> float | None:
        """Iterations offered each second; None: users are set."""
        return self._controls.offered_per_s

    @property
    def max_users(self) -> int:
        """The most users that the profile's guard allows."""
        return self._controls.max_users

    @property
    def spawn_rate(self) -> float | None:
        """Users a second; None: automatic."""
        return self._controls.spawn_rate

    @property
    def target_params(self) -> Mapping[str, Param]:
        """Parameters of the target."""
        return self._controls.target_params

    @property
    def can_restart(self) -> bool:
        """Whether capexplorer started the target."""
        return self._controls.can_restart

    @property
    def autopilot(self) -> bool:
        """Whether the autopilot steps."""
        return self._controls.autopilot

    @property
    def plans(self) -> Mapping[str, str]:
        """Plans of the profile by name."""
        return self._controls.plans

    def plan_wrong(self, plan: str) -> str | None:
        """Why a plan is invalid, as a sentence; None if it is valid."""
        return self._controls.plan_wrong(plan)

    @property
    def workers(self) -> int:
        """Worker processes that make load now; 0: users run in this process."""
        return self._controls.workers

    # -- what the holder may do

    def set_users(self, users: int) -> int:
        """Step to `users`. Returns the count that is wanted now."""
        with self._screens.turn(self.screen) as holds:
            return self._controls.set_users(users) if holds else self._controls.wanted

    def set_rate(self, per_s: float) -> float:
        """Offer iterations at this rate a second. Returns the rate that is wanted now; 0 if users are set."""
        with self._screens.turn(self.screen) as holds:
            return self._controls.set_rate(per_s) if holds else self._controls.offered_per_s or 0.0

    def set_step(self, step: int) -> None:
        """Record the step size."""
        with self._screens.turn(self.screen) as holds:
            if holds:
                self._controls.set_step(step)

    def set_spawn_rate(self, rate: float | None) -> None:
        """Users a second from the next step on."""
        with self._screens.turn(self.screen) as holds:
            if holds:
                self._controls.set_spawn_rate(rate)

    def change_workers(self, *, add: bool) -> str:
        """Start one more worker, or end one. Returns why that is refused; empty: it is done soon."""
        with self._screens.turn(self.screen) as holds:
            return self._controls.change_workers(add=add) if holds else "another screen has the controls"

    def watch_part(self, part: str) -> str:
        """Watch one more part, `NAME=TRANSPORT[:SELECTOR]`. Returns why that is refused; empty: it is read soon."""
        with self._screens.turn(self.screen) as holds:
            return self._controls.watch_part(part) if holds else "another screen has the controls"

    def set_autopilot(self, on: bool, *, finds_rate: bool = False) -> None:
        """Start or end the autopilot."""
        with self._screens.turn(self.screen) as holds:
            if holds:
                self._controls.set_autopilot(on, finds_rate=finds_rate)

    def verify_knee(self) -> None:
        """Let the autopilot verify the knee."""
        with self._screens.turn(self.screen) as holds:
            if holds:
                self._controls.verify_knee()

    def start_plan(self, plan: str) -> None:
        """Start a plan. Raises InputError."""
        with self._screens.turn(self.screen) as holds:
            if holds:
                self._controls.start_plan(plan)

    def new_level(self) -> None:
        """Begin a new level at the same load."""
        with self._screens.turn(self.screen) as holds:
            if holds:
                self._controls.new_level()

    def zero(self) -> None:
        """Stop all users."""
        with self._screens.turn(self.screen) as holds:
            if holds:
                self._controls.zero()

    def restart_target(self, params: Mapping[str, str]) -> None:
        """Restart the target. Raises InputError, also if another screen has the controls."""
        with self._screens.turn(self.screen) as holds:
            if not holds:
                raise InputError("another screen has the controls")
            self._controls.restart_target(params)

    # -- what every screen that may steer may do

    def note(self, text: str) -> None:
        """Record a note at this moment."""
        if self.screen.may_steer:
            self._controls.note(text)

    def quit(self) -> None:
        """Record that a person ends the run."""
        self._controls.quit()
