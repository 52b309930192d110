"""Proposes the next step from the levels measured so far: the screen shows the proposals, and the autopilot carries them out.

Runs in the pump's thread. `analysis` judges the levels, and `steer.search` decides; this module passes the verdict on.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from statistics import median
from typing import Literal

from ...analysis.causes.generator_saturation import is_saturated
from ...analysis.epoch.epoch import Epoch
from ...model.level import Level
from ...model.level_use import level_use
from ...model.proposals import AddWorker, Done, GiveUp, GoTo, Hold, Proposal
from ...model.timeline import Timeline
from ...model.verdicts import CapacityVerdict
from ...steer.level_end import LEAST_S, SETTLING_S, timed
from ...steer.search import Search
from ...steer.search_input import InputLevel, SearchInput
from ..current_epoch import CurrentEpoch

LATEST_S = 3.0
"""Seconds over which failures are counted for leaving a level at once."""

IDLE_LEAST = 0.3
"""Idle cores from which an additional worker increases the load that can be generated (set by judgement)."""

DISTURBED_MOST = 3
"""Consecutive levels disturbed by other processes below the low-load line after which the search ends without a knee."""

AGAIN_S = 10.0
"""Seconds after which a proposal that was not carried out is made again: free ports, other processes and the knee may have
changed."""

SETTLED_LEVELS = 3
"""Number of latest levels from which the time to settle is estimated."""


Growth = Literal["possible", "coming", "none"]
"""Whether one more worker may be started, one was started and has not joined yet, or neither."""


class Adviser:
    """Call `propose` once a second, and `took` or `set_by_hand` when users were set. A step that was proposed advances the
    search; any other step begins a new search with the levels measured so far.
    """

    def __init__(self, timeline: Timeline, max_users: int, growth: Callable[[], Growth]) -> None:
        self._timeline, self._max_users, self._growth = timeline, max_users, growth
        self._search, self._after = Search(), Search()
        """The search so far, and what it will be if the latest proposal is taken."""
        self._first_users = 1
        self._proposed: Proposal = Hold("starting")
        self._level: int | None = None
        """The open level as of the latest proposal."""
        self._looked_s = 0.0
        """Session time of the latest proposal."""
        self._taken: GoTo | None = None
        """The proposal that opened the open level."""
        self._ended: Done | GiveUp | None = None
        """How the search ended; nothing else is proposed until users are set."""
        self._epoch = 0
        self._verdict = CapacityVerdict()
        self._spawning_s = 0.0
        """Time at which users were last spawning."""
        self.left_out = 0
        """Levels disturbed by other processes, which the verdict does not use."""

    def begin(self, first_users: int = 1, *, only_verifies: bool = False) -> None:
        """Begin a search with the levels measured so far. `first_users`: where it begins if no users run. `only_verifies`:
        verify the knee that is known now, without a search.
        """
        known = self._timeline.current_verdict if only_verifies else None
        self._verdict = known.capacity if known is not None else CapacityVerdict()
        self._first_users = max(1, first_users)
        self._search = Search(self._first_users, only_verifies=only_verifies)
        self._taken = self._ended = None

    def end(self, how: Done | GiveUp) -> None:
        """End the search."""
        self._ended = how

    def set_by_hand(self, users: int, before: int) -> None:
        """Note that a person, a plan or a guard set the users, as proposed or otherwise."""
        proposed = self._proposed
        if isinstance(proposed, GoTo) and proposed.users == users:
            self.took(proposed)
        elif users != before or self._ended is not None:
            self.begin(self._first_users)

    def took(self, step: GoTo) -> None:
        """The latest proposal was carried out."""
        self._search, self._taken = self._after, step

    @property
    def is_due(self) -> bool:
        """Whether a new proposal may differ from the latest. This is checked first, since judging an epoch takes 5 to 25 ms."""
        level = self._timeline.level
        is_new = level is None or level.opened.index != self._level
        return is_new or isinstance(self._proposed, Hold) or self._timeline.last_s - self._looked_s >= AGAIN_S

    def propose(self, current: CurrentEpoch) -> Proposal:
        """The next step as of now."""
        self._proposed, self._looked_s = self._next(current), self._timeline.last_s
        return self._proposed

    def _next(self, current: CurrentEpoch) -> Proposal:
        epoch = current.epoch
        if epoch.index != self._epoch:
            self._epoch = epoch.index
            self.begin(self._first_users)
        if self._ended is not None:
            return self._ended
        known = self._input(epoch)
        if known.generator_saturated and self._has_idle_cpu() and self._growth() != "none":
            return AddWorker() if self._growth() == "possible" else Hold("worker")
        after = copy.deepcopy(self._search)  # `due` advances the search, which is so only if its decision is taken
        decision = self._disturbed(epoch) or after.due(known)
        level = epoch.levels[-1].opened.index if epoch.levels else None
        if decision == Hold("measuring") and isinstance(self._proposed, GoTo) and level == self._level:
            return self._proposed  # precise enough a second ago: a person may be about to take it
        self._after, self._level = after, level
        return timed(decision, known if known.levels else None, self._taken, self._settling_s())

    def _has_idle_cpu(self) -> bool:
        """Whether the machine has CPU for another worker."""
        level, header = self._timeline.level, self._timeline.header
        busy, cpus = (level.figures.host_cpu_ratio if level is not None else None), (header.host.cpus if header else None)
        return busy is not None and cpus is not None and cpus - busy >= IDLE_LEAST

    def _disturbed(self, epoch: Epoch) -> GiveUp | None:
        """Whether other processes have disturbed so many levels that the search cannot give a result."""
        level, header = self._timeline.level, self._timeline.header
        if level is None or not level.figures.settled or epoch.verdict is None:
            return None
        left_out = [each for each in epoch.all_levels if "disturbed" in level_use(each, epoch.verdict).whys]
        self.left_out = len(left_out)
        latest = [each for each in epoch.levels if each.figures.settled][-DISTURBED_MOST:]
        if len(latest) < DISTURBED_MOST or not all(each in left_out for each in latest):
            return None
        others, cpus = level.figures.readings.get("neighbours.cpu_ratio"), header.host.cpus if header is not None else None
        figures = {"others_cpu_ratio": others, "cpus": cpus} if others is not None and cpus is not None else {}
        return GiveUp(min(each.users for each in epoch.levels if each.figures.settled), "neighbours", dict(figures))

    def _settling_s(self) -> float:
        """Seconds from the opening of a level to its first settled second."""
        levels = [level for level in self._timeline.levels if level.users]
        took = [level.settled_s - level.started_s for level in levels if level.settled_s is not None]
        return median(took[-SETTLED_LEVELS:]) if took else SETTLING_S

    def _input(self, epoch: Epoch) -> SearchInput:
        timeline = self._timeline
        level = timeline.level
        measured = level is not None and level.figures.settled_seconds >= LEAST_S - 0.5
        if measured:
            self._verdict = epoch.verdict.capacity if epoch.verdict is not None else CapacityVerdict()
        ports = timeline.last.ports if timeline.last is not None else None
        requests, failures = self._latest(level)
        return SearchInput(
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
            generator_saturated=measured and level is not None and bool(is_saturated(level.figures, epoch.outside_requests_ms)),
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
