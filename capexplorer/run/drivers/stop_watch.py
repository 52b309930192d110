"""A profile's stop rules during a run: each triggers at most once per level, as a mark. In the pump's thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from ...analysis.epoch.measured_epoch import MeasuredEpoch
from ...analysis.ladder import LadderLevel
from ...analysis.stop_rules import METRIC_PREFIX, TriggeredRule, triggered_rules
from ...model.events import Mark
from ...model.findings import StopRule
from ...model.level import Level
from ...model.readings import HostReading
from ...model.timeline import Timeline
from ...profile import StopRules
from ..current_epoch import CurrentEpoch

RECENT_S = 5
"""Seconds over which readings that no level's figures contain are averaged."""

MACHINE: Mapping[str, Callable[[HostReading], float | None]] = {"load_average": lambda host: host.load_average_1m}
"""Rules about readings of the machine, which no level's figures contain, with the reading of each."""

Stopped = Literal["plan", "autopilot"]
"""What a stop rule can end."""


def limits_of(rules: StopRules) -> dict[str, float]:
    """The limits of a profile by the names that `analysis.stop_rules` gives to its rules."""
    limits = {name: value for name, value in msgspec.structs.asdict(rules).items() if isinstance(value, int | float)}
    return {**limits, METRIC_PREFIX + rules.metric.name: rules.metric.over} if rules.metric is not None else limits


class StopWatch:
    """Checks the open level each second."""

    def __init__(self, rules: StopRules, timeline: Timeline) -> None:
        self._limits, self._timeline = limits_of(rules), timeline
        self._triggered: set[tuple[str, int]] = set()

    def look(self, current: CurrentEpoch) -> tuple[TriggeredRule, ...]:
        """Rules that are triggered now for the first time in this level; empty until it has been settled for six seconds."""
        level = self._timeline.level
        if not self._limits or level is None or level.closed is not None or not level.has_load:
            return ()
        ladder = current.epoch.ladder_of(level)
        measured = self._measured(level, ladder)
        if measured is None or measured in ladder.recovery:
            return ()
        earlier = [each for each in ladder.fit if each is not measured]
        found = triggered_rules(self._limits, [*earlier, measured], self._readings())
        new = [each for each in found if (each.rule, level.opened.index) not in self._triggered]
        self._triggered.update((each.rule, level.opened.index) for each in new)
        return tuple(new)

    @staticmethod
    def _measured(level: Level, ladder: MeasuredEpoch) -> LadderLevel | None:
        """The open level's rates, also where the generator failed in it: a stop rule does not ask for the cause."""
        return next((each.ladder_level for each in reversed(ladder.measured) if each.level is level), None)

    def mark(self, found: TriggeredRule, t_s: float, ended: Stopped | None) -> Mark:
        """The mark of a triggered rule; `ended`: what it ended, if anything."""
        level = self._timeline.levels[-1]
        index = level.opened.index
        return Mark(
            t_s=t_s,
            key=f"stop_rule:{found.rule}:level{index}",
            state="open",
            finding=StopRule(rule=found.rule, limit=found.limit, measured=found.measured, level=index, ended=ended),
            epoch=level.opened.epoch,
            **level.load.named,
            severity="error" if ended else "warning",
        )

    def _readings(self) -> Mapping[str, list[float]]:
        recent = self._timeline.since(self._timeline.columns["t_s"][max(0, len(self._timeline) - RECENT_S - 1)])
        metrics = {name for sample in recent for name in sample.app}
        readings = {METRIC_PREFIX + name: [sample.app[name] for sample in recent if name in sample.app] for name in metrics}
        for rule, reading in MACHINE.items():
            read = [reading(sample.host) for sample in recent if sample.host is not None]
            readings[rule] = [value for value in read if value is not None]
        return readings
