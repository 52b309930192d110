"""The autopilot at offered rates as a driver: each second its input comes from the timeline, and its decision becomes a step.

Runs in the pump's thread. `load.rate_policy` decides what to do; `analysis` judges the levels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from ... import wording
from ...load.rate_policy import End, Offer, RateInput, RatePolicy
from ...model.events import By, Sample
from ...model.offered import RATE_MOST_PER_S
from ...model.param import Param
from ...model.rate_verdicts import RateCapacity
from ...model.timeline import Timeline
from ..current_epoch import CurrentEpoch
from .load_target import LoadTarget

FIRST_PER_S = 10.0
"""Where a search begins unless a rate is offered already: a level there takes half a minute, and few services serve less."""

LATEST_S = 3.0
"""Seconds in which arrivals that were dropped count."""


class RateAutopilotDriver:
    """Off until `begin`. `open_level(per_s)` opens a level; `finish(reason)` is called when the search ends."""

    def __init__(
        self,
        timeline: Timeline,
        load_target: LoadTarget,
        *,
        emit: Callable[[Literal["rate", "autopilot"], Mapping[str, Param | None]], None],
        open_level: Callable[[float], None],
        finish: Callable[[str], None],
    ) -> None:
        self._timeline, self._load_target = timeline, load_target
        self._emit, self._open_level, self._finish = emit, open_level, finish
        self._policy: RatePolicy | None = None
        self._generation = 0

    @property
    def is_on(self) -> bool:
        """Whether its steps are accepted."""
        return self._policy is not None and self._load_target.is_current(self._generation)

    def begin(self, generation: int) -> None:
        """Start a search, from the rate that is offered now. `generation`: that of the driver it steps as."""
        self._policy = RatePolicy(self._load_target.offered_per_s or FIRST_PER_S)
        self._generation = generation

    def end(self) -> None:
        """No more steps."""
        self._policy = None

    def taken_over(self, by: By) -> None:
        """Another driver has begun: take no more steps, and emit a command that says so."""
        if self._policy is not None:
            self.end()
            self._emit("autopilot", {"on": False, "task": "rate", "why": "taken_over", "who": by})

    def ticked(self, current: CurrentEpoch) -> None:
        """Called after each second was folded into the timeline."""
        if self._policy is None or not self._load_target.is_open:
            return
        known = self._input(current)
        match self._policy.due(known):
            case Offer(per_s, why):
                self._offer(per_s, why)
            case End(per_s, why, found):
                if self._offer(per_s, "rest"):
                    self._ended("done" if found else "gave_up", why, known.capacity)

    def _offer(self, per_s: float, why: str) -> bool:
        """False if another driver has begun: the step is refused."""
        before = self._load_target.offered_per_s
        if per_s == before:
            return self.is_on
        if self._load_target.move_rate(per_s, self._generation) is None:
            return False
        self._emit("rate", {"per_s": per_s, "before": before, "why": why})
        self._open_level(per_s)
        return True

    def _ended(self, how: str, why: str, capacity: RateCapacity | None) -> None:
        self.end()
        self._load_target.end_autopilot(self._generation)
        args: dict[str, Param | None] = {"on": False, "task": "rate", "end": how, "why": why}
        if capacity is not None:
            args |= {"kind": capacity.kind, "limit": capacity.limit}
            args |= {name: getattr(capacity, name) for name in ("per_s", "low_per_s", "high_per_s", "kept_per_s")}
        self._emit("autopilot", args)
        self._finish(wording.autopilot(args))

    def _input(self, current: CurrentEpoch) -> RateInput:
        timeline, per_s = self._timeline, self._load_target.offered_per_s
        level, verdict = timeline.level, current.epoch.verdict
        rates = verdict.rates if verdict is not None else None
        levels = rates.levels if rates is not None else ()
        is_open = level is not None and level.offered_per_s == per_s and level.closed is None
        return RateInput(
            per_s=per_s if is_open else None,
            open_s=timeline.last_s - level.started_s if level is not None else 0.0,
            settled_s=level.figures.settled_seconds if level is not None else 0.0,
            in_flight=self._in_flight(),
            dropped=any(sample.offered.dropped.total for sample in self._latest() if sample.offered is not None),
            level=next((each for each in levels if level is not None and each.level == level.opened.index), None),
            levels=levels,
            capacity=rates.capacity if rates is not None else None,
            most_per_s=RATE_MOST_PER_S,
        )

    def _in_flight(self) -> float:
        offered = self._timeline.last.offered if self._timeline.last is not None else None
        return float(offered.in_flight) if offered is not None else 0.0

    def _latest(self) -> list[Sample]:
        level = self._timeline.level
        opened_s = level.opened.t_s if level is not None else 0.0
        return self._timeline.since(max(opened_s + 1.0, self._timeline.last_s - LATEST_S))
