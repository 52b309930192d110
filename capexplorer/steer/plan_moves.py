"""A plan that runs: which step is due, with shares of the knee or the capacity, and the load before a spike, filled in.
Time is passed in.
"""

from __future__ import annotations

from typing import Literal, assert_never

import msgspec

from ..analysis.epoch.regime import SECONDS_LEAST
from ..model.load import NO_LOAD, Load, Rate, Users, clamped_rate
from ..model.proposals import Hold
from ..model.timeline import Timeline
from .plan import Share, Step

AFTER_SUSPENSION_S = 6.0
"""Seconds that a hold, unless it is shorter, still lasts after a suspension, so that a new level settles and is measured."""


class PlanCursor:
    """The state of a running plan. `due` returns the step for a moment; the caller carries it out and reports the end of
    spawning."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self.steps = steps
        self.index = -1
        self._ends_s: float | None = None
        """End of the step's hold; None while its users are spawning, or it is not timed and has not ended."""

    @property
    def finished(self) -> bool:
        """Whether all steps have ended."""
        return self.index >= len(self.steps)

    @property
    def current(self) -> Step | None:
        """The current step."""
        return self.steps[self.index] if 0 <= self.index < len(self.steps) else None

    def spawned(self, at_s: float) -> None:
        """All users of the current step have been running since `at_s`; a ramp begins then."""
        step = self.current
        if step is not None and step.is_timed and self._ends_s is None:
            self._ends_s = at_s + step.hold_s

    def suspended(self, now_s: float, seconds: float) -> None:
        """Extend the current hold by a suspension of the process that ended at `now_s`, and at least by AFTER_SUSPENSION_S."""
        step = self.current
        if step is not None and self._ends_s is not None and step.is_timed:
            self._ends_s = max(self._ends_s + seconds, now_s + min(step.hold_s, AFTER_SUSPENSION_S))

    def ended(self, at_s: float) -> None:
        """The autopilot, or the sampling of stacks, has ended: continue at `at_s`."""
        if self.current is not None and not self.current.is_timed and self._ends_s is None:
            self._ends_s = at_s

    def extend(self, until_s: float) -> None:
        """Extend the current step until `until_s`."""
        self._ends_s = until_s

    def coming(self, now_s: float) -> Step | None:
        """The step that `due` would return; None if it is not due yet."""
        if self.index + 1 >= len(self.steps) or (self.index >= 0 and (self._ends_s is None or now_s < self._ends_s)):
            return None
        return self.steps[self.index + 1]

    def due(self, now_s: float) -> Step | None:
        """The next step if it is due, else None (also after the last one: see `finished`)."""
        if self.finished or (self.index >= 0 and (self._ends_s is None or now_s < self._ends_s)):
            return None
        self.index += 1
        self._ends_s = None
        return None if self.finished else self.steps[self.index]

    @property
    def next_s(self) -> float | None:
        """Time at which `due` will return the next step; None while spawning or after the end."""
        return None if self.finished else self._ends_s


# -- moves

NO_KNEE = "the plan asks {}, but no knee has been found"
NO_CAPACITY = "the plan asks for {:.0%} of the capacity, but no capacity has been found on rate levels"


class Move(msgspec.Struct, frozen=True):
    """Go to `load` in a new level. `over_s`: change evenly over this many seconds. `at_once`: with an unlimited spawn rate."""

    load: Load
    over_s: float | None = None
    at_once: bool = False


class LetAutopilot(msgspec.Struct, frozen=True):
    """Let the autopilot act until it has ended."""

    task: Literal["knee", "verify", "explain"]
    """Look for the knee and verify it; only verify the known one; make experiments there."""


class SampleHere(msgspec.Struct, frozen=True):
    """Sample the target's stacks for so many seconds at the present load."""

    seconds: float


class CannotGoOn(msgspec.Struct, frozen=True):
    """The plan ends before its last step."""

    why: str


class _Ramp(msgspec.Struct, frozen=True):
    before: Load
    last: Load
    began_s: float
    over_s: float

    def at(self, now_s: float) -> Load:
        share = min(1.0, max(0.0, (now_s - self.began_s) / self.over_s))
        match self.last:
            case Users(last):
                return Users(round(self.before.users + share * (last - self.before.users)))
            case Rate(last_per_s):
                first_per_s = self.before.per_s or 0.0
                return Rate(round(first_per_s + share * (last_per_s - first_per_s), 3))


class PlanDriver:
    """One run of a plan. Call `due` at `next_s`, and `ramping` each second."""

    def __init__(self, steps: tuple[Step, ...], timeline: Timeline, max_users: int) -> None:
        self._cursor = PlanCursor(steps)
        self._timeline, self._max_users = timeline, max_users
        self._ramp: _Ramp | None = None
        self._before_spike: Load = NO_LOAD

    @property
    def has_begun(self) -> bool:
        """Whether its first step has been taken."""
        return self._cursor.index >= 0

    @property
    def is_over(self) -> bool:
        """Whether all steps have ended."""
        return self._cursor.finished

    @property
    def next_s(self) -> float | None:
        """Session time in seconds at which `due` will return a step; None while users spawn or the knee is searched for."""
        return self._cursor.next_s

    def proposal(self, now_s: float) -> Hold:
        """To wait for the plan's next step, or for a shape, whose next step is not known."""
        left_s = max(self.next_s - now_s, 0.0) if self.next_s is not None else 0.0
        return Hold("plan", left_s, left_s)

    def spawned(self, at_s: float) -> None:
        """All users of the latest step have been running since `at_s`."""
        if self._ramp is None:
            self._cursor.spawned(at_s)

    def suspended(self, now_s: float, seconds: float) -> None:
        """The process was suspended for `seconds`, until `now_s`: the step lasts longer. A ramp ends as planned."""
        if self._ramp is None:
            self._cursor.suspended(now_s, seconds)

    def ended(self, at_s: float) -> None:
        """The search of the autopilot, or the sampling of stacks, has ended at `at_s`."""
        self._cursor.ended(at_s)

    def due(self, now_s: float, before: Load) -> Move | LetAutopilot | SampleHere | CannotGoOn | None:
        """The step that is due at `now_s`; None if it is not due yet. `before`: the load requested until then."""
        if self._awaits_verdict(now_s):
            self._cursor.extend(now_s + 1.0)
            return None
        step = self._cursor.due(now_s)
        if step is None:
            return None
        self._ramp = None
        match step.kind:
            case "verify" if not self._knee_users:
                return CannotGoOn(NO_KNEE.format("to verify the knee"))
            case "find" | "verify" | "explain":
                return LetAutopilot("knee" if step.kind == "find" else step.kind)
            case "profile":
                return SampleHere(step.hold_s)
            case "back":
                return _at_once(self._before_spike)
            case "spike":
                self._before_spike = before
            case "hold" | "ramp":
                pass
            case _:
                assert_never(step.kind)
        load = self._load(step.load)
        if isinstance(load, CannotGoOn):
            return load
        if step.kind == "ramp":
            self._begin_ramp(_Ramp(before, load, now_s, step.hold_s))
            return Move(load, over_s=step.hold_s)
        return _at_once(load) if step.kind == "spike" else Move(load)

    def _load(self, load: Load | Share) -> Load | CannotGoOn:
        """The load of a hold, a ramp or a spike."""
        match load:
            case Share("knee", share):
                if self._knee_users is None:
                    return CannotGoOn(NO_KNEE.format(f"for {share:.0%} of the knee"))
                return Users(max(1, min(self._max_users, round(share * self._knee_users))))
            case Share(_, share):
                if self._capacity_per_s is None:
                    return CannotGoOn(NO_CAPACITY.format(share))
                return Rate(clamped_rate(share * self._capacity_per_s))
            case Users() | Rate():
                return load

    def _begin_ramp(self, ramp: _Ramp) -> None:
        self._ramp = ramp
        self._cursor.spawned(ramp.began_s)

    def ramping(self, now_s: float) -> Load | None:
        """The load that a ramp requests at `now_s`; None outside a ramp."""
        return self._ramp.at(now_s) if self._ramp is not None else None

    def _awaits_verdict(self, now_s: float) -> bool:
        """Whether the step that is due begins from a knee or a capacity that is not known yet, while the open level, which may
        show it, has too few settled seconds to count."""
        step, level = self._cursor.coming(now_s), self._timeline.level
        if step is None or step.needs is None or level is None or level.fold is None:
            return False
        known = self._knee_users if step.needs == "knee" else self._capacity_per_s
        return known is None and 0.0 < level.fold.settled.seconds < SECONDS_LEAST

    @property
    def _capacity_per_s(self) -> float | None:
        """The capacity of rate levels in the current verdict."""
        found = self._timeline.verdict.rate_capacity if self._timeline.verdict is not None else None
        return None if found is None else found.per_s

    @property
    def _knee_users(self) -> float | None:
        """User count of the knee in the current verdict."""
        verdict = self._timeline.verdict
        knee = verdict.capacity.knee if verdict is not None else None
        return knee.users if knee is not None and knee.kind == "knee" else None


def _at_once(load: Load) -> Move:
    """As fast as possible: users by an unlimited spawn rate. A rate waits for the users that it needs."""
    return Move(load, at_once=isinstance(load, Users))
