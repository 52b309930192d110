"""The driver as the pump knows it: who steps the load, and since which generation.

`LoadTarget` knows the driver at once, in any thread. This one follows when the pump gets to that change of driver; until then
`is_current` is False, and moves and reports of the former driver are refused.
"""

from __future__ import annotations

from typing import Literal

from ...model.events import By, Command
from ...model.param import Param
from .driver import Driver, Plan, Shape
from .load_target import LoadTarget

EndedBy = Literal["finished", "taken_over", "stop_rule", "no_knee", "restart"]
"""Why a plan or a shape ended."""


class CurrentDriver:
    """Every method is called in the pump's thread. None changes the load."""

    def __init__(self, load_target: LoadTarget) -> None:
        self._load_target = load_target
        self.kind: Driver = load_target.driver.kind
        self.generation = load_target.driver.generation

    @property
    def is_current(self) -> bool:
        """Whether the pump knows the current driver, i.e. no other thread has started a new one meanwhile."""
        return self._load_target.is_current(self.generation)

    @property
    def is_planned(self) -> bool:
        """Whether a plan or a shape steps the load."""
        return isinstance(self.kind, Plan | Shape) and self.is_current

    def begin(self, kind: Driver, generation: int) -> None:
        """Follow a change of driver that `LoadTarget` has made."""
        self.kind, self.generation = kind, generation

    def end_command(self, why: EndedBy, who: By, t_s: float) -> Command | None:
        """The command that records the end of a plan or a shape, at `t_s` of the session; None: another driver."""
        if not isinstance(self.kind, Plan | Shape):
            return None
        what = "shape" if isinstance(self.kind, Shape) else "plan"
        args: dict[str, Param | None] = {"on": False, "what": what, "why": why, "users": self._load_target.wanted}
        if self._load_target.offered_per_s is not None:
            args["offered_per_s"] = self._load_target.offered_per_s
        return Command(t_s=t_s, name="plan", by=who, args=args)
