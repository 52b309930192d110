"""A plan that runs: which step is due, with shares of the knee or the capacity, and the load before a spike, filled in; and its
moves of the requested load. Time is passed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, assert_never

from ..analysis.epoch.measured_epoch import SECONDS_LEAST
from ..model.events import By
from ..model.offered import clamped_rate
from ..model.proposals import Hold
from ..model.timeline import Timeline
from .plan import Step
from .requested_load import POOL_SPAWN_RATE, RequestedLoad

AFTER_SUSPENSION_S = 6.0
"""Seconds that a hold, unless it is shorter, still lasts after a suspension, so that a new level settles and is measured."""


class PlanCursor:
    """The state of a running plan. `due` returns the step for a moment; the caller carries it out and reports the end of
    spawning."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self.steps = steps
        self.index = -1
        self._ends_s: float | None = None
        """End of the step's hold; None while its users are spawning, or the autopilot carries it out."""

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
        if step is not None and not step.is_autopilots and self._ends_s is None:
            self._ends_s = at_s + step.hold_s

    def suspended(self, now_s: float, seconds: float) -> None:
        """Extend the current hold by a suspension of the process that ended at `now_s`, and at least by AFTER_SUSPENSION_S."""
        step = self.current
        if step is not None and self._ends_s is not None and not step.is_autopilots:
            self._ends_s = max(self._ends_s + seconds, now_s + min(step.hold_s, AFTER_SUSPENSION_S))

    def found(self, at_s: float) -> None:
        """The autopilot has ended: continue at `at_s`."""
        if self.is_finding:
            self._ends_s = at_s

    @property
    def is_finding(self) -> bool:
        """Whether the current step is the autopilot's."""
        return self.current is not None and self.current.is_autopilots and self._ends_s is None

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


@dataclass(frozen=True, slots=True)
class SetUsers:
    """Set `users` in a new level. `over_s`: change evenly over this many seconds. `at_once`: with an unlimited spawn rate."""

    users: int
    over_s: float | None = None
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class SetRate:
    """Offer `per_s` iterations a second in a new level. `over_s`: change evenly over this many seconds."""

    per_s: float
    over_s: float | None = None


Move = SetUsers | SetRate


@dataclass(frozen=True, slots=True)
class FindKnee:
    """Let the autopilot look for the knee and verify it."""

    only_verifies: bool = False
    """Only verify the known knee."""


@dataclass(frozen=True, slots=True)
class CannotGoOn:
    """The plan ends before its last step."""

    why: str


@dataclass(frozen=True, slots=True)
class _Ramp:
    first: float
    last: float
    began_s: float
    over_s: float
    is_rate: bool = False

    def at(self, now_s: float) -> Move:
        share = min(1.0, max(0.0, (now_s - self.began_s) / self.over_s))
        value = self.first + share * (self.last - self.first)
        return SetRate(round(value, 3)) if self.is_rate else SetUsers(round(value))


class PlanDriver:
    """One run of a plan. Call `due` at `next_s`, and `ramping` each second."""

    def __init__(self, steps: tuple[Step, ...], timeline: Timeline, max_users: int) -> None:
        self._cursor = PlanCursor(steps)
        self._timeline, self._max_users = timeline, max_users
        self._ramp: _Ramp | None = None
        self._before_spike: Move = SetUsers(0)

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

    def found(self, at_s: float) -> None:
        """The autopilot has ended its search at `at_s`."""
        self._cursor.found(at_s)

    def due(self, now_s: float, wanted: int, offered_per_s: float | None = None) -> Move | FindKnee | CannotGoOn | None:
        """The step that is due at `now_s`; None if it is not due yet. `wanted`, `offered_per_s`: the load requested before it."""
        if self._awaits_verdict(now_s):
            self._cursor.extend(now_s + 1.0)
            return None
        step = self._cursor.due(now_s)
        if step is None:
            return None
        self._ramp = None
        match step.kind:
            case "find":
                return FindKnee()
            case "verify":
                return FindKnee(only_verifies=True) if self._knee_users else CannotGoOn(NO_KNEE.format("to verify the knee"))
            case "back":
                return self._before_spike
            case "spike":
                self._before_spike = SetUsers(wanted, at_once=True) if offered_per_s is None else SetRate(offered_per_s)
            case "hold" | "ramp":
                pass
            case _:
                assert_never(step.kind)
        return self._set_load(step, now_s, wanted, offered_per_s)

    def _set_load(self, step: Step, now_s: float, wanted: int, offered_per_s: float | None) -> Move | CannotGoOn:
        """The users or the rate of a hold, a ramp or a spike."""
        if step.offered_per_s is not None:
            return self._offer(step, now_s, offered_per_s)
        users = self._users(step)
        if users is None:
            return CannotGoOn(NO_KNEE.format(f"for {step.share:.0%} of the knee"))
        if step.kind == "ramp":
            self._begin_ramp(_Ramp(wanted, users, now_s, step.hold_s))
            return SetUsers(users, over_s=step.hold_s)
        return SetUsers(users, at_once=step.kind == "spike")

    def _offer(self, step: Step, now_s: float, before_per_s: float | None) -> SetRate | CannotGoOn:
        per_s = step.offered_per_s or 0.0
        if step.share is not None:
            if self._capacity_per_s is None:
                return CannotGoOn(NO_CAPACITY.format(step.share))
            per_s = clamped_rate(step.share * self._capacity_per_s)
        if step.kind != "ramp":
            return SetRate(per_s)
        self._begin_ramp(_Ramp(before_per_s or 0.0, per_s, now_s, step.hold_s, is_rate=True))
        return SetRate(per_s, over_s=step.hold_s)

    def _begin_ramp(self, ramp: _Ramp) -> None:
        self._ramp = ramp
        self._cursor.spawned(ramp.began_s)

    def ramping(self, now_s: float) -> Move | None:
        """The users or the rate that a ramp requests at `now_s`; None outside a ramp."""
        return self._ramp.at(now_s) if self._ramp is not None else None

    def _users(self, step: Step) -> int | None:
        if step.share is None:
            return step.users
        knee_users = self._knee_users
        return None if knee_users is None else max(1, min(self._max_users, round(step.share * knee_users)))

    def _awaits_verdict(self, now_s: float) -> bool:
        """Whether the step that is due begins from a knee or a capacity that is not known yet, while the open level, which may
        show it, has too few settled seconds to count."""
        step, level = self._cursor.coming(now_s), self._timeline.level
        if step is None or not step.needs_verdict or level is None or level.fold is None:
            return False
        known = self._knee_users if step.offered_per_s is None else self._capacity_per_s
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


class OpenLevel(Protocol):
    """Opens a level of users, or of an offered rate."""

    def __call__(self, users: int, by: By, spawn_rate: float, *, ramp: bool = False, offered_per_s: float | None = None) -> None:
        """At zero users where a rate is offered."""


class PlanMoves:
    """`carry_out` a move that is due, `ramp` between two of them.

    `generation`: of the plan; moves of a former driver are refused.
    """

    def __init__(self, requested_load: RequestedLoad, open_level: OpenLevel) -> None:
        self._requested_load, self._open_level = requested_load, open_level

    def carry_out(self, move: Move, generation: int) -> None:
        """A step or the begin of a ramp: a new level."""
        target = self._requested_load
        match move:
            case SetUsers(users, None, at_once):
                rate = target.move(users, generation, at_once=at_once)
                if rate is not None:
                    self._open_level(users, "plan", rate)
            case SetUsers(users, over_s):
                if target.offered_per_s is not None:
                    target.move(target.wanted, generation)
                change = abs(users - target.wanted)
                self._open_level(users, "plan", max(change, 1) / (over_s or 1.0), ramp=True)
            case SetRate(per_s, None):
                rate = target.move_rate(per_s, generation)
                if rate is not None:
                    self._open_level(0, "plan", rate, offered_per_s=per_s)
            case SetRate(per_s):
                if target.offered_per_s is None:
                    target.move_rate(0.0, generation)
                self._open_level(0, "plan", POOL_SPAWN_RATE, ramp=True, offered_per_s=per_s)

    def ramp(self, move: Move | None, generation: int) -> bool:
        """Apply the ramp's `move`, if there is one. Returns whether the plan ramps the load now."""
        match move:
            case SetUsers(users) if users != self._requested_load.wanted:
                self._requested_load.move(users, generation)
            case SetRate(per_s) if per_s != self._requested_load.offered_per_s:
                self._requested_load.move_rate(per_s, generation, at_once=True)
        return move is not None
