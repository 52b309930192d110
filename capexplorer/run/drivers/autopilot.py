"""The autopilot at the controls: each second it is shown what the run's timeline knows, and its step is taken and told.

What to do is decided in `load.autopilot`, what levels mean in `analysis`. In the pump's thread; switched on and off from any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol

from ... import wording
from ...analysis.causes.generator_saturation import is_saturated
from ...load.autopilot import LEAST_S, Autopilot, Done, GiveUp, Step
from ...load.autopilot_input import Rung, Sight
from ...model.events import By
from ...model.level import Level
from ...model.stream import Param
from ...model.timeline import Timeline
from ...model.verdicts import CapacityVerdict
from ..current_epoch import Look

LATEST_S = 3.0
"""Over which failures that cannot wait are looked for."""

Tell = Callable[[Literal["users", "autopilot"], Mapping[str, Param | None]], None]
"""Tells a command of the autopilot."""


class Wheel(Protocol):
    """What the autopilot needs of `Steering`."""

    wanted: int
    is_open: bool
    piloted: bool

    def pilot(self, users: int) -> float | None:
        """A step; None where someone has taken over."""


class Pilot:
    """`open_level(users, spawn_rate)` opens a level; `finish(reason)` is called when the autopilot has come to its end."""

    def __init__(
        self,
        timeline: Timeline,
        steering: Wheel,
        *,
        max_users: int,
        tell: Tell,
        open_level: Callable[[int, float], None],
        finish: Callable[[str], None],
    ) -> None:
        self._timeline, self._steering, self._max_users = timeline, steering, max_users
        self._tell, self._open_level, self._finish = tell, open_level, finish
        self._autopilot: Autopilot | None = None
        self._verdict = CapacityVerdict()
        self._spawning_s = 0.0
        """When users were last seen spawning."""

    @property
    def is_on(self) -> bool:
        """Whether it steps."""
        return self._autopilot is not None and self._steering.piloted

    def begin(self, first_users: int = 1) -> None:
        """From what is known now; `first_users` where no users run yet."""
        self._autopilot, self._verdict = Autopilot(max(1, first_users)), CapacityVerdict()
        self._steering.piloted = True

    def end(self) -> None:
        """It was switched off."""
        self._autopilot, self._steering.piloted = None, False

    def taken_over(self, by: By) -> None:
        """Someone else stepped."""
        if self._autopilot is not None:
            self.end()
            self._tell("autopilot", {"on": False, "why": "taken_over", "who": by})

    def ticked(self, look: Look) -> None:
        """A second was folded into the timeline."""
        if self._autopilot is None or not self._steering.is_open:
            return
        match self._autopilot.due(self._sight(look)):
            case Step() as step:
                self._step(step)
            case Done() as done:
                self._end("done", done.why, done.figures)
            case GiveUp() as given_up:
                if self._step(Step(given_up.users, "rest")):
                    self._end("gave_up", given_up.why, given_up.figures)

    def _step(self, step: Step) -> bool:
        """False where someone has taken over: their step is told by them."""
        users, before = min(step.users, self._max_users), self._steering.wanted
        level = self._timeline.level
        if users == before and level is not None and level.closed is None:
            return True
        rate = self._steering.pilot(users)
        if rate is None:
            return False
        self._tell("users", {"users": users, "before": before, "why": step.why, **step.figures})
        self._open_level(users, rate)
        return True

    def _end(self, how: str, why: str, figures: Mapping[str, Param | None]) -> None:
        self.end()
        told = {"on": False, "end": how, "why": why, **figures}
        self._tell("autopilot", told)
        self._finish(wording.autopilot(told))

    def _sight(self, look: Look) -> Sight:
        timeline, epoch = self._timeline, look.epoch
        level = timeline.level
        levels = [each for each in epoch.levels if not each.opened.ramp]
        measured = level is not None and level.figures.settled_seconds >= LEAST_S - 0.5
        if measured:
            self._verdict = epoch.verdict.capacity if epoch.verdict is not None else CapacityVerdict()
        ports = timeline.last.ports if timeline.last is not None else None
        requests, failures = self._latest(level)
        return Sight(
            levels=[Rung(each.users, each.figures) for each in levels],
            open_s=self._there_s(level),
            verdict=self._verdict,
            max_users=self._max_users,
            latest_requests=requests,
            latest_failures=failures,
            ports_used_ratio=(ports.used or 0) / ports.capacity if ports is not None and ports.capacity else 0.0,
            exhausted_in_s=ports.exhausted_in_s if ports is not None else None,
            generator_saturated=measured and level is not None and bool(is_saturated(level.figures, epoch.own_ms)),
        )

    def _there_s(self, level: Level | None) -> float:
        """Seconds since the level's users were all there, to a second; spawning may be over before a tick has seen it."""
        if level is None or self._timeline.phase == "spawning":
            self._spawning_s = self._timeline.last_s
        opened_s = level.opened.t_s if level is not None else 0.0
        return self._timeline.last_s - max(self._spawning_s, opened_s)

    def _latest(self, level: Level | None) -> tuple[int, int]:
        """(requests, failures) of the latest seconds of the open level, warm-up included."""
        if level is None:
            return 0, 0
        samples = self._timeline.since(max(level.opened.t_s + 1.0, self._timeline.last_s - LATEST_S))
        ticks = [tick for sample in samples for tick in sample.endpoints]
        requests = sum(tick.requests + tick.warmup_requests for tick in ticks)
        return requests, sum(tick.failures + tick.warmup_failures for tick in ticks)
