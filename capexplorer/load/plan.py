"""Plans: `10:30s,50:30s` as steps. Pure: durations count from the end of spawning and are never stretched."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import InputError

_STEP = re.compile(r"^(?P<users>\d+):(?P<number>\d+(?:\.\d+)?)(?P<unit>ms|s|m|h)?$", re.ASCII)
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}


@dataclass(frozen=True, slots=True)
class Step:
    """So many users for so long after they are all there."""

    users: int
    hold_s: float


def parse(text: str, where: str, max_users: int) -> tuple[Step, ...]:
    """`USERS:DURATION[,...]`, durations in ms, s (the default), m, h. `where` names the option or key in messages."""
    steps = []
    for part in text.split(","):
        found = _STEP.match(part.strip())
        if found is None:
            raise InputError(f"{where}: expected USERS:DURATION like 10:30s, got {part.strip()!r}")
        step = Step(int(found["users"]), float(found["number"]) * _UNIT_S[found["unit"]])
        if step.hold_s <= 0:
            raise InputError(f"{where}: expected a duration above 0, got {part.strip()!r}")
        if step.users > max_users:
            raise InputError(f"{where}: {step.users} users are over guards.max_users ({max_users})")
        steps.append(step)
    return tuple(steps)


class PlanCursor:
    """Where a plan stands. `due` says what to do at a moment; the caller does it and tells when spawning ended."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self.steps = steps
        self.index = -1
        self._ends_s: float | None = None
        """When the step's hold is over; None while its users are spawning."""

    @property
    def finished(self) -> bool:
        """All steps held."""
        return self.index >= len(self.steps)

    def spawned(self, at_s: float) -> None:
        """All users of the current step are there since `at_s`."""
        if 0 <= self.index < len(self.steps) and self._ends_s is None:
            self._ends_s = at_s + self.steps[self.index].hold_s

    def due(self, now_s: float) -> Step | None:
        """The next step when it is time for it; None otherwise (also when the last one is over: see `finished`)."""
        if self.finished or (self.index >= 0 and (self._ends_s is None or now_s < self._ends_s)):
            return None
        self.index += 1
        self._ends_s = None
        return None if self.finished else self.steps[self.index]

    @property
    def next_s(self) -> float | None:
        """When `due` will next have something; None while spawning or after the end."""
        return None if self.finished else self._ends_s

    @property
    def hold_s(self) -> float:
        """Length of all holds together."""
        return sum(step.hold_s for step in self.steps)
