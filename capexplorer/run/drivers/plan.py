"""A plan at the wheel: which move is due, with shares of the knee and users before a spike filled in. In the pump's thread.

It decides and holds no load: whoever asked does the move. A person's step ends it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...load.plan import PlanCursor, Step
from ...model.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Go:
    """To so many users: a new level. `over_s`: evenly over so long. `at_once`: as fast as users can be had."""

    users: int
    over_s: float | None = None
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class FindKnee:
    """The autopilot's turn."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The plan cannot go on."""

    why: str


@dataclass(frozen=True, slots=True)
class _Ramp:
    first: int
    last: int
    began_s: float
    over_s: float

    def at(self, now_s: float) -> int:
        share = min(1.0, max(0.0, (now_s - self.began_s) / self.over_s))
        return round(self.first + share * (self.last - self.first))


class Planned:
    """`begin` a plan; ask `due` whenever `next_s` has come, and `ramping` each second."""

    def __init__(self, steps: tuple[Step, ...], timeline: Timeline, max_users: int) -> None:
        self._cursor = PlanCursor(steps)
        self._timeline, self._max_users = timeline, max_users
        self._ramp: _Ramp | None = None
        self._before_spike = 0

    def begin(self, steps: tuple[Step, ...]) -> None:
        """Another plan, from its first step; an empty one is the end of the plan."""
        self._cursor, self._ramp = PlanCursor(steps), None

    def end(self) -> None:
        """Someone else steps from now on."""
        self.begin(())

    @property
    def is_on(self) -> bool:
        """Whether it steps the users, now or at its next turn."""
        return bool(self._cursor.steps) and not self._cursor.finished

    @property
    def has_begun(self) -> bool:
        """Whether its first step was taken."""
        return self._cursor.index >= 0

    @property
    def is_over(self) -> bool:
        """Whether there was a plan, and all of it was done."""
        return bool(self._cursor.steps) and self._cursor.finished

    @property
    def is_finding(self) -> bool:
        """Whether the autopilot looks for the knee on its behalf."""
        return self._cursor.is_finding

    @property
    def next_s(self) -> float | None:
        """When `due` will have something."""
        return self._cursor.next_s

    def spawned(self, at_s: float) -> None:
        """All users asked for are there."""
        if self._ramp is None:
            self._cursor.spawned(at_s)

    def found(self, at_s: float) -> None:
        """The autopilot has ended."""
        self._cursor.found(at_s)

    def due(self, now_s: float, wanted: int) -> Go | FindKnee | Lost | None:
        """What to do now, if anything; `wanted` users are wanted before it."""
        step = self._cursor.due(now_s)
        if step is None:
            return None
        self._ramp = None
        if step.kind == "find":
            return FindKnee()
        users = self._users(step)
        if users is None:
            self.end()
            return Lost(f"the plan asks for {step.share:.0%} of the knee, and no knee has been found")
        if step.kind == "ramp":
            self._ramp = _Ramp(wanted, users, now_s, step.hold_s)
            self._cursor.spawned(now_s)
            return Go(users, over_s=step.hold_s)
        if step.kind == "spike":
            self._before_spike = wanted
        return Go(users, at_once=step.kind in ("spike", "back"))

    def ramping(self, now_s: float) -> int | None:
        """Users wanted now on the way up or down a ramp; None where there is none."""
        return self._ramp.at(now_s) if self._ramp is not None else None

    def _users(self, step: Step) -> int | None:
        if step.kind == "back":
            return self._before_spike
        if step.share is None:
            return step.users
        verdict = self._timeline.verdict
        knee = verdict.capacity.knee if verdict is not None else None
        if knee is None or knee.kind != "knee" or knee.users is None:
            return None
        return max(1, min(self._max_users, round(step.share * knee.users)))
