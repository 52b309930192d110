"""Steps of the load in one of two units: users, or iterations a second. Each becomes one call of the controls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...model.controls import Controls
from ...wording import quantities
from ...wording.numbers import counted, iterations
from ..dialogs.ask import Ask
from ..load_keys import STEPS
from .answers import offered_rate_error, users_error

Unit = Literal["users", "rate"]

UNASKED = {"users": 50, "rate": 50}
"""Load up to which a step needs no confirmation; nor does one up to twice the highest load so far."""


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """The message that the screen shows after a step; empty: none. `alarm`: the step was refused."""

    words: str = ""
    alarm: bool = False


class LoadSteps:
    """The step's size and its unit."""

    def __init__(self, controls: Controls) -> None:
        self.controls = controls
        self.size = STEPS[0]
        self._chosen: tuple[Unit, Unit] | None = None
        """The unit that was chosen, and the unit of the load at that time."""
        self._last: Unit = "users"
        """The unit of the latest load."""

    @property
    def unit(self) -> Unit:
        """The unit chosen by key, until a plan, the autopilot or another screen changes that of the load. Otherwise the unit of
        the load, or of the last load if there is none now."""
        if self.controls.offered_per_s is not None:
            self._last = "rate"
        elif self.controls.wanted:
            self._last = "users"
        chosen, unit_of_load = self._chosen or (self._last, self._last)
        return chosen if unit_of_load == self._last else self._last

    def switch(self) -> StepAnswer:
        """Change to the other unit from the next step on. The load itself stays."""
        now: Unit = "rate" if self.unit == "users" else "users"
        self._chosen = now, self._last
        if now == "users":
            return StepAnswer(f"steps are users: + goes to {self._wanted + self.size:,} users")
        return StepAnswer(f"steps are an offered rate: + offers {iterations(self._wanted + self.size)}")

    def follow(self) -> None:
        """Forget the chosen unit, because a plan or the autopilot starts: from now on the unit is that of the load."""
        self._chosen = None

    def resize(self, direction: int) -> StepAnswer:
        """Make the step smaller (-1) or larger (1)."""
        sizes = [size for size in STEPS if (size > self.size if direction > 0 else size < self.size)]
        if sizes:
            self.size = sizes[0] if direction > 0 else sizes[-1]
            self.controls.set_step(self.size)
        unit = "" if self.unit == "users" else "/s"
        return StepAnswer(f"step {self.size}{unit}" + ("" if sizes else f" (the {'largest' if direction > 0 else 'smallest'})"))

    def step(self, direction: int) -> StepAnswer:
        """One step up (1) or down (-1) from the requested load, so that steps typed quickly add up."""
        return self.go_to(max(0.0, self._wanted + direction * self.size))

    @property
    def _wanted(self) -> float:
        return self.controls.wanted if self.unit == "users" else self.controls.offered_per_s or 0.0

    def go_to(self, load: float) -> StepAnswer:
        """Set this many users, or this rate."""
        return self._users(int(load)) if self.unit == "users" else self._rate(load)

    def question(self) -> Ask:
        """The dialog's question for a load."""
        most = self.controls.max_users
        if self.unit == "users":
            return Ask("Go to how many users?", f"a whole number, 0 to {most:,}", lambda answer: users_error(answer, most))
        return Ask(
            "Offer which rate?", "iterations a second, on a schedule that waits for no reply; 0 ends it", offered_rate_error
        )

    def in_words(self, load: float) -> str:
        """`50 users`, `200 iterations a second`."""
        return counted(load) if self.unit == "users" else iterations(load)

    def _users(self, users: int) -> StepAnswer:
        controls, before = self.controls, self.controls.wanted
        if controls.autopilot and min(users, controls.max_users) == before:
            controls.set_autopilot(False)  # a step that changes nothing ends the driver as well
        if users == before and controls.offered_per_s is None:
            return StepAnswer("there are no users" if users == 0 else f"already at {users:,} users")
        full = before >= controls.max_users and users > before
        if full or controls.set_users(users) < users:
            return StepAnswer(f"the limit is {controls.max_users:,} users (guards.max_users)", alarm=True)
        return StepAnswer()

    def _rate(self, per_s: float) -> StepAnswer:
        controls, before = self.controls, self.controls.offered_per_s
        if controls.autopilot and per_s == before:
            controls.set_autopilot(False)
        if per_s == (before or 0.0):
            return StepAnswer("no rate is offered" if per_s == 0 else f"{quantities.offered_rate(per_s)} is offered already")
        if per_s == 0:
            controls.zero()
        else:
            refused = controls.set_rate(per_s) == (before or 0.0)
            return StepAnswer("no rate is offered: the log (o) says why" if refused else "", alarm=refused)
        return StepAnswer()
