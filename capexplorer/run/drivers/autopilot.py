"""The autopilot as a driver: each second it receives its input from the timeline, and its decision becomes a step. Runs in the
pump's thread.

`load.autopilot_policy` decides what to do; `analysis` judges the levels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from ... import wording
from ...analysis.causes.generator_saturation import is_saturated
from ...analysis.epoch.epoch import Epoch
from ...load.autopilot_decisions import Done, GiveUp, GoTo
from ...load.autopilot_input import AutopilotInput, InputLevel
from ...load.autopilot_policy import AutopilotPolicy
from ...load.level_end import LEAST_S
from ...model.events import By
from ...model.level import Level
from ...model.stream import Param
from ...model.timeline import Timeline
from ...model.verdicts import CapacityVerdict
from ..current_epoch import CurrentEpoch
from .load_target import LoadTarget

LATEST_S = 3.0
"""Seconds over which failures are counted for leaving a level at once."""

IDLE_LEAST = 0.3
"""Idle cores from which an additional worker increases the load that can be generated (set by judgement)."""

DISTURBED_MOST = 3
"""Consecutive levels disturbed by other processes below the low-load line after which the search ends without a knee."""

EmitCommand = Callable[[Literal["users", "autopilot"], Mapping[str, Param | None]], None]
"""Emits a command of the autopilot: its name and arguments."""


class AutopilotDriver:
    """Off until `begin`. `open_level(users, spawn_rate)` opens a level; `finish(reason)` is called when the search ends."""

    def __init__(
        self,
        timeline: Timeline,
        load_target: LoadTarget,
        *,
        max_users: int,
        emit: EmitCommand,
        open_level: Callable[[int, float], None],
        finish: Callable[[str], None],
        grow: Callable[[], bool] = lambda: False,
    ) -> None:
        """`grow`: starts another worker if it may, and returns whether one is on its way."""
        self._grow = grow
        self._timeline, self._load_target, self._max_users = timeline, load_target, max_users
        self._emit, self._open_level, self._finish = emit, open_level, finish
        self._policy: AutopilotPolicy | None = None
        self._generation = 0
        self._only_verifies = False
        self._verdict = CapacityVerdict()
        self._spawning_s = 0.0
        """Time at which users were last spawning."""
        self._left_out = 0
        """Levels disturbed by other processes, which the verdict does not use."""

    @property
    def is_on(self) -> bool:
        """Whether its steps are accepted."""
        return self._policy is not None and self._load_target.is_current(self._generation)

    def begin(self, generation: int, first_users: int = 1, *, only_verifies: bool = False) -> None:
        """Start a search with the levels measured so far; `first_users`: where to begin if no users run yet. `generation`: that
        of the driver it steps as.

        `only_verifies`: verify the knee that is known now, without a search.
        """
        self._policy = AutopilotPolicy(max(1, first_users), only_verifies=only_verifies)
        known = self._timeline.current_verdict if only_verifies else None
        self._verdict = known.capacity if known is not None else CapacityVerdict()
        self._generation, self._only_verifies = generation, only_verifies

    def end(self) -> None:
        """No more steps."""
        self._policy = None

    def taken_over(self, by: By) -> None:
        """Another driver has begun: take no more steps, and emit a command that says so."""
        if self._policy is not None:
            self.end()
            self._emit("autopilot", {"on": False, **self._task, "why": "taken_over", "who": by})

    def ticked(self, current: CurrentEpoch) -> None:
        """Called after each second was folded into the timeline."""
        if self._policy is None or not self._load_target.is_open:
            return
        known = self._input(current)
        if known.generator_saturated and self._could_do_more() and self._grow():
            return  # a level begins when the worker is there
        match self._is_disturbed(current) or self._policy.due(known):
            case GoTo() as step:
                self._step(step)
            case Done() as done:
                self._end("done", done.why, done.figures)
            case GiveUp() as given_up:
                if self._step(GoTo(given_up.users, "rest")):
                    self._end("gave_up", given_up.why, given_up.figures)

    def _could_do_more(self) -> bool:
        """Whether the machine has CPU for another worker."""
        level, header = self._timeline.level, self._timeline.header
        busy, cpus = (level.figures.host_cpu_ratio if level is not None else None), (header.host.cpus if header else None)
        return busy is not None and cpus is not None and cpus - busy >= IDLE_LEAST

    def _is_disturbed(self, current: CurrentEpoch) -> GiveUp | None:
        """Whether other processes have disturbed so many levels that the search cannot give a result."""
        epoch, level = current.epoch, self._timeline.level
        if level is None or not level.figures.settled or epoch.verdict is None:
            return None
        left_out = epoch.verdict.left_out_levels
        self._left_out = len(left_out)
        latest = [each.opened.index for each in epoch.levels if each.figures.settled][-DISTURBED_MOST:]
        if len(latest) < DISTURBED_MOST or not set(latest) <= set(left_out):
            return None
        return GiveUp(min(each.users for each in epoch.levels if each.figures.settled), "neighbours")

    def _step(self, step: GoTo) -> bool:
        """False if another driver has begun: the step is refused."""
        users, before = min(step.users, self._max_users), self._load_target.wanted
        level = self._timeline.level
        if users == before and not step.anew and level is not None and level.closed is None:
            return True
        rate = self._load_target.move(users, self._generation)
        if rate is None:
            return False
        self._emit("users", {"users": users, "before": before, "why": step.why, **step.figures})
        self._open_level(users, rate)
        return True

    def _end(self, how: str, why: str, figures: Mapping[str, Param | None]) -> None:
        self.end()
        self._load_target.end_autopilot(self._generation)
        left_out: dict[str, Param | None] = {"left_out": self._left_out} if self._left_out else {}
        args = {"on": False, **self._task, "end": how, "why": why, **figures, **left_out}
        self._emit("autopilot", args)
        self._finish(wording.autopilot(args))

    @property
    def _task(self) -> dict[str, Param | None]:
        return {"task": "verify"} if self._only_verifies else {}

    def _input(self, current: CurrentEpoch) -> AutopilotInput:
        timeline, epoch = self._timeline, current.epoch
        level = timeline.level
        measured = level is not None and level.figures.settled_seconds >= LEAST_S - 0.5
        if measured:
            self._verdict = epoch.verdict.capacity if epoch.verdict is not None else CapacityVerdict()
        ports = timeline.last.ports if timeline.last is not None else None
        requests, failures = self._latest(level)
        return AutopilotInput(
            levels=input_levels(epoch),
            open_s=self._all_running_s(level),
            verdict=self._verdict,
            max_users=self._max_users,
            latest_requests=requests,
            latest_failures=failures,
            ports_used_ratio=(ports.used or 0) / ports.capacity if ports is not None and ports.capacity else 0.0,
            exhausted_in_s=ports.exhausted_in_s if ports is not None else None,
            undecided=measured and epoch.is_undecided,
            fault=epoch.has_fault,
            generator_saturated=measured and level is not None and bool(is_saturated(level.figures, epoch.own_ms)),
        )

    def _all_running_s(self, level: Level | None) -> float:
        """Seconds since all users of the level run, to a second; spawning may be over before a tick has seen it."""
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


def input_levels(epoch: Epoch) -> list[InputLevel]:
    """Levels of the epoch in the order they ran, the open one last, without levels affected by a change of the service."""
    found = []
    for level in epoch.levels:
        if level.opened.ramp or level.opened.index in epoch.outgrown or level.void is not None:
            continue
        parts = [each.figures for each in epoch.measured if each.level is level]
        kept = [each.figures for each in epoch.explained_by_load if each.level is level]
        if len(kept) == len(parts) or level is epoch.levels[-1]:
            found.append(InputLevel(level.users, level.figures))
        elif kept:
            found.append(InputLevel(level.users, kept[-1]))
    return found
